"""Fits what phrase drafting believes at first (`engine.speculative.ngram`) to the tuning half of recorded answers.

    python -m benchmarks.fit_phrases --model M [--trace FILE]

M is the model whose answers the trace holds; its table is made if there is none. Prints the weights where one token is
known and where two are, and for both halves how often the foretold token came and the mean log likelihood of that.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.fit_prior import Array, fit, likelihood
from benchmarks.replay import TRACE
from benchmarks.trace import Trace, load
from engine.loading.libraries import vocabulary
from engine.speculative.ngram import WEIGHTS, NgramTable, StaticNgram, log_odds
from engine.speculative.ngram_book import made


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit_phrases", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--trace", type=Path, default=TRACE)
    options = parser.parse_args()
    table, traces = made(options.model, vocabulary(options.model)), load(options.trace)
    for known in WEIGHTS:
        halves = [
            samples([trace for trace in traces if trace.held_out == held_out], table, known)
            for held_out in (False, True)
        ]
        x, y = halves[0]
        fitted = fit(x, y, np.ones(len(y)))
        print(f"    {known}: ({', '.join(f'{weight:.2f}' for weight in fitted)}),")
        for name, (x, y) in zip(("tuning", "held-out"), halves, strict=True):
            print(f"        {name}: {y.mean():.1%} of {len(y):,} came; {likelihood(x, y, np.ones(len(y)), fitted):.4f}")


def samples(traces: list[Trace], table: NgramTable, known: int) -> tuple[Array, Array]:
    """(features, did it come) of the next token after each one, where so many tokens are known to go by."""
    rows, came = [], []
    for trace in traces:
        drafter = StaticNgram(table)
        drafter.begin(trace.prompt)
        for i, token in enumerate(trace.output):
            expected = drafter.next() if i else None
            if expected and expected.known == known:
                rows.append((1, log_odds(expected.chance), log_odds(drafter.hits)))
                came.append(expected.token == token)
            drafter.extend((token,))
    return np.array(rows, float), np.array(came, float)


if __name__ == "__main__":
    main()
