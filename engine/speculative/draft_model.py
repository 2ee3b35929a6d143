"""Draft-model speculation: a small model with the same vocabulary continues the text, and its tokens are the draft.

The method is that of Leviathan, Kalman and Matias, Fast Inference from Transformers via Speculative Decoding
(arXiv:2211.17192), except that a token is accepted if the target's own sampler chooses it too. Target and draft model
never run at once: the decode loop calls one after the other with the same number of threads, so that they take turns on
the same cores.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator, Sequence
from itertools import islice

from common.failures import Failure
from engine.costs.cost_model import CostModel
from engine.kv.session import Session
from engine.runtime.interface import Runtime
from engine.speculative.policy import MAX_DRAFTED, MIN_GAIN
from engine.speculative.writing import WriterTimes, WritingDrafter, likeliest
from engine.stop import Stopped
from engine.tokenization.tokens import common_prefix

log = logging.getLogger("engine.draft")

TYPICAL_ACCEPTANCE = 0.9  # measured: draft model of a third of the size, code and edits, greedy; after right tokens
STEP_TOKENS = 2  # tokens uncached after a draft: the draft's last one, which never ran, and the target's own


class DraftModel(WritingDrafter):
    """A `Drafter` with a small model; `share` is the bytes of its weights divided by those of the target's.

    A pass's time is proportional to the weights that it reads or multiplies with. So one more token costs `share` plain
    steps, and drafting stops once the probability that all tokens so far are right falls below that.
    """

    name = "model"

    def __init__(self, follower: Follower, share: float) -> None:
        assert share > 0, share
        super().__init__()
        self.follower = follower
        self.share = share

    @property
    def target(self) -> Runtime:
        """Runtime of the small model."""
        return self.follower.session.runtime

    @property
    def n_ctx(self) -> int:
        """Tokens of the longest chat that the draft model follows."""
        return self.follower.session.limit

    def begin(self, tokens: Sequence[int]) -> None:
        self.follower.begin(tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        self.follower.extend(tokens)

    def write(self) -> Iterator[tuple[int, float]]:
        return self.follower.write()

    @property
    def step_seconds(self) -> float:
        return self.follower.step_seconds

    @property
    def catch_up_seconds(self) -> float:
        return self.follower.catch_up_seconds

    def can_pay(self, costs: CostModel, depth: int) -> bool:
        """Return whether drafts could pay at these costs if they were as good as a small model's ever are."""
        plain, reach, expected = costs.pass_seconds(1, depth), 1.0, 0.0
        for length in range(1, MAX_DRAFTED + 1):
            reach *= TYPICAL_ACCEPTANCE
            expected += reach
            seconds = costs.pass_seconds(1 + length, depth) + length * self.follower.step_seconds
            if (1 + expected) * plain > MIN_GAIN * seconds:
                return True
        return False

    def read_ahead(self, tokens: Sequence[int], costs: CostModel) -> None:
        """Read the chat in idle time, if drafts can pay at these `costs`. Raises Stopped."""
        if self.can_pay(costs, len(tokens)):
            self.follower.read_ahead(tokens)

    def _should_stop(self, reach: float) -> bool:
        return reach < self.share


class Follower:
    """A small model that follows the chat; its KV cache catches up with the newest token only when it has to write.

    It owns a session on a runtime of its own, which runs in the caller's thread. Only tokens below `n_vocab` are
    written; others, which mean something else to this model or nothing, are read as a line break. `limit` is the length
    of the longest chat that it follows: during an answer for which its cache could not grow, what the cache holds.
    """

    def __init__(self, runtime: Runtime, n_vocab: int, limit: int | None = None) -> None:
        assert runtime.can_truncate, "a follower takes back what did not come true"
        self.session = Session(runtime, limit)
        self.limit = self.session.limit
        self.n_vocab = n_vocab
        self._unknown = runtime.vocabulary.tokenize("\n", special=False)[-1]
        self.chat: list[int] = []
        self._valid_tokens = 0  # length of the session's beginning that equals the chat; drafted tokens may follow it
        self._times = WriterTimes(STEP_TOKENS)

    def begin(self, tokens: Sequence[int]) -> None:
        """Start an answer after a prompt, without running anything."""
        self.limit = self.session.limit
        self.chat = [self._as_read(token) for token in tokens]
        self._valid_tokens = common_prefix(self.session.tokens, self.chat)

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens that the target has chosen, without running anything."""
        cached = self.session.tokens
        for token in map(self._as_read, tokens):
            self._valid_tokens += (
                self._valid_tokens == len(self.chat) < len(cached) and cached[self._valid_tokens] == token
            )
            self.chat.append(token)

    @property
    def step_seconds(self) -> float:
        """Seconds to write one token; infinite before anything ran, and for a chat that is too long."""
        return math.inf if len(self.chat) > self.limit else self._times.step_seconds

    @property
    def catch_up_seconds(self) -> float:
        """Seconds to read what must be read before the first token can be written, beyond what a step includes."""
        return self._times.catch_up_seconds(len(self.chat) - self._valid_tokens)

    def warm_up(self) -> None:
        """Time steps in an empty cache. Raises Stopped."""

        def step() -> None:
            self.session.run((0,))
            self._likeliest()
            self.session.keep_first((0,), 0)

        self._times.warm_up(step)

    def read_ahead(self, tokens: Sequence[int]) -> None:
        """Read a chat in idle time, so that the next draft starts at once.

        Two tokens are written too, to learn what a step takes at that depth. Raises Stopped.
        """
        self.begin(tokens)
        if self._valid_tokens < len(tokens):
            for _ in islice(self.write(), STEP_TOKENS):
                pass

    def write(self) -> Iterator[tuple[int, float]]:
        """Yield the likeliest next token with its probability, then the one after it, and so on. Raises Stopped."""
        started = time.perf_counter()
        ran = self._catch_up()
        while ran:
            token, probability = self._likeliest()
            self._times.record(ran, time.perf_counter() - started)
            if self.session.runtime.vocabulary.is_end(token):
                return
            yield token, probability
            started = time.perf_counter()
            ran = self._run_drafted(token)

    def _catch_up(self) -> int:
        """Run the chat's uncached tokens; return how many ran, or 0 if the chat cannot be followed."""
        uncached = max(1, len(self.chat) - self._valid_tokens)
        if not 0 < len(self.chat) <= self.limit:
            return 0
        try:
            for _ in self.session.prefill(self.chat):
                self._valid_tokens = len(self.session.tokens)
        except Stopped:
            self._valid_tokens = len(self.session.tokens)
            raise
        except Failure as failure:
            log.warning("the draft model follows chats of up to %d tokens: %s", self.session.runtime.n_ctx, failure)
            self.limit = self.session.runtime.n_ctx
            return 0
        return uncached

    def _run_drafted(self, token: int) -> int:
        """Run a token that the chat does not have yet; return 0 if the cache has no room left for it."""
        if len(self.session.tokens) >= min(self.limit, self.session.runtime.n_ctx):
            return 0
        self.session.run((token,))
        self.session.keep_first((token,), 1)
        return 1

    def _as_read(self, token: int) -> int:
        return token if token < self.n_vocab else self._unknown

    def _likeliest(self) -> tuple[int, float]:
        assert self.session.logits, "nothing has run"
        return likeliest(self.session.logits.near_row()[: self.n_vocab])
