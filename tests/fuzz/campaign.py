"""Runs cases of all kinds and tells what came of them. A case is a recipe: plain data, the same whatever comes later of
the generators. Cases that once broke a promise lie in found/ and are run again with the tests."""

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

from tests.fuzz.harness import Broken, Recipe, made

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


class Kind(Protocol):
    """Makes recipes from dice, and runs them. `peak`: the most memory of any of its processes, in bytes."""

    name: str

    @property
    def peak(self) -> int: ...

    @staticmethod
    def recipe(dice: Random) -> dict[str, Any]: ...

    def run(self, recipe: Recipe) -> str:
        """What came of it: a sentence, or nothing to say. Raises Broken."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Failed:
    """A case that broke a promise. `case`: what `recipe_of` makes it from again."""

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
    """Of the cases of one kind. `said`: how many ended with a sentence; seconds are wall time."""

    kind: str
    cases: int = 0
    said: int = 0
    slowest: float = 0.0
    slowest_case: str = ""
    peak: int = 0
    failed: list[Failed] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.kind:12} {self.cases:6,} cases {len(self.failed):4,} failures {self.said:6,} sentences"
            f"   slowest {self.slowest:5.1f} s ({self.slowest_case})   peak memory {self.peak >> 20:5,} MiB"
        )


def opened(kind: str, folder: Path) -> Kind:
    """Everything it writes lies in `folder`."""
    found: Kind = getattr(importlib.import_module(f"tests.fuzz.{kind}"), KINDS[kind])(made(folder, kind))
    return found


def recipe_of(kind: Kind, case: str) -> dict[str, Any]:
    """`case`: the seed, a colon and a number."""
    return kind.recipe(Random(f"{kind.name} {case}"))


def run_cases(kind: Kind, cases: Iterable[tuple[str, Recipe]], summary: Summary) -> Iterator[Failed]:
    """Yields each case that breaks a promise as soon as it has."""
    for case, recipe in cases:
        begun, failed = time.monotonic(), None
        try:
            summary.said += bool(kind.run(recipe))
        except Broken as broken:
            failed = Failed(kind.name, case, str(broken), broken.detail, recipe)
            summary.failed.append(failed)
        seconds = time.monotonic() - begun
        summary.cases += 1
        summary.peak = max(summary.peak, kind.peak)
        if seconds > summary.slowest:
            summary.slowest, summary.slowest_case = seconds, case
        if failed:
            yield failed


def numbered(kind: Kind, seed: str, first: int, last: int) -> Iterator[tuple[str, Recipe]]:
    for number in range(first, last):
        case = f"{seed}:{number}"
        yield case, recipe_of(kind, case)


def kept(kind: str) -> Iterator[tuple[str, Recipe]]:
    """The cases of found/, by the names of their files."""
    for path in sorted(FOUND.glob(f"{kind}-*.json")):
        yield path.stem, json.loads(path.read_text(encoding="utf-8"))["recipe"]


def keep(failed: Failed, folder: Path) -> Path:
    """Write the case down, to be looked at and perhaps to be put into found/."""
    text = json.dumps({"says": failed.symptom, "case": failed.case, "recipe": failed.recipe}, indent=1) + "\n"
    path = made(folder) / f"{failed.kind}-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    path.write_text(text, encoding="utf-8")
    return path
