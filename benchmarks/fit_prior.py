"""Fit the prior of prompt lookup (`engine.speculative.prompt_lookup_prior`) to the tuning half of recorded answers.

    python -m benchmarks.fit_prior [--trace FILE]

Prints the weights and, for both halves, the mean log likelihood of a drafted token with them and with those in use.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.replay import TRACE, future
from benchmarks.trace import Trace, load
from engine.speculative.policy import MAX_DRAFTED
from engine.speculative.prompt_lookup import PromptLookup
from engine.speculative.prompt_lookup_prior import WEIGHTS, LookupEvidence

RIDGE = 1.0
Array = NDArray[np.float64]
VECTOR = np.array(list(WEIGHTS.values()))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fit_prior", description=__doc__.splitlines()[0])
    parser.add_argument("--trace", type=Path, default=TRACE)
    traces = load(parser.parse_args().trace)
    halves = [samples([trace for trace in traces if trace.held_out == held_out]) for held_out in (False, True)]
    fitted = fit(*halves[0])
    for name, weight in zip(WEIGHTS, fitted, strict=True):
        print(f'    "{name}": {weight:.2f},')
    for name, half in zip(("tuning", "held-out"), halves, strict=True):
        print(f"{name}: {likelihood(*half, fitted):.4f} fitted, {likelihood(*half, VECTOR):.4f} in use")


def samples(traces: list[Trace]) -> tuple[Array, Array, Array]:
    """Return (features, whether the token was right, weight) of every drafted token up to the first wrong one.

    Later tokens of a draft weigh less, because they come from the same places in the text again.
    """
    rows, right, weights = [], [], []
    for trace in traces:
        for vectors, tokens, rest in drafts(trace):
            for place, (row, token, real) in enumerate(zip(vectors, tokens, rest, strict=False)):
                rows.append(row)
                right.append(token == real)
                weights.append(1 / (1 + place / 3))
                if token != real:
                    break
    return np.array(rows), np.array(right, float), np.array(weights)


def drafts(trace: Trace) -> Iterator[tuple[Array, tuple[int, ...], list[int]]]:
    """Yield the features of every draft of every step, its tokens, and the tokens that really came."""
    drafter, tokens = PromptLookup(), future(trace)
    drafter.begin(trace.prompt)
    for i, token in enumerate(trace.output):
        drafter.extend((token,))
        evidence = drafter.best_evidence(MAX_DRAFTED) if tokens[i + 1 :] else None
        if evidence:
            yield features(evidence), tuple(evidence.tokens), tokens[i + 1 :]


def features(evidence: LookupEvidence) -> Array:
    """Return the regression's features, [tokens of the draft, WEIGHTS], in the order of WEIGHTS."""
    places = np.arange(len(evidence.tokens))
    columns = np.empty((len(places), len(WEIGHTS)))
    columns[:, 0] = 1
    columns[:, 1] = evidence.length + places == 1
    columns[:, 2] = [math.log2(1 + evidence.rivals.get(place, 0)) for place in range(len(places))]
    columns[:, 3] = evidence.prompt
    columns[:, 4] = evidence.prompt * np.log2(evidence.length + places)
    columns[:, 5] = [evidence.records.get(token, 0) for token in evidence.tokens]
    return columns


def fit(x: Array, y: Array, weights: Array) -> Array:
    """Fit a logistic regression by Newton's method."""
    fitted = np.zeros(x.shape[1])
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ fitted))
        gradient = x.T @ (weights * (p - y)) + RIDGE * fitted
        hessian = (x * (weights * p * (1 - p))[:, None]).T @ x + RIDGE * np.eye(x.shape[1])
        fitted -= np.linalg.solve(hessian, gradient)
    return fitted


def likelihood(x: Array, y: Array, weights: Array, vector: Array) -> float:
    p = 1 / (1 + np.exp(-x @ vector))
    return float(np.average(y * np.log(p) + (1 - y) * np.log(1 - p), weights=weights))


if __name__ == "__main__":
    main()
