"""`python -m tests.fuzz`: gives strange input to every program of ours and checks that they keep all promises."""

from __future__ import annotations

import argparse
import itertools
import json
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.fuzz.campaign import KINDS, Fuzzer, Summary, numbered, open_fuzzer, run_cases, save_case
from tests.fuzz.harness import Recipe

DEFAULT_CASES = 100


def main(arguments: list[str] | None = None) -> int:
    """Run the cases; return 1 if one of them broke a promise. Unknown kinds end the program with code 2."""
    parser = _parser()
    options = parser.parse_args(arguments)
    kinds = options.only.split(",") if options.only else list(KINDS)
    if unknown := set(kinds) - set(KINDS):
        parser.error(f"there is no kind {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}")
    options.seed = options.seed or secrets.token_hex(4)
    print(f"seed {options.seed}", flush=True)
    failures = 0
    with tempfile.TemporaryDirectory(prefix="chickadee-fuzz-") as folder:
        for name in kinds:
            kind = open_fuzzer(name, Path(folder))
            try:
                cases = _cases(kind, options)
                summary = _run(kind, _in_time(cases, options.minutes and 60 * options.minutes / len(kinds)), options)
            finally:
                kind.close()
            failures += len(summary.failed)
            print(summary, flush=True)
    return 1 if failures else 0


def _in_time(cases: Iterator[tuple[str, Recipe]], seconds: float | None) -> Iterator[tuple[str, Recipe]]:
    until = time.monotonic() + seconds if seconds else float("inf")
    return itertools.takewhile(lambda _: time.monotonic() < until, cases)


def _run(kind: Fuzzer, cases: Iterator[tuple[str, Recipe]], options: argparse.Namespace) -> Summary:
    summary = Summary(kind.name)
    for failed in run_cases(kind, cases, summary):
        print(failed, flush=True)
        if options.keep:
            print(f"  kept as {save_case(failed, options.keep)}", flush=True)
    return summary


def _cases(kind: Fuzzer, options: argparse.Namespace) -> Iterator[tuple[str, Recipe]]:
    if options.recipe:
        return ((path.stem, json.loads(path.read_text(encoding="utf-8"))["recipe"]) for path in options.recipe)
    if options.case:
        seed, _, number = options.case.rpartition(":")
        return numbered(kind, seed, int(number), int(number) + 1)
    return numbered(kind, options.seed, 0, options.cases or (sys.maxsize if options.minutes else DEFAULT_CASES))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzzes every program of Chickadee's.")
    parser.add_argument("--minutes", type=float, metavar="N", help="go on for so long, all kinds together")
    parser.add_argument("--cases", type=int, metavar="N", help=f"so many of each kind (default: {DEFAULT_CASES})")
    parser.add_argument("--seed", metavar="S", help="the same seed makes the same cases (default: a random one)")
    parser.add_argument("--only", metavar="KINDS", help=f"some of {','.join(KINDS)}")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write each failing case into this folder")
    parser.add_argument("--case", metavar="S:N", help="this case alone, as a failure names it; with --only")
    parser.add_argument("--recipe", type=Path, nargs="+", metavar="FILE", help="these kept cases alone; with --only")
    return parser


if __name__ == "__main__":
    sys.exit(main())
