"""Draft-model speculation: a small model with the same vocabulary writes on, and what it writes is the draft.

The method is that of Leviathan, Kalman and Matias, Fast Inference from Transformers via Speculative Decoding
(arXiv:2211.17192), but a token is accepted where the target's own sampler chooses it too. Target and drafter are never
at work at once: the decode loop calls one after the other, both with the same number of threads, so that they take
turns on the same cores.
"""

from __future__ import annotations

import logging
import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from common.failures import Failure
from engine.costs.cost_model import CostModel
from engine.kv.session import Session
from engine.runtime.interface import Runtime
from engine.speculative.draft import Draft, sureness
from engine.speculative.policy import MARGIN, MOST_DRAFTED
from engine.stop import Stopped
from engine.tokenization.tokens import common_prefix

log = logging.getLogger("engine.draft")

AGREED = 0.9  # of the tokens that follow right ones: a model of a third of the size, code and edits, greedy
STEP = 2  # tokens that the cache lacks after a draft: its last one, which never ran, and the target's own
LATELY = 32  # passes whose lower quartile is the time of a step: other programs only ever make them slower
READING = 0.3  # steps: the time of a token that is read with others, before any were; less where memory is the limit
FADE = 0.5  # what the reading before counts at each new one
WARM_UP = 3  # passes; the first one touches the weights for the first time


class DraftModel:
    """A `Drafter`. `share`: bytes of the small model's weights, as a share of the target's.

    It drafts at most as many tokens as asked for, and no more once the probability that all so far are right is below
    `share`. A pass's time goes by the weights it reads or multiplies with, so one more token costs `share` plain steps
    even where verifying it is free, and brings no more than that probability."""

    name = "model"

    def __init__(self, follower: Follower, share: float) -> None:
        assert share > 0, share
        self.follower = follower
        self.share = share
        self._usual = 1  # tokens of a draft, lately
        self._unpaid = 0.0  # seconds of drafts that came to nothing

    @property
    def target(self) -> Runtime:
        """The small model's own."""
        return self.follower.session.runtime

    @property
    def n_ctx(self) -> int:
        """Tokens of the longest chat that it follows."""
        return self.follower.session.limit

    @property
    def cost(self) -> float:
        """Seconds; what the small model has to read first counts as part of a draft as long as the last one."""
        return self.follower.step_seconds + self.follower.catch_up_seconds / self._usual

    def can_pay(self, costs: CostModel, depth: int) -> bool:
        """Could drafts pay on this machine at all, if they were as good as a small model's ever are?"""
        plain, reach, expected = costs.pass_seconds(1, depth), 1.0, 0.0
        for length in range(1, MOST_DRAFTED + 1):
            reach *= AGREED
            expected += reach
            seconds = costs.pass_seconds(1 + length, depth) + length * self.follower.step_seconds
            if (1 + expected) * plain > MARGIN * seconds:
                return True
        return False

    def read_ahead(self, tokens: Sequence[int], costs: CostModel) -> None:
        """In idle time: read the chat, if drafts can pay where passes cost what `costs` says. Raises Stopped."""
        if self.can_pay(costs, len(tokens)):
            self.follower.read_ahead(tokens)

    def begin(self, tokens: Sequence[int]) -> None:
        """A prompt was read."""
        self.follower.begin(tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        """The target has chosen these tokens."""
        self.follower.extend(tokens)

    def propose(self, limit: int) -> list[Draft]:
        """What the small model would write, at most `limit` tokens, with its probabilities. Raises Stopped."""
        if limit < 1:
            return []
        started = time.perf_counter()
        tokens, confidence = self._write(self._length(limit))
        self._unpaid += time.perf_counter() - started
        if not tokens:
            return []
        self._usual = len(tokens)
        cost, self._unpaid = self._unpaid, 0.0
        return [Draft(tokens, self.name, sureness(confidence[0]), confidence, cost)]

    def _length(self, limit: int) -> int:
        return limit

    def _write(self, count: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        tokens, confidence, reach = [], [], 1.0
        for token, probability in islice(self.follower.write(), count):
            tokens.append(token)
            confidence.append(probability)
            reach *= probability
            if self._is_enough(reach):
                break
        return tuple(tokens), tuple(confidence)

    def _is_enough(self, reach: float) -> bool:
        return reach < self.share


class Follower:
    """A small model that follows the chat: its cache is brought up to the newest token only when it has to write on.

    Owns a session on a runtime of its own, which runs in the caller's thread. `begin` with every prompt, `extend` with
    the answer's tokens, `write` to see how it would go on. `n_vocab`: only tokens below are written and can be read;
    `limit`: the longest chat that is followed."""

    def __init__(self, runtime: Runtime, n_vocab: int, limit: int | None = None) -> None:
        assert runtime.can_truncate, "a follower takes back what did not come true"
        self.session = Session(runtime, limit)
        self.n_vocab = n_vocab
        self.chat: list[int] = []
        self._right = 0  # of the session's tokens, so many are the chat's; the others are guesses
        self._steps: deque[float] = deque(maxlen=LATELY)
        self._read = self._read_seconds = 0.0  # tokens and seconds, fading

    def begin(self, tokens: Sequence[int]) -> None:
        """A prompt was read; nothing runs yet."""
        self.chat = list(tokens)
        self._right = common_prefix(self.session.tokens, self.chat)

    def extend(self, tokens: Sequence[int]) -> None:
        """The target has chosen these tokens; nothing runs yet."""
        held = self.session.tokens
        for token in tokens:
            self._right += self._right == len(self.chat) < len(held) and held[self._right] == token
            self.chat.append(token)

    @property
    def step_seconds(self) -> float:
        """What one token takes to be written; infinite as long as nothing ran, and for a chat that is too long."""
        if not self._steps or len(self.chat) > self.session.limit:
            return math.inf
        return sorted(self._steps)[len(self._steps) // 4]

    @property
    def catch_up_seconds(self) -> float:
        """What must be read before the first token can be written, beyond what a step includes."""
        lacking = len(self.chat) - self._right
        if lacking <= STEP:
            return 0.0
        reading = self._read_seconds / self._read if self._read else READING * self.step_seconds
        return lacking * reading

    def warm_up(self) -> None:
        """Time steps, in a cache that nothing was read into yet. Raises Stopped."""
        seconds = math.inf
        for _ in range(WARM_UP):
            started = time.perf_counter()
            self.session.run((0,), whole_rows=True)
            self._likeliest()
            seconds = min(seconds, time.perf_counter() - started)
            self.session.keep((0,), 0)
        self._steps.append(seconds)

    def read_ahead(self, tokens: Sequence[int]) -> None:
        """Read a chat while nobody waits, so that the next draft finds it read, and write a little, to know what a step
        takes there. Raises Stopped."""
        self.begin(tokens)
        if self._right < len(tokens):
            for _ in islice(self.write(), STEP):
                pass

    def write(self) -> Iterator[tuple[int, float]]:
        """The likeliest next token and its probability, then the one after it, and so on; one pass for each, which runs
        when it is asked for. Ends where the model would end the answer or the cache is full. Raises Stopped."""
        started = time.perf_counter()
        ran = self._catch_up()
        while ran:
            token, probability = self._likeliest()
            self._time(ran, time.perf_counter() - started)
            if self.session.runtime.vocabulary.is_end(token):
                return
            yield token, probability
            started = time.perf_counter()
            ran = self._guess(token)

    def _catch_up(self) -> int:
        """Run what the cache lacks; returns how many tokens ran, 0 if the chat cannot be followed."""
        unread = max(1, len(self.chat) - self._right)
        if not 0 < len(self.chat) <= self.session.limit or max(self.chat[-unread:]) >= self.n_vocab:
            return 0
        try:
            for _ in self.session.read(self.chat):
                self._right = len(self.session.tokens)
        except Stopped:
            self._right = len(self.session.tokens)
            raise
        except Failure as failure:
            log.warning("the draft model follows chats of up to %d tokens: %s", self.session.runtime.n_ctx, failure)
            self.session.limit = self.session.runtime.n_ctx
            return 0
        return unread

    def _guess(self, token: int) -> int:
        """Run a token that the chat does not have yet; returns 0 if there is no room left for it."""
        if len(self.session.tokens) >= min(self.session.limit, self.session.runtime.n_ctx):
            return 0
        self.session.run((token,), whole_rows=True)
        self.session.keep((token,), 1)
        return 1

    def _likeliest(self) -> tuple[int, float]:
        assert self.session.logits, "nothing has run"
        logits = self.session.logits.row()[: self.n_vocab]
        token = int(logits.argmax())
        return token, min(1.0, 1 / float(np.exp(logits - logits[token]).sum()))

    def _time(self, ran: int, seconds: float) -> None:
        if ran <= STEP:
            self._steps.append(seconds)
        else:
            self._read = FADE * self._read + ran
            self._read_seconds = FADE * self._read_seconds + seconds
