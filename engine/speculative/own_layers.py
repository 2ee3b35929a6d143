"""Drafting with the layers that a model brings along to predict further tokens (MTP, multi-token prediction).

Such layers were trained together with the model: they read each token with the model's hidden state of the token before
it (DeepSeek-V3, arXiv:2412.19437, section 2.2). A step costs one layer and the output head.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence

from engine.costs.cost_model import CostModel
from engine.runtime.interface import PredictingRuntime
from engine.speculative.policy import DraftPolicy, StepCosts
from engine.speculative.writing import WriterTimes, WritingDrafter, likeliest

MOST_TOKENS = 2  # of a draft: the layers are trained for one token, and less and less sure of further ones
WARM_UP = 3  # passes; the first one is slow, because it loads the weights into memory


class LayersWriter:
    """A `Writer` with the target's own layers, which read the chat in the target's own cache."""

    def __init__(self, runtime: PredictingRuntime) -> None:
        assert runtime.own_layers, "load the model with its own layers"
        self.runtime = runtime
        self._times = WriterTimes(1 + MOST_TOKENS)
        self._newest, self._length = -1, 0  # the chat's last token and the number of its tokens

    def warm_up(self) -> None:
        """Time steps in an empty cache. Raises Stopped."""
        seconds = math.inf
        for _ in range(WARM_UP):
            started = time.perf_counter()
            likeliest(self.runtime.predict((0,)).near_row())
            seconds = min(seconds, time.perf_counter() - started)
        self._times.record(1, seconds)

    def begin(self, tokens: Sequence[int]) -> None:
        """Start an answer after a prompt."""
        self._length, self._newest = len(tokens), tokens[-1] if tokens else -1

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens that the target has chosen."""
        if tokens:
            self._length, self._newest = self._length + len(tokens), tokens[-1]

    @property
    def can_write(self) -> bool:
        """Whether the newest token is the only one that the target's cache lacks, and there is room for it."""
        runtime = self.runtime
        return runtime.own_layers and runtime.can_predict and self._length == runtime.size + 1 <= runtime.n_ctx

    @property
    def step_seconds(self) -> float:
        """Seconds to write one token; infinite where nothing can be written."""
        return self._times.step_seconds if self.can_write else math.inf

    @property
    def usual_step_seconds(self) -> float:
        """Seconds that a token took so far, whether one can be written now or not."""
        return self._times.step_seconds

    @property
    def catch_up_seconds(self) -> float:
        """Seconds to read what must be read before the first token can be written, beyond what a step includes."""
        return self._times.catch_up_seconds(self.runtime.unread + 1)

    def write(self) -> Iterator[tuple[int, float]]:
        """Yield the likeliest next token with its probability, then the one after it, and so on.

        The iterator ends where the layers would end the answer or the cache is full. Raises Stopped.
        """
        tokens: list[int] = []
        token, ran = self._newest, self.runtime.unread + 1
        while self.can_write and self._length + len(tokens) <= self.runtime.n_ctx:
            tokens.append(token)
            started = time.perf_counter()
            token, probability = likeliest(self.runtime.predict(tokens).near_row())
            self._times.record(ran, time.perf_counter() - started)
            if self.runtime.vocabulary.is_end(token):
                return
            yield token, probability
            ran = 1


class OwnLayers(WritingDrafter):
    """A `Drafter` with the target's own layers. `costs()`: the target's cost model, None before passes were timed.

    It drafts at most MOST_TOKENS, and stops once the probability that all tokens so far are right falls below the cost
    of one more token in plain steps.
    """

    name = "mtp"

    def __init__(self, writer: LayersWriter, costs: Callable[[], CostModel | None]) -> None:
        super().__init__(writer)
        self.layers = writer
        self._costs = costs

    def read_along(self, costs: CostModel | None, policy: DraftPolicy) -> None:
        """Let the layers read the coming prompt as a whole if drafts pay at these costs by what was learned.

        Reading takes about as long as one more layer of the target. Otherwise the layers read a prompt's end only.
        """
        runtime, seconds = self.layers.runtime, self.layers.usual_step_seconds
        steps = StepCosts.by(costs, 1, runtime.size)
        runtime.read_along(costs is not None and policy.may_pay(self.name, seconds, steps))

    def _max_tokens(self, limit: int) -> int:
        return min(limit, MOST_TOKENS)

    def _should_stop(self, reach: float) -> bool:
        costs = self._costs()
        plain = costs.pass_seconds(1, self.layers.runtime.size) if costs else math.inf
        return reach * plain < self.layers.usual_step_seconds
