"""Sampling: chooses tokens from rows of logits by biases, penalties, a mask, top-k, top-p, min-p and temperature.

They work in this order. Definitions, and the choices with a given seed, are those of llama.cpp's sampler chain
(src/llama-sampler.cpp). A row has a logit for each of up to 260,000 tokens, so only the largest logits are read where
they alone decide.
"""

from __future__ import annotations

import secrets
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from common.failures import Failure
from engine.protocol.requests import Sampling
from engine.runtime.interface import Logits, Row, Tokens, top_logits, top_tokens

SPARE = 8  # penalised tokens among the largest logits: no more in nine of ten rows
# Numbers of tokens that top-p sorts before it sorts all: they hold 95 % of the probability in nearly every row.
SORTED = (256, 8192)


class TokenMask(Protocol):
    """Choice of the tokens that may come next, which follows the answer (`engine.generation.constraint`)."""

    def allowed(self, wanted: int) -> NDArray[np.bool_] | None:
        """Return which tokens may come next, shape [n_vocab]; None: all of them. Raises Failure if there are none.

        `wanted`: the token that would come next without a mask.
        """

    def count_allowed(self, tokens: Sequence[int]) -> int:
        """Return how many of the tokens may come next, one after the other, as far as that is known now."""

    def advance(self, token: int) -> None:
        """Append a token to the answer."""


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A chosen token with its log probability, and the likeliest tokens in its place with theirs."""

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...]


class Sampler:
    """Sampler of one answer: chooses one token after another and remembers them for the penalties.

    `history`: the tokens before. `mask`: the tokens that may be chosen. `scored`: the chosen tokens with `top_logprobs`
    alternatives each, if that is not None; whoever reads them clears the list. With the same seed the same rows give
    the same choices, on any runtime.
    """

    def __init__(
        self,
        sampling: Sampling,
        history: Sequence[int] = (),
        mask: TokenMask | None = None,
        top_logprobs: int | None = None,
    ) -> None:
        self.sampling = sampling
        self.mask = mask
        self.top_logprobs = top_logprobs
        self.scored: list[ScoredToken] = []
        penalties = (sampling.repeat_penalty != 1.0, sampling.presence_penalty, sampling.frequency_penalty)
        penalised = any(penalties) and sampling.repeat_last_n
        window = min(sampling.repeat_last_n, sys.maxsize)  # a deque takes no larger number
        self._last: deque[int] | None = deque(history, window) if penalised else None
        self._penalty, self._presence = np.float32(sampling.repeat_penalty), np.float32(sampling.presence_penalty)
        self._frequency = np.float32(sampling.frequency_penalty)
        # Number of largest logits that a choice depends on; 0: all.
        self._count = sampling.top_k if sampling.temperature else 1
        raises = sampling.repeat_penalty < 1 or sampling.presence_penalty < 0 or sampling.frequency_penalty
        if (penalised and raises) or sampling.logit_bias or mask:
            self._count = 0
        self._random = np.random.RandomState(seed_or_random(sampling))

    @property
    def reads_whole_rows(self) -> bool:
        """Whether a choice, or its probability, depends on more than the largest logits."""
        return not self._count or self.top_logprobs is not None

    def sample(self, logits: Logits, row: int = -1) -> int:
        """Choose the next token from a row of the pass's logits, and remember it for the penalties.

        Raises Failure if the row holds no numbers to choose by.
        """
        token = self._sample(logits, row)
        if self.top_logprobs is not None:
            self.scored.append(score(logits.row(row), token, self.top_logprobs))
        self.remember((token,))
        return token

    def remember(self, tokens: Sequence[int]) -> None:
        """Remember tokens of the answer, for the penalties and the mask."""
        if self._last is not None:
            self._last.extend(tokens)
        if self.mask:
            for token in tokens:
                self.mask.advance(token)

    def _sample(self, logits: Logits, row: int) -> int:
        if not self.sampling.temperature:
            return int(self._likeliest(logits, row)[0][0])
        tokens, weights = self.candidates(logits, row)
        sums = weights.cumsum(dtype=np.float64)
        number = int.from_bytes(self._random.bytes(8), "little") / 2**64  # C++'s mt19937 has two words in a double, too
        return int(tokens[np.searchsorted(sums, sums[-1] * number)])

    def candidates(self, logits: Logits, row: int = -1) -> tuple[Tokens, Row]:
        """Return the tokens that may be chosen and their weights, which are proportional to their probabilities."""
        top_p, min_p = self.sampling.top_p, self.sampling.min_p
        tokens, values = self._likeliest(logits, row)
        if self.sampling.top_k and top_p < 1:
            kept = count_for_share(softmax(values), top_p)
            tokens, values = tokens[:kept], values[:kept]
        best = values.max()
        if min_p > 0:
            likely = values >= best + np.log(np.float32(min_p))
            tokens, values = tokens[likely], values[likely]
        temperature = np.float32(self.sampling.temperature)
        return tokens, np.exp(values / temperature - best / temperature)

    def _likeliest(self, logits: Logits, row: int) -> tuple[Tokens, Row]:
        """Return tokens and logits after penalties: the top-k tokens, or without top-k those that top-p leaves.

        For greedy sampling (temperature 0) only the likeliest token is returned. Raises Failure if there is none.
        """
        if self._count:
            tokens, values = self._likeliest_of_largest(logits, row)
            check_numbers(values)
            return tokens, values
        changed_row = self._penalised_row(self._biased_row(logits.row(row)))
        allowed = self.mask.allowed(int(changed_row.argmax())) if self.mask else None
        if allowed is not None:
            changed_row = np.where(allowed, changed_row, -np.inf)
        check_numbers(changed_row)
        if not self.sampling.temperature:
            return top_logits(changed_row, 1)
        if self.sampling.top_k:
            tokens, values = top_logits(changed_row, self.sampling.top_k)
        else:
            tokens, values = top_p_tokens(changed_row, self.sampling.top_p)
        if allowed is None:
            return tokens, values
        return tokens[allowed[tokens]], values[allowed[tokens]]

    def _biased_row(self, row: Row) -> Row:
        biases = [(token, bias) for token, bias in self.sampling.logit_bias if token < len(row)]
        if not biases:
            return row
        row = row.copy()
        for token, bias in biases:
            row[token] += bias
        return row

    def _likeliest_of_largest(self, logits: Logits, row: int) -> tuple[Tokens, Row]:
        """Return the likeliest tokens after penalties, using only the largest logits. Penalties lower logits here.

        The result is exact once the largest logits hold `count` tokens without a penalty: every smaller logit is below
        all of those.
        """
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
        row = row.copy()
        tokens, counts = np.unique(np.array(self._last, np.intp), return_counts=True)
        row[tokens] = self._penalised(row[tokens]) - counts.astype(np.float32) * self._frequency
        return row

    def _penalised(self, values: Row) -> Row:
        """Return the logits of repeated tokens after the penalties that do not depend on how often they occur.

        The repeat penalty divides (CTRL, https://arxiv.org/abs/1909.05858); it multiplies negative logits, because
        dividing would make their tokens likelier. The presence penalty is subtracted.
        """
        result: Row = np.where(values <= 0, values * self._penalty, values / self._penalty) - self._presence
        return result


def score(row: Row, token: int, top: int) -> ScoredToken:
    """Return a token's log probability in a row of logits, with those of the `top` likeliest tokens."""
    most = row.max()
    total = most + np.log(np.exp(row - most).sum(dtype=np.float64))
    tokens = top_tokens(row, top) if top else ()
    return ScoredToken(token, float(row[token] - total), tuple((int(t), float(row[t] - total)) for t in tokens))


def check_numbers(logits: Row) -> None:
    """Raise Failure if the largest of these logits is no number: the model's weights or its header must be damaged."""
    if not np.isfinite(logits.max()):
        raise Failure("bad_model.no_numbers", f"the largest logit is {logits.max()}")


def seed_or_random(sampling: Sampling) -> int:
    """Return the seed of the settings, or a random one; never 2³² - 1, which asks llama.cpp for a random seed."""
    return secrets.randbits(32) % (2**32 - 1) if sampling.seed is None else sampling.seed


def top_p_tokens(row: Row, top_p: float) -> tuple[Tokens, Row]:
    """Return the likeliest tokens of a whole row that together hold `top_p` of the probability, and their logits."""
    if top_p >= 1:
        return np.arange(len(row)), row
    probabilities = softmax(row)
    for count in (*SORTED, len(row)):
        tokens = top_tokens(row, count)
        needed = count_for_share(probabilities[tokens], top_p)
        if needed < len(tokens):
            break
    tokens = tokens[:needed]
    return tokens, row[tokens]


def count_for_share(probabilities: Row, share: float) -> int:
    """Return how many of the sorted probabilities make up `share`, at least one."""
    return int(np.searchsorted(probabilities.cumsum(), np.float32(share))) + 1


def softmax(logits: Row) -> Row:
    """Return the probabilities of n logits, shape [n]."""
    weights: Row = np.exp(logits - logits.max())
    weights /= weights.cumsum()[-1]  # sequential sum, like llama.cpp's: over a whole row its error is about 1e-5
    return weights
