"""`make mutants`: breaks the modules of modules.toml, one thing at a time, and counts what their tests notice.

A mutant is first judged by the tests that reach its line, then by all tests of its module: those may reach it in
another process. With `--quick` the former have to do, so that the percentage is the lowest that is possible. Results
are kept in build/mutants/; the same command goes on where it was interrupted.
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

from tests.mutants.forks import UNKNOWN
from tests.mutants.mutate import mutants
from tests.mutants.results import GOAL, KEPT, Results, key_of, modules, report
from tests.mutants.trees import PYTEST, Outcome, Tree

SPARE_SECONDS = 60.0  # beyond LONGER times the time of the unbroken tests, after which a mutant counts as hanging
LONGER = 5
COVERAGE = f"import sys; sys.path += {sys.path!r}; from coverage.cmdline import main; sys.exit(main(sys.argv[1:]))"


def main() -> int:
    options = parsed()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what runs is ended, and the copies are deleted
    chosen = {name: tests for name, tests in modules().items() if any(part in name for part in options.only)}
    with contextlib.ExitStack() as stack:
        trees = [Tree(Path(stack.enter_context(tempfile.TemporaryDirectory()))) for _ in range(options.jobs)]
        for tree in trees:
            tree.fill()
        read = [results_of(name, tests, trees[0].folder) for name, tests in chosen.items()]
        run_unbroken([results for results in read if not results.seconds], trees[0])
        done = [measure(results, trees, options) for results in read if results.seconds]
    text = report(done)
    (KEPT / "report.md").write_text(text, encoding="utf-8")
    print(text)
    return len(done) < len(chosen) or any(results.percent() < GOAL for results in done)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description="Measure what the tests notice.")
    parser.add_argument("--only", nargs="+", default=[""], metavar="MODULE", help="parts of modules' paths")
    parser.add_argument("--sample", type=int, metavar="N", help="at most so many mutants of each module")
    parser.add_argument("--seed", default="0", help="another one chooses another sample")
    parser.add_argument("--quick", action="store_true", help="run only the tests that are known to reach the mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at once")
    return parser.parse_args()


def results_of(name: str, tests: list[str], folder: Path) -> Results:
    """Return what is known of the module as it was at the start: somebody may be editing the checkout."""
    text = (folder / name).read_text(encoding="utf-8")
    results = Results(name, tests, text, mutants(text), key_of(name, tests, folder))
    results.load()
    return results


def measure(results: Results, trees: Sequence[Tree], options: argparse.Namespace) -> Results:
    """Return the module's results, once the chosen mutants are judged."""
    numbers = range(len(results.mutants))
    chance = random.Random(f"{options.seed} {results.module}")
    wanted = sorted(chance.sample(numbers, min(options.sample, len(numbers)))) if options.sample else numbers
    todo = [number for number in wanted if str(number) not in results.outcomes]
    free: SimpleQueue[Tree] = SimpleQueue()
    for tree in trees:
        free.put(tree)
    with ThreadPoolExecutor(len(trees)) as pool:
        futures = {pool.submit(judged, results, number, free, options.quick): number for number in todo}
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


def run_unbroken(modules: Sequence[Results], tree: Tree) -> None:
    """Run all tests of these unbroken modules; note their time and the lines of each, where they pass."""
    for tests in dict.fromkeys(tuple(each.tests) for each in modules):
        same = [each for each in modules if tuple(each.tests) == tests]
        include = ",".join(str(tree.folder / each.module) for each in same)
        data = tree.folder / "build" / "coverage"
        began = time.monotonic()
        code, output = tree.run(
            "-c", COVERAGE, "run", f"--data-file={data}", f"--include={include}",
            *PYTEST, "-p", "tests.mutants.reach", *tests,
        )  # fmt: skip
        if code:
            print(f"{output}\nThe tests of {include} fail although nothing is broken: see above.")
            continue
        read = coverage.CoverageData(str(data))
        read.read()
        for each in same:
            each.seconds = time.monotonic() - began
            lines = read.contexts_by_lineno(str(tree.folder / each.module)).items()
            each.reach = {str(line): [name for name in names if name] for line, names in lines}
            each.save()


def judged(results: Results, number: int, free: SimpleQueue[Tree], quick: bool) -> Outcome:
    """Return what the tests make of a mutant, in a tree that is free."""
    mutant, tree = results.mutants[number], free.get()
    limit = SPARE_SECONDS + LONGER * results.seconds
    reaching = results.tests_of(mutant)
    try:
        tree.collect(results.tests)
        with tree.changed(results.module, mutant.text):
            outcome, failed = tree.judge_in_fork(results.module, results.text, mutant.text, reaching, limit)
            runs = [reaching] if failed == UNKNOWN else []
            for tests in runs if quick else (*runs, results.tests):
                if outcome == "survived":
                    outcome, failed = tree.judge(tests, limit)
    finally:
        free.put(tree)
    print(f"{outcome}: {results.module}:{mutant.line}: {mutant.old}  ->  {mutant.new}  {failed}", flush=True)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
