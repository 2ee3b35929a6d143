"""Draft-model speculation: a small model with the same vocabulary writes on, and what it writes is the draft.

Knows the small model by its follower only, and of the target nothing but how much larger its weights are.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import islice

from engine.costs.cost_model import CostModel
from engine.speculative.draft import Draft, bucket
from engine.speculative.follower import Follower
from engine.speculative.lengths import MARGIN, MOST_DRAFTED
from engine.speculative.matched import MatchedLengths
from engine.tokenization.tokens import common_prefix

AGREED = 0.9  # of the tokens that follow right ones: a model of a third of the size, code and edits, greedy


class ModelDrafter:
    """See `engine.speculative.draft.Drafter`. `share`: bytes of the small model's weights, as a share of the target's.

    Improved form: at most as many tokens as asked for, and no more once the probability that all so far are right is
    below `share`. A pass's time goes by the weights it reads or multiplies with, so one more token costs `share` plain
    steps even where verifying it is free, and brings no more than that probability.

    Published form: as many tokens as were most often right in this chat."""

    def __init__(self, follower: Follower, share: float, published: bool = False) -> None:
        assert share > 0, share
        self.name = "model-published" if published else "model"
        self.follower = follower
        self.share = share
        self.published = published
        self.matched = MatchedLengths()
        self._draft: tuple[int, ...] = ()  # as long as it is not known how much of it is right
        self._drafted_at = 0  # tokens of the chat then
        self._usual = 1  # tokens of a draft, lately
        self._unpaid = 0.0  # seconds of drafts that came to nothing

    @property
    def cost(self) -> float:
        """What the small model has to read first counts as part of a draft as long as the last one."""
        return self.follower.step_seconds + self.follower.catch_up_seconds / self._usual

    def can_pay(self, table: CostModel, depth: int) -> bool:
        """Could drafts pay on this machine at all, if they were as good as a small model's ever are?"""
        plain, reach, expected = table.pass_seconds(1, depth), 1.0, 0.0
        for length in range(1, MOST_DRAFTED + 1):
            reach *= AGREED
            expected += reach
            seconds = table.pass_seconds(1 + length, depth) + length * self.follower.step_seconds
            if (1 + expected) * plain > MARGIN * seconds:
                return True
        return False

    def begin(self, tokens: Sequence[int]) -> None:
        before = self.follower.chat
        if common_prefix(before, list(tokens)) < len(before) // 2:
            self.matched = MatchedLengths()  # another chat, which may begin with the same system prompt
        self.matched.begin()
        self._draft = ()
        self.follower.begin(tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        self.follower.extend(tokens)
        came = self.follower.chat[self._drafted_at : self._drafted_at + len(self._draft)]
        matched = common_prefix(self._draft, tuple(came))
        if self._draft and (matched < len(came) or len(came) == len(self._draft)):
            self.matched.add(matched, len(self._draft))
            self._draft = ()

    def propose(self, limit: int) -> list[Draft]:
        if limit < 1:
            return []
        started = time.perf_counter()
        tokens, confidence = self._write(min(limit, self.matched.k) if self.published else limit)
        self._unpaid += time.perf_counter() - started
        if not tokens:
            return []
        self._draft, self._drafted_at, self._usual = tokens, len(self.follower.chat), len(tokens)
        cost, self._unpaid = self._unpaid, 0.0
        return [Draft(tokens, self.name, bucket(confidence[0]), confidence, cost)]

    def _write(self, count: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        tokens, confidence, reach = [], [], 1.0
        for token, probability in islice(self.follower.write(), count):
            tokens.append(token)
            confidence.append(probability)
            reach *= probability
            if reach < self.share and not self.published:
                break
        return tuple(tokens), tuple(confidence)
