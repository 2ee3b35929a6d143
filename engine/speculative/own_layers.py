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


class OwnLayers(WritingDrafter):
    """A `Drafter` with the target's own layers, which read the chat in the target's own cache.

    `costs()`: the target's cost model, None before passes were timed. It drafts at most MOST_TOKENS, and stops once the
    probability that all tokens so far are right falls below the cost of one more token in plain steps.
    """

    name = "mtp"

    def __init__(self, runtime: PredictingRuntime, costs: Callable[[], CostModel | None]) -> None:
        assert runtime.own_layers, "load the model with its own layers"
        super().__init__()
        self.runtime = runtime
        self._costs = costs
        self._times = WriterTimes(1 + MOST_TOKENS)
        self._newest, self._length = -1, 0  # the chat's last token and the number of its tokens

    def warm_up(self) -> None:
        """Time steps in an empty cache. Raises Stopped."""
        self._times.warm_up(lambda: likeliest(self.runtime.predict((0,)).near_row()))

    def begin(self, tokens: Sequence[int]) -> None:
        self._length, self._newest = len(tokens), tokens[-1] if tokens else -1

    def extend(self, tokens: Sequence[int]) -> None:
        if tokens:
            self._length, self._newest = self._length + len(tokens), tokens[-1]

    @property
    def can_write(self) -> bool:
        """Whether the newest token is the only one that the target's cache lacks, and there is room for it."""
        runtime = self.runtime
        return runtime.own_layers and runtime.can_predict and self._length == runtime.size + 1 <= runtime.n_ctx

    @property
    def step_seconds(self) -> float:
        return self._times.step_seconds if self.can_write else math.inf

    @property
    def catch_up_seconds(self) -> float:
        return self._times.catch_up_seconds(self.runtime.unread + 1)

    def write(self) -> Iterator[tuple[int, float]]:
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

    def read_along(self, costs: CostModel | None, policy: DraftPolicy) -> None:
        """Let the layers read the coming prompt as a whole if drafts pay at these costs by what was learned.

        Reading takes about as long as one more layer of the target. Otherwise the layers read a prompt's end only.
        """
        steps = StepCosts.by(costs, 1, self.runtime.size)
        self.runtime.read_along(costs is not None and policy.may_pay(self.name, self._times.step_seconds, steps))

    def _max_tokens(self, limit: int) -> int:
        return min(limit, MOST_TOKENS)

    def _should_stop(self, reach: float) -> bool:
        costs = self._costs()
        plain = costs.pass_seconds(1, self.runtime.size) if costs else math.inf
        return reach * plain < self._times.step_seconds
