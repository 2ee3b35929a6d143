"""What history lookup believes before anything is learned: how likely each token of a draft is, from its evidence.

A logistic regression on the tuning half of the recorded answers (`python -m benchmarks.replay fit`).
"""

from __future__ import annotations

import math
from functools import lru_cache

BIAS = -1.0
LENGTH = 0.6  # for each doubling of the match's length, drafted tokens before this one included
LATER = 0.2  # for every token but the first
NEAR = 0.8  # where a copy is under way or was left
AGREEMENT = (0.0, 0.5, -0.3, -0.9)  # see History
HITS = (-0.8, 0.0, 0.5, 1.0, 1.8)  # see hits_class


@lru_cache(maxsize=4096)
def prior(length: int, agreement: int, near: bool, hits: int, limit: int) -> tuple[float, ...]:
    """The probability of each of `limit` tokens, given that those before it are right."""
    base = BIAS + NEAR * near + AGREEMENT[agreement] + HITS[hits]
    return tuple(logistic(base + LENGTH * math.log2(length + i) + LATER * (i > 0)) for i in range(limit))


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))
