"""The modules that are measured, what is known of their mutants, and the table of it."""

from __future__ import annotations

import difflib
import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.mutants.trees import ROOT, Outcome

if TYPE_CHECKING:  # it needs libraries that only `make mutants` has
    from tests.mutants.mutate import Mutant

HERE = Path(__file__).parent
KEPT = ROOT / "build" / "mutants"
GOAL = 90  # percent of a module's mutants that its tests notice
HEAD = "| module | mutants | tried | killed | timed out | survived | equivalent | noticed |\n|---" + "|--:" * 7 + "|"


def modules() -> dict[str, list[str]]:
    """Return the measured modules with the tests concerned: folders, files or single tests, as pytest takes them."""
    return tomllib.loads((HERE / "modules.toml").read_text(encoding="utf-8"))


def equivalents() -> set[tuple[str, str, str]]:
    """Return the listed mutants that no test can notice, as module, line before and line after."""
    listed = tomllib.loads((HERE / "survivors.toml").read_text(encoding="utf-8"))["survivor"]
    return {(each["module"], each["line"], each["mutant"]) for each in listed if each["equivalent"]}


def key_of(module: str, tests: Sequence[str], root: Path) -> str:
    """Return a hash of all that a module's outcomes depend on, but for the rest of the program."""
    paths = [root / name.split("::")[0] for name in (module, *tests, "tests/mutants/mutate.py")]
    files = [path for each in paths for path in (sorted(each.rglob("*.py")) if each.is_dir() else [each])]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


@dataclass(slots=True)
class Results:
    """Outcomes of a module's mutants by their number, kept on disk for as long as module, tests and operators last."""

    module: str
    tests: list[str]
    text: str  # of the module
    mutants: list[Mutant]
    key: str  # of what `key_of` hashed
    seconds: float = 0.0  # that all tests take; 0 until they ran
    reach: dict[str, list[str]] = field(default_factory=dict)  # tests by the line that they run
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return KEPT / f"{self.module.replace('/', '.')}.json"

    def load(self) -> None:
        if self.path.exists() and (kept := json.loads(self.path.read_text(encoding="utf-8")))["key"] == self.key:
            self.seconds, self.reach, self.outcomes = kept["seconds"], kept["reach"], kept["outcomes"]

    def save(self) -> None:
        KEPT.mkdir(parents=True, exist_ok=True)
        kept = {"key": self.key, "seconds": self.seconds, "reach": self.reach, "outcomes": self.outcomes}
        self.path.with_suffix(".new").write_text(json.dumps(kept), encoding="utf-8")
        self.path.with_suffix(".new").replace(self.path)

    def tests_of(self, mutant: Mutant) -> list[str]:
        """Return the tests that reach the mutant's line, or any line of the module if that one is run at import."""
        of_any = sorted({name for names in self.reach.values() for name in names})
        return self.reach.get(str(mutant.line)) or of_any or self.tests

    def survivors(self) -> list[Mutant]:
        """Return the mutants that lived and are not listed as equivalent."""
        lived = (self.mutants[int(index)] for index, outcome in self.outcomes.items() if outcome == "survived")
        listed = equivalents()
        return [each for each in lived if (self.module, each.old, each.new) not in listed]

    def percent(self) -> float:
        """Return the percentage of mutants tried that the tests noticed, without those that nobody could notice."""
        noticed = sum(outcome != "survived" for outcome in self.outcomes.values())
        return 100 * noticed / max(1, noticed + len(self.survivors()))

    def row(self) -> str:
        count = Counter(self.outcomes.values())
        left = len(self.survivors())
        cells = (len(self.mutants), len(self.outcomes), count["killed"], count["timed out"], left)
        numbers = " | ".join(map(str, (*cells, count["survived"] - left, f"{self.percent():.0f} %")))
        return f"| {self.module} | {numbers} |"

    def diffs(self) -> Iterable[str]:
        before = self.text.splitlines()
        for mutant in self.survivors():
            lines = difflib.unified_diff(before, mutant.text.splitlines(), self.module, self.module, n=2, lineterm="")
            yield "\n".join(lines)


def report(all_results: Iterable[Results]) -> str:
    """Return the table, and the survivors as diffs, in Markdown."""
    rows: list[str] = []
    diffs: list[str] = []
    for results in all_results:
        rows.append(results.row())
        diffs += results.diffs()
    return "\n".join((HEAD, *rows, "", *(f"```diff\n{diff}\n```" for diff in diffs), ""))
