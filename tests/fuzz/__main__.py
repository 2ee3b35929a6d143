"""`python -m tests.fuzz`: throws what is strange at every program of ours and sees whether all promises are kept."""

from __future__ import annotations

import argparse
import json
import secrets
import sys
import tempfile
from pathlib import Path

from tests.fuzz.campaign import KINDS, Summary, keep, numbered, opened, run_cases

DEFAULT_CASES = 100


def main(arguments: list[str] | None = None) -> int:
    """0: every case kept to what is promised; 1: some did not, and each is printed."""
    options = _parser().parse_args(arguments)
    seed = options.seed or secrets.token_hex(4)
    print(f"seed {seed}", flush=True)
    kinds = options.only.split(",") if options.only else list(KINDS)
    minutes = options.minutes / len(kinds) if options.minutes else None
    failures = 0
    with tempfile.TemporaryDirectory(prefix="chickadee-fuzz-") as folder:
        for name in kinds:
            summary = _run(name, seed, options, minutes, Path(folder))
            failures += len(summary.failed)
            print(summary, flush=True)
    return 1 if failures else 0


def _run(name: str, seed: str, options: argparse.Namespace, minutes: float | None, folder: Path) -> Summary:
    import time

    kind, summary = opened(name, folder), Summary(name)
    until = None if minutes is None else time.monotonic() + 60 * minutes
    last = options.cases or (DEFAULT_CASES if minutes is None else sys.maxsize)
    cases = numbered(kind, seed, 0, last)
    if options.case:
        cases = numbered(kind, *_case(options.case))
    if options.recipe:
        cases = iter([(str(path), json.loads(path.read_text())["recipe"]) for path in options.recipe])
    try:
        for case in cases:
            if until is not None and time.monotonic() > until:
                break
            before = len(summary.failed)
            run_cases(kind, iter([case]), summary)
            for failed in summary.failed[before:]:
                print(failed, flush=True)
                if options.keep:
                    print(f"  kept as {keep(failed, options.keep)}", flush=True)
    finally:
        kind.close()
    return summary


def _case(case: str) -> tuple[str, int, int]:
    seed, _, number = case.rpartition(":")
    return seed, int(number), int(number) + 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzzes every program of Chickadee's.")
    parser.add_argument("--minutes", type=float, metavar="N", help="go on for so long, all kinds together")
    parser.add_argument("--cases", type=int, metavar="N", help=f"so many of each kind (default: {DEFAULT_CASES})")
    parser.add_argument("--seed", metavar="S", help="the same seed makes the same cases (default: a random one)")
    parser.add_argument("--only", metavar="KINDS", help=f"some of {','.join(KINDS)}")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write each failing case into this folder")
    parser.add_argument("--case", metavar="S:N", help="only this case, as a failure names it; with --only")
    parser.add_argument("--recipe", type=Path, nargs="+", metavar="FILE", help="only these kept cases; with --only")
    return parser


if __name__ == "__main__":
    sys.exit(main())
