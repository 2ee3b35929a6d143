"""Runs cases of all kinds and summarises their outcomes.

A case is a recipe: plain data that stays the same when the generators change. Cases that once broke a promise lie in
found/ and run again with the tests.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Protocol

from tests.fuzz.harness import Broken, Recipe, make_folder

FOUND = Path(__file__).parent / "found"
KINDS = {
    "headers": "Headers",
    "templates": "Templates",
    "floods": "Floods",
    "kills": "Kills",
    "stores": "Stores",
    "caches": "Caches",
    "attachments": "Attachments",
    "imports": "Imports",
}


class Fuzzer(Protocol):
    """Fuzzer of one kind: draws recipes and runs them. `peak` is the most memory in bytes of any of its processes."""

    name: str

    @property
    def peak(self) -> int: ...

    @staticmethod
    def recipe(dice: Random) -> dict[str, Any]: ...

    def run(self, recipe: Recipe) -> str:
        """Run a case; return the sentence that it ended with, or ''. Raises Broken."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class FailedCase:
    """Case that broke a promise. `case` is its name, from which `recipe_of` makes the recipe again."""

    kind: str
    case: str
    symptom: str
    detail: str
    recipe: Recipe

    def __str__(self) -> str:
        shown = json.dumps(self.recipe)
        return f"{self.kind} {self.case}: {self.symptom}\n  {shown[:1500]}\n{self.detail}"


@dataclass(slots=True)
class Summary:
    """Summary of the cases of one kind. `said` counts those that ended with a sentence; seconds are wall time."""

    kind: str
    cases: int = 0
    said: int = 0
    slowest: float = 0.0
    slowest_case: str = ""
    peak: int = 0
    failed: list[FailedCase] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.kind:12} {self.cases:6,} cases {len(self.failed):4,} failures {self.said:6,} sentences"
            f"   slowest {self.slowest:5.1f} s ({self.slowest_case})   peak memory {self.peak >> 20:5,} MiB"
        )


def open_fuzzer(kind: str, folder: Path) -> Fuzzer:
    """Create the fuzzer of this kind, which writes only into `folder`."""
    found: Fuzzer = getattr(importlib.import_module(f"tests.fuzz.{kind}"), KINDS[kind])(make_folder(folder, kind))
    return found


def recipe_of(kind: Fuzzer, case: str) -> dict[str, Any]:
    """Return the recipe of a case, whose name is the seed, a colon and a number."""
    return kind.recipe(Random(f"{kind.name} {case}"))


def run_cases(kind: Fuzzer, cases: Iterable[tuple[str, Recipe]], summary: Summary) -> Iterator[FailedCase]:
    """Run the cases and yield each failed one when it has failed."""
    for case, recipe in cases:
        begun, failed = time.monotonic(), None
        try:
            summary.said += bool(kind.run(recipe))
        except Broken as broken:
            failed = FailedCase(kind.name, case, str(broken), broken.detail, recipe)
            summary.failed.append(failed)
        seconds = time.monotonic() - begun
        summary.cases += 1
        summary.peak = max(summary.peak, kind.peak)
        if seconds > summary.slowest:
            summary.slowest, summary.slowest_case = seconds, case
        if failed:
            yield failed


def numbered(kind: Fuzzer, seed: str, first: int, last: int) -> Iterator[tuple[str, Recipe]]:
    for number in range(first, last):
        case = f"{seed}:{number}"
        yield case, recipe_of(kind, case)


def found_cases(kind: str) -> Iterator[tuple[str, Recipe]]:
    """Yield the cases in found/ with the names of their files."""
    for path in sorted(FOUND.glob(f"{kind}-*.json")):
        yield path.stem, json.loads(path.read_text(encoding="utf-8"))["recipe"]


def save_case(failed: FailedCase, folder: Path) -> Path:
    """Write the case to a file in `folder`, to be examined and perhaps moved to found/."""
    text = json.dumps({"says": failed.symptom, "case": failed.case, "recipe": failed.recipe}, indent=1) + "\n"
    path = make_folder(folder) / f"{failed.kind}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    path.write_text(text, encoding="utf-8")
    return path
