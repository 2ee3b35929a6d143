"""`make mutants`: breaks the modules of modules.toml, one thing at a time, and counts what their tests notice.

A mutant is first judged by the tests that reach its line, then by all tests of its module: those may reach it in
another process. Results are kept in build/mutants/; the same command goes on where it was interrupted.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue

import coverage

from tests.mutants.mutate import mutants
from tests.mutants.results import GOAL, KEPT, Results, key_of, modules, report
from tests.mutants.trees import PYTEST, Outcome, Tree

SPARE_SECONDS = 60.0  # beyond LONGER times the time of the unbroken tests, after which a mutant counts as hanging
LONGER = 5


def main() -> int:
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what runs is ended, and the copies are deleted
    chosen = {name: tests for name, tests in modules().items() if any(part in name for part in options.only)}
    with contextlib.ExitStack() as stack:
        trees = [Tree(Path(stack.enter_context(tempfile.TemporaryDirectory()))) for _ in range(options.jobs)]
        for tree in trees:
            tree.fill()
        measured = [measure(name, tests, trees, options) for name, tests in chosen.items()]
    done = [results for results in measured if results]
    text = report(done)
    (KEPT / "report.md").write_text(text, encoding="utf-8")
    print(text)
    return len(done) < len(chosen) or any(results.percent() < GOAL for results in done)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description="Measure what the tests notice.")
    parser.add_argument("--only", nargs="+", default=[""], metavar="MODULE", help="parts of modules' paths")
    parser.add_argument("--sample", type=int, metavar="N", help="at most so many mutants of each module")
    parser.add_argument("--seed", default="0", help="another one chooses another sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at once")
    return parser.parse_args()


def measure(name: str, tests: list[str], trees: Sequence[Tree], options: argparse.Namespace) -> Results | None:
    """Return the module's results, once the chosen mutants are judged; None if its tests fail without a mutant."""
    folder = trees[0].folder  # the checkout as it was at the start: somebody may be editing it
    text = (folder / name).read_text(encoding="utf-8")
    results = Results(name, tests, text, mutants(text), key_of(name, tests, folder))
    results.load()
    if not results.seconds and not run_unbroken(results, trees[0]):
        return None
    numbers = range(len(results.mutants))
    chance = random.Random(f"{options.seed} {name}")
    wanted = sorted(chance.sample(numbers, min(options.sample, len(numbers)))) if options.sample else numbers
    todo = [number for number in wanted if str(number) not in results.outcomes]
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)
    with ThreadPoolExecutor(len(trees)) as pool:
        futures = {pool.submit(judged, results, number, free): number for number in todo}
        try:
            for future in as_completed(futures):
                results.outcomes[str(futures[future])] = future.result()
                results.save()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for tree in trees:
                tree.end_processes()
            raise
    return results


def run_unbroken(results: Results, tree: Tree) -> bool:
    """Run all tests of the unbroken module; note their time and the lines of each. Return whether they pass."""
    path, data = tree.folder / results.module, tree.folder / "build" / "coverage"
    measured = f"import sys; sys.path += {sys.path!r}; from coverage.cmdline import main; sys.exit(main(sys.argv[1:]))"
    began = time.monotonic()
    code, output = tree.run(
        "-c", measured, "run", f"--data-file={data}", f"--include={path}",
        *PYTEST, "-p", "tests.mutants.reach", *results.tests,
    )  # fmt: skip
    if code:
        print(f"{output}\nThe tests of {results.module} fail although nothing is broken: see above.")
        return False
    results.seconds = time.monotonic() - began
    read = coverage.CoverageData(str(data))
    read.read()
    lines = read.contexts_by_lineno(str(path)).items()
    results.reach = {str(line): [each for each in names if each] for line, names in lines}
    results.save()
    return True


def judged(results: Results, number: int, free: SimpleQueue[Tree]) -> Outcome:
    """Return what the tests make of a mutant, in a tree that is free."""
    mutant, tree = results.mutants[number], free.get()
    try:
        with tree.changed(results.module, mutant.text):
            for tests in dict.fromkeys((tuple(results.tests_of(mutant)), tuple(results.tests))):
                outcome, failed = tree.judge(tests, SPARE_SECONDS + LONGER * results.seconds)
                if outcome != "survived":
                    break
    finally:
        free.put(tree)
    print(f"{outcome}: {results.module}:{mutant.line}: {mutant.old}  ->  {mutant.new}  {failed}", flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
