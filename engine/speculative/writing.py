"""Drafters that write: something continues the chat token by token, which takes time, and its tokens are the draft."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from engine.runtime.interface import Row
from engine.speculative.draft import Draft, sureness

RECENT_PASSES = 32  # their lower quartile is the time of a step, because other programs only slow passes down
READING_SHARE = 0.3  # steps per token read in a batch, before one was timed; less where memory bandwidth is the limit
FADE = 0.5  # factor on earlier reading times per new one
WARM_UP = 3  # passes; the first one is slow, because it loads the weights into memory


class WritingDrafter:
    """Base of the drafters that continue the chat token by token, until the limit that they are given.

    A subclass follows the chat in `begin` and `extend`.
    """

    name = ""

    def __init__(self) -> None:
        self._last_length = 1  # tokens of the last draft
        self._uncharged_seconds = 0.0  # seconds of attempts without a draft; charged to the next draft

    def begin(self, tokens: Sequence[int]) -> None:
        raise NotImplementedError

    def extend(self, tokens: Sequence[int]) -> None:
        raise NotImplementedError

    def write(self) -> Iterator[tuple[int, float]]:
        """Yield the likeliest next token with its probability, then the one after it, and so on. Raises Stopped.

        Each token takes one pass, which runs when the token is asked for. The iterator ends where the answer would end
        and where there is no room for another token.
        """
        raise NotImplementedError

    @property
    def step_seconds(self) -> float:
        """Seconds to write one token; infinite where nothing can be written."""
        raise NotImplementedError

    @property
    def catch_up_seconds(self) -> float:
        """Seconds to read what must be read before the first token can be written, beyond what a step includes."""
        return 0.0

    @property
    def cost(self) -> float:
        """Seconds per drafted token.

        The time to read what is new is included, spread over a draft as long as the last one.
        """
        return self.step_seconds + self.catch_up_seconds / self._last_length

    def propose(self, limit: int) -> list[Draft]:
        """Return at most `limit` tokens that are written next, with their probabilities. Raises Stopped."""
        if limit < 1:
            return []
        started = time.perf_counter()
        tokens, confidence = self._write(self._max_tokens(limit))
        self._uncharged_seconds += time.perf_counter() - started
        if not tokens:
            return []
        self._last_length = len(tokens)
        cost, self._uncharged_seconds = max(0.0, self._uncharged_seconds - self._saved_by(len(tokens))), 0.0
        return [Draft(tokens, self.name, sureness(confidence[0]), confidence, cost)]

    def _max_tokens(self, limit: int) -> int:
        return limit

    def _saved_by(self, _drafted: int) -> float:
        """Return the seconds that verifying so many tokens saves, because a part of it was done for the draft."""
        return 0.0

    def _write(self, count: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        tokens, confidence, reach = [], [], 1.0
        for token, probability in islice(self.write(), count):
            tokens.append(token)
            confidence.append(probability)
            reach *= probability
            if self._should_stop(reach):
                break
        return tuple(tokens), tuple(confidence)

    def _should_stop(self, reach: float) -> bool:
        """Return whether one more token costs more than it can bring; `reach`: chance that all tokens so far are right.

        A token costs time even if verifying it is free, and brings no more than that chance.
        """
        raise NotImplementedError


class WriterTimes:
    """Measured times of a writer: of steps, which read up to `step_tokens` tokens, and of reading more at once."""

    def __init__(self, step_tokens: int) -> None:
        self._step_tokens = step_tokens
        self._steps: deque[float] = deque(maxlen=RECENT_PASSES)
        self._read_tokens = self._read_seconds = 0.0  # faded sums over passes that read several tokens

    @property
    def step_seconds(self) -> float:
        """Seconds to write one token; infinite before anything ran."""
        return sorted(self._steps)[len(self._steps) // 4] if self._steps else math.inf

    def catch_up_seconds(self, lacking: int) -> float:
        """Return the seconds to read `lacking` tokens, beyond what a step includes."""
        if lacking <= self._step_tokens:
            return 0.0
        reading = self._read_seconds / self._read_tokens if self._read_tokens else READING_SHARE * self.step_seconds
        return lacking * reading

    def warm_up(self, step: Callable[[], object]) -> None:
        """Time a step several times and record the fastest one."""
        seconds = math.inf
        for _ in range(WARM_UP):
            started = time.perf_counter()
            step()
            seconds = min(seconds, time.perf_counter() - started)
        self.record(1, seconds)

    def record(self, ran: int, seconds: float) -> None:
        """Record the time of a pass of `ran` tokens."""
        if ran <= self._step_tokens:
            self._steps.append(seconds)
        else:
            self._read_tokens = FADE * self._read_tokens + ran
            self._read_seconds = FADE * self._read_seconds + seconds


def likeliest(logits: Row) -> tuple[int, float]:
    """Return the likeliest token of a row of logits and its probability."""
    token = int(logits.argmax())
    return token, min(1.0, 1 / float(np.exp(logits - logits[token]).sum()))
