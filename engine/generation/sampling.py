"""Chooses tokens from rows of logits: penalties, top-k, top-p, min-p, temperature, random choice, in this order.

The definitions, and with a seed the choices, are those of llama.cpp's sampler chain (src/llama-sampler.cpp). Only the
largest logits are looked at wherever they decide alone; a row has a number for each of up to 260,000 tokens.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Sequence

import numpy as np

from engine.protocol import Sampling
from engine.runtime.interface import Logits, Row, Tokens, largest, top_of

SPARE = 8  # penalised tokens that are expected among the largest: at most so many in nine of ten rows
SORTED = (256, 8192)  # tokens that top-p sorts before it sorts all: they hold 95 % of nearly every row


class Sampler:
    """Chooses tokens one after the other and remembers what it chose, for penalties. `history`: the tokens before.

    With the same seed the same rows give the same choices, on any runtime."""

    def __init__(self, sampling: Sampling, history: Sequence[int] = ()) -> None:
        self.sampling = sampling
        penalised = sampling.repeat_penalty != 1.0 and sampling.repeat_last_n
        self._last: deque[int] | None = deque(history, sampling.repeat_last_n) if penalised else None
        self._penalty = np.float32(sampling.repeat_penalty)
        self._count = sampling.top_k if sampling.temperature else 1  # of the largest logits decide; 0: all do
        if sampling.repeat_penalty < 1 and penalised:
            self._count = 0
        self._numbers = Numbers(seed_of(sampling))

    @property
    def reads_whole_rows(self) -> bool:
        """Does a choice depend on more than the largest logits?"""
        return not self._count

    def sample(self, logits: Logits, row: int = -1) -> int:
        """The next token, from a row of a pass."""
        token = self._sample(logits, row)
        if self._last is not None:
            self._last.append(token)
        return token

    def _sample(self, logits: Logits, row: int) -> int:
        if not self.sampling.temperature:
            return int(self._likeliest(logits, row)[0][0])
        tokens, weights = self.candidates(logits, row)
        sums = weights.cumsum(dtype=np.float64)
        return int(tokens[np.searchsorted(sums, sums[-1] * self._numbers.next())])

    def candidates(self, logits: Logits, row: int = -1) -> tuple[Tokens, Row]:
        """The tokens that may be chosen and their weights, which are proportional to their probabilities."""
        top_p, min_p = self.sampling.top_p, self.sampling.min_p
        tokens, values = self._likeliest(logits, row)
        if self.sampling.top_k and top_p < 1:
            kept = enough(softmax(values), top_p)
            tokens, values = tokens[:kept], values[:kept]
        best = values.max()
        if min_p > 0:
            likely = values >= best + np.log(np.float32(min_p))
            tokens, values = tokens[likely], values[likely]
        temperature = np.float32(self.sampling.temperature)
        return tokens, np.exp(values / temperature - best / temperature)

    def _likeliest(self, logits: Logits, row: int) -> tuple[Tokens, Row]:
        """After penalties the top-k tokens or, without top-k, those that top-p leaves; of greedy choices the one."""
        if self._count:
            return self._likeliest_of_largest(logits, row)
        whole = self._penalised_row(logits.row(row))
        if not self.sampling.temperature:
            return top_of(whole, 1)
        if self.sampling.top_k:
            return top_of(whole, self.sampling.top_k)
        return nucleus_of(whole, self.sampling.top_p)

    def _likeliest_of_largest(self, logits: Logits, row: int) -> tuple[Tokens, Row]:
        """The `count` likeliest tokens after penalties, which make tokens less likely here.

        They are among the largest logits before penalties if these hold as many tokens without a penalty: whatever is
        smaller has all of those before it."""
        count = self._count
        if not self._last:
            return logits.top(count, row)
        last = set(self._last)
        for spare in (*((0,) if count == 1 else ()), min(SPARE, len(last)), len(last)):
            tokens, values = logits.top(count + spare, row)
            is_penalised = np.fromiter((token in last for token in tokens.tolist()), np.bool_, len(tokens))
            if len(tokens) - np.count_nonzero(is_penalised) >= count or len(tokens) < count + spare:
                break
        if not is_penalised.any():
            return tokens[:count], values[:count]
        values = np.where(is_penalised, self._penalised(values), values)
        order = np.argsort(-values, kind="stable")[:count]
        return tokens[order], values[order]

    def _penalised_row(self, row: Row) -> Row:
        if not self._last:
            return row
        row, tokens = row.copy(), np.unique(np.array(self._last, np.intp))
        row[tokens] = self._penalised(row[tokens])
        return row

    def _penalised(self, values: Row) -> Row:
        """As if these tokens had come before (CTRL, https://arxiv.org/abs/1909.05858; where a logit is negative,
        dividing would make its token likelier, so it is multiplied)."""
        result: Row = np.where(values <= 0, values * self._penalty, values / self._penalty)
        return result


class Numbers:
    """Random numbers from [0, 1): what C++'s mt19937 gives as doubles, two of its 32-bit words for each."""

    def __init__(self, seed: int) -> None:
        self._state = np.random.RandomState(seed)

    def next(self) -> float:
        """The next one."""
        return int.from_bytes(self._state.bytes(8), "little") / 2**64


def seed_of(sampling: Sampling) -> int:
    """The settings' seed, or one that nobody knows; 2³² - 1 means a random one to llama.cpp."""
    return secrets.randbits(32) % (2**32 - 1) if sampling.seed is None else sampling.seed


def nucleus_of(row: Row, top_p: float) -> tuple[Tokens, Row]:
    """Of a whole row the likeliest tokens that hold `top_p` of the probability together, and their logits."""
    if top_p >= 1:
        return np.arange(len(row)), row
    probabilities = softmax(row)
    for count in (*SORTED, len(row)):
        tokens = largest(row, count)
        needed = enough(probabilities[tokens], top_p)
        if needed < len(tokens):
            break
    tokens = tokens[:needed]
    return tokens, row[tokens]


def enough(probabilities: Row, share: float) -> int:
    """How many of them make up `share`, at least one."""
    return int(np.searchsorted(probabilities.cumsum(), np.float32(share))) + 1


def softmax(logits: Row) -> Row:
    """Probabilities, [n] of [n] logits."""
    weights: Row = np.exp(logits - logits.max())
    weights /= weights.cumsum()[-1]  # one by one, as llama.cpp adds: over a whole row that errs by some 1e-5
    return weights
