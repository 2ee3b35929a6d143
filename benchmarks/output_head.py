"""Gain of reading two thirds of the output head, and the error of the rough logits before they are mended.

    python -m benchmarks.output_head --model M [--tokens 1 2 3 4] [--threads N] [--runs N] [--rows N] [--json]

First: milliseconds of passes that read all of the head and of passes that read its upper bits, in turn on the same
weights, the fastest and the median. Then, on a text: how far the rough logits are from those of a whole pass, in units
of their expected standard deviation; how many rows are computed again for a sampler; and how long that takes.
docs/output-head.md explains the method.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from engine.commands.terminal import notes_to_stderr
from engine.generation.sampling import SPARE
from engine.machine import default_threads
from engine.protocol.requests import Sampling
from engine.run_subprocess import start_with_environment
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik.native import OutputHead
from engine.runtime.ik.runtime import IkModel, IkRuntime
from engine.runtime.interface import prefill
from engine.stop import StopFlag

TEXT = Path(__file__).parent / "held_out" / "prose.txt"
DEPTH = 64  # tokens before each pass that is timed
USUAL = Sampling()
COUNTS = {"greedy": 1, "usual settings": USUAL.top_k + SPARE}  # exact logits that the sampler needs


@dataclass(frozen=True, slots=True)
class Passes:
    """Seconds of passes of `tokens`, in the order in which they ran."""

    tokens: int
    whole: list[float]
    rough: list[float]

    def __str__(self) -> str:
        times = [1e3 * of(side) for of in (min, median) for side in (self.whole, self.rough)]
        return "{:6}{:9.1f}{:8.1f}{:7.3f}×{:12.1f}{:8.1f}{:7.3f}×".format(
            self.tokens, *times[:2], times[0] / times[1], *times[2:], times[2] / times[3]
        )


@dataclass(frozen=True, slots=True)
class Mended:
    """Costs of mending rough logits for `sampler`: rows of weights computed again, and seconds, for each token."""

    sampler: str
    rows: list[int]
    seconds: list[float]
    different: int  # tokens whose largest logits were not those of a whole pass

    def __str__(self) -> str:
        return (
            f"{self.sampler}: {median(self.rows):,.0f} rows (most {max(self.rows):,}), "
            f"{1e3 * median(self.seconds):.2f} ms, {self.different} of {len(self.rows)} tokens with other logits"
        )


def main() -> None:
    options = parse()
    notes_to_stderr()
    context = ContextOptions(n_ctx=DEPTH + options.rows + 8, threads=options.threads)
    with closing(IkModel(options.model)) as model, closing(IkRuntime(model, context, StopFlag())) as target:
        if model.head is None:
            sys.exit("This model's output head is not of the type Q6_K, or this computer has none of our products.")
        text = model.vocabulary.tokenize(TEXT.read_text("utf-8"), special=False)[: DEPTH + options.rows]
        list(prefill(target, text[:DEPTH]))
        passes = [timed(target, text[DEPTH : DEPTH + tokens], options.runs) for tokens in options.tokens]
        worst, mean, mended = compared(target, model.head, text)
    if options.json:
        print(
            json.dumps({"passes": [asdict(p) for p in passes], "worst": worst, "mended": [asdict(m) for m in mended]})
        )
        return
    print("tokens    whole   rough                   whole   rough")
    for timing in passes:
        print(timing)
    print(f"rough logits: worst error {worst:.1f} standard deviations, which are {mean:.2f} on average")
    for row in mended:
        print(row)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.output_head", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--tokens", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--threads", type=int, default=default_threads())
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--rows", type=int, default=200, help="tokens of a text whose logits are compared")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def timed(target: IkRuntime, tokens: list[int], runs: int) -> Passes:
    """Time passes with whole and with rough logits, in turn; their tokens are removed from the cache."""
    row = Passes(len(tokens), [], [])
    for _ in range(runs):
        for whole, seconds in ((True, row.whole), (False, row.rough)):
            started = time.perf_counter()
            target.forward(tokens, len(tokens), whole_rows=whole)
            seconds.append(time.perf_counter() - started)
            target.truncate(DEPTH)
    return row


def compared(target: IkRuntime, head: OutputHead, text: list[int]) -> tuple[float, float, list[Mended]]:
    """Compare rough logits with whole ones for each token of `text` after the first DEPTH.

    Returns the worst error in standard deviations, the mean standard deviation, and the costs of mending by sampler.
    """
    worst, deviations = 0.0, []
    mended = [Mended(name, [], [], 0) for name in COUNTS]
    different = dict.fromkeys(COUNTS, 0)
    for token in text[DEPTH:]:
        exact = target.forward([token], whole_rows=True).row().copy()
        for row, count in zip(mended, COUNTS.values(), strict=True):
            target.truncate(target.size - 1)
            logits = target.forward([token]).raw_row(-1)
            if count == 1:
                expected = np.repeat(head.deviations(0), head.group)
                deviations.append(float(expected.mean()))
                worst = max(worst, float((np.abs(logits - exact) / expected).max()))
            started = time.perf_counter()
            row.rows.append(head.finish(0, logits.ctypes.data, count))
            row.seconds.append(time.perf_counter() - started)
            bound = np.sort(exact)[-count]
            best = exact >= bound
            different[row.sampler] += not (
                np.array_equal(best, logits >= bound) and np.array_equal(logits[best], exact[best])
            )
    found = [replace(row, different=different[row.sampler]) for row in mended]
    return worst, float(np.mean(deviations)), found


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        start_with_environment()
        main()
