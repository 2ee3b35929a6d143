"""What history lookup believes before anything is learned: how likely each token of a draft is, from its evidence.

A logistic regression, fitted to the tuning half of the recorded answers by `python -m benchmarks.fit_prior`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MOST_RUN = 32  # tokens; a longer run says no more
WEIGHTS = {
    "bias": -1.52,
    "length": 0.9,  # for each doubling of the match's length, with the draft's tokens before
    "later": -0.25,  # every token but the first
    "disputed": -1.13,  # another occurrence that agreed so far goes on otherwise
    "shared": 0.86,  # another occurrence goes on in the same way
    "near": 1.06,  # where a copy is under way or was left
    "second": -0.85,  # there is a more promising occurrence
    "prompt": 0.83,  # found in what was read, not in the answer itself
    "run": -0.58,  # for each doubling of the number of tokens foreseen one after the other
    "hits": 0.13,  # the share of tokens foreseen of late
    "hits_length": 0.42,
}


@dataclass(frozen=True, slots=True)
class Grounds:
    """Of one draft. `shared[i]`, `disputed[i]`: does another occurrence that agrees up to token i agree, disagree?"""

    length: int
    near: bool
    second: bool
    prompt: bool
    run: int
    hits: float
    shared: Sequence[bool]
    disputed: Sequence[bool]


def features(grounds: Grounds) -> NDArray[np.float64]:
    """Shape [tokens of the draft, WEIGHTS], in their order."""
    places = np.arange(len(grounds.shared))
    length = np.log2(grounds.length + places)
    found = np.empty((len(places), len(WEIGHTS)))
    found[:, 0] = 1
    found[:, 1] = length
    found[:, 2] = places > 0
    found[:, 3] = grounds.disputed
    found[:, 4] = grounds.shared
    found[:, 5:10] = grounds.near, grounds.second, grounds.prompt, np.log2(1 + min(grounds.run, MOST_RUN)), grounds.hits
    found[:, 10] = grounds.hits * length
    return found


def prior(grounds: Grounds) -> tuple[float, ...]:
    """The probability of each token of the draft, given that those before it are right."""
    return tuple((1 / (1 + np.exp(-features(grounds) @ VECTOR))).tolist())


VECTOR = np.array(list(WEIGHTS.values()))
