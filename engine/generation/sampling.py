"""Chooses tokens from rows of logits as llama.cpp's sampler chain does. Knows no target and no library.

Penalties, top-k, top-p, min-p, temperature, random choice, in this order; a seed draws the same numbers as there.
Only whole arrays are touched: a row has a number for each of up to 260,000 tokens.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.protocol import Sampling

Logits = NDArray[np.float32]
Tokens = NDArray[np.intp]
BestLogits = Callable[[int, int, Sequence[int]], Logits]  # see `engine.runtime.interface.Target`

IN_BLOCK = 64  # logits; see `most_likely`
SORTED = (256, 8192)  # tokens that top-p sorts before it sorts all: they hold 95 % of nearly every row


class RowSampler:
    """Implements `engine.runtime.interface.Sampler` on a target's logits."""

    def __init__(self, best_logits: BestLogits, sampling: Sampling, history: Sequence[int]) -> None:
        self.best_logits = best_logits
        self.sampling = sampling
        self.last = deque(history, maxlen=sampling.repeat_last_n) if penalised(sampling) else None
        self.numbers = Numbers(seed_of(sampling))

    def sample(self, row: int) -> int:
        logits = self.best_logits(row, self._looked_at(), self.last or ())
        if self.last is not None:
            logits = penalise(logits, self.last, self.sampling.repeat_penalty)
        token = int(logits.argmax()) if self.sampling.temperature == 0 else self._choose(logits)
        if self.last is not None:
            self.last.append(token)
        return token

    def _looked_at(self) -> int:
        """How many of the largest logits decide, besides those of penalised tokens, which become smaller; 0: all do."""
        if self.last is not None and self.sampling.repeat_penalty < 1:  # they become larger
            return 0
        return self.sampling.top_k if self.sampling.temperature else 1

    def _choose(self, logits: Logits) -> int:
        tokens, weights = candidates(logits, self.sampling)
        sums = weights.cumsum(dtype=np.float64)
        return int(tokens[np.searchsorted(sums, sums[-1] * self.numbers.next())])

    def close(self) -> None:
        """Nothing is held."""


class Numbers:
    """Random numbers from [0, 1): what C++'s mt19937 gives as doubles, two of its 32-bit words for each."""

    def __init__(self, seed: int) -> None:
        self._state = np.random.RandomState(seed)

    def next(self) -> float:
        return int.from_bytes(self._state.bytes(8), "little") / 2**64


def penalised(sampling: Sampling) -> bool:
    return sampling.repeat_penalty != 1.0 and bool(sampling.repeat_last_n)


def seed_of(sampling: Sampling) -> int:
    """The settings' seed, or one that nobody knows; 2³² - 1 means a random one to llama.cpp."""
    return secrets.randbits(32) % (2**32 - 1) if sampling.seed is None else sampling.seed


def penalise(logits: Logits, last: Sequence[int], penalty: float) -> Logits:
    """A copy in which tokens of `last` are less likely (CTRL, https://arxiv.org/abs/1909.05858; where a logit is
    negative, dividing would make its token likelier, so it is multiplied)."""
    result = logits.copy()
    tokens = np.unique(np.asarray(last, np.intp))
    before = result[tokens]
    factor = np.float32(penalty)
    result[tokens] = np.where(before <= 0, before * factor, before / factor)
    return result


def candidates(logits: Logits, sampling: Sampling) -> tuple[Tokens, Logits]:
    """Tokens that may be chosen and their weights, which are proportional to their probabilities."""
    tokens: Tokens | None = None
    if sampling.top_k:
        tokens = most_likely(logits, sampling.top_k)
    if sampling.top_p < 1:
        tokens = nucleus(logits, tokens, sampling.top_p)
    chosen = logits if tokens is None else logits[tokens]
    best = chosen.max()
    if sampling.min_p > 0:
        kept = np.flatnonzero(chosen >= best + np.log(np.float32(sampling.min_p)))
        tokens, chosen = kept if tokens is None else tokens[kept], chosen[kept]
    if tokens is None:
        tokens = np.arange(len(logits))
    temperature = np.float32(sampling.temperature)
    return tokens, np.exp(chosen / temperature - best / temperature)


def most_likely(logits: Logits, count: int) -> Tokens:
    """The `count` tokens with the largest logits, largest first.

    The `count`-th largest of the blocks' maxima is no larger than the `count`-th largest logit. What is below it need
    not be sorted, which spares nine tenths of the time of a partition of the whole row."""
    count = min(count, len(logits))
    blocks = len(logits) // IN_BLOCK
    if count >= blocks:
        return np.argsort(-logits, kind="stable")[:count]
    maxima = logits[: IN_BLOCK * blocks].reshape(IN_BLOCK, blocks).max(axis=0)
    bound = np.partition(maxima, blocks - count)[blocks - count]
    above = np.flatnonzero(logits >= bound)
    return above[np.argsort(-logits[above], kind="stable")[:count]]


def nucleus(logits: Logits, tokens: Tokens | None, top_p: float) -> Tokens:
    """Of `tokens` (largest first; None: of all) the first that hold `top_p` of their probability together."""
    if tokens is not None:
        return tokens[: enough(softmax(logits[tokens]), top_p)]
    probabilities = softmax(logits)
    for count in SORTED:
        tokens = most_likely(logits, count)
        needed = enough(probabilities[tokens], top_p)
        if needed < len(tokens):
            return tokens[:needed]
    tokens = most_likely(logits, len(logits))
    return tokens[: enough(probabilities[tokens], top_p)]


def enough(probabilities: Logits, share: float) -> int:
    """How many of them make up `share`, at least one."""
    return int(np.searchsorted(probabilities.cumsum(), np.float32(share))) + 1


def softmax(logits: Logits) -> Logits:
    weights: Logits = np.exp(logits - logits.max())
    weights /= weights.cumsum()[-1]  # one by one, as llama.cpp adds: over a whole row that errs by some 1e-5
    return weights
