"""Mid-layer decoding: a lower layer of the target itself, with the target's own head behind it, drafts.

Knows the target only as an `engine.runtime.interface.EarlyExitRuntime`. What the lower layers make of a draft is not
computed again by the pass that verifies it, so a draft costs less than the time that it takes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from engine.costs.cost_model import CostModel
from engine.runtime.interface import EarlyExitRuntime
from engine.speculative.draft import Draft, bucket

LATELY = 32  # looks ahead whose lower quartile is the time of one: other programs only ever make them slower
LEAST = 0.02  # of a look ahead's time, that drafting a token costs at least: its head


@dataclass(frozen=True, slots=True)
class Exit:
    """`layers` of the target draft. `lower`: their share of the work of all layers; `look`: share of a one-token pass's
    work that one look ahead is, the head included."""

    layers: int
    lower: float
    look: float

    def __post_init__(self) -> None:
        assert 0 < self.lower < 1, self
        assert 0 < self.look <= 1, self


class MidLayer:
    """A `Drafter`. `table()`: what the target's passes cost, None as long as that is not known.

    Improved form: at most as many tokens as asked for, and no more once the probability that all so far are right is
    below what one more costs in plain steps. Published form: always one token."""

    def __init__(
        self, target: EarlyExitRuntime, exit: Exit, table: Callable[[], CostModel | None], published: bool = False
    ) -> None:
        assert exit.layers in target.exits, (exit, target.exits)
        self.name = "midlayer-published" if published else "midlayer"
        self.target = target
        self.exit = exit
        self.published = published
        self._table = table
        self._chat: list[int] = []
        self._looks: deque[float] = deque(maxlen=LATELY)
        self._unpaid = 0.0  # seconds of drafts that came to nothing

    def begin(self, tokens: Sequence[int]) -> None:
        self._chat = list(tokens)
        self._unpaid = 0.0

    def extend(self, tokens: Sequence[int]) -> None:
        self._chat.extend(tokens)

    @property
    def cost(self) -> float:
        """Beyond what verifying saves, because the lower layers have run then."""
        look = self._look_seconds
        return max(LEAST * look, look - self._saved(2))

    @property
    def _look_seconds(self) -> float:
        if self._looks:
            return sorted(self._looks)[len(self._looks) // 4]
        table = self._table()
        return self.exit.look * table.pass_seconds(1, len(self._chat)) if table else 0.0

    def _saved(self, inputs: int) -> float:
        """Seconds by which a pass of so many tokens is faster, all of which but one the lower layers have seen."""
        table, depth = self._table(), len(self._chat)
        if table is None:
            return 0.0
        return self.exit.lower * (table.pass_seconds(inputs, depth, rows=1) - table.pass_seconds(1, depth, rows=1))

    def propose(self, limit: int) -> list[Draft]:
        unread = self._chat[self.target.size :]  # the newest token, and those before it that are not kept
        if limit < 1 or not unread:
            return []
        started = time.perf_counter()
        tokens, confidence = self._write(unread, 1 if self.published else limit)
        seconds = self._unpaid + time.perf_counter() - started
        if not tokens:
            self._unpaid = seconds
            return []
        self._unpaid = 0.0
        cost = max(0.0, seconds - self._saved(len(unread) + len(tokens)))
        return [Draft(tokens, self.name, bucket(confidence[0]), confidence, cost)]

    def _write(self, unread: Sequence[int], most: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """At most so many tokens and their probabilities; none where the lower layers would end the answer."""
        tokens: list[int] = []
        confidence: list[float] = []
        reach, enough = 1.0, self._one_more
        for token, probability in self._guesses(unread):
            tokens.append(token)
            confidence.append(probability)
            reach *= probability
            if len(tokens) == most or (reach < enough and not self.published):
                break
        return tuple(tokens), tuple(confidence)

    @property
    def _one_more(self) -> float:
        """What one more drafted token costs, in plain steps."""
        table = self._table()
        return self.cost / table.pass_seconds(1, len(self._chat)) if table else self.exit.look

    def _guesses(self, unread: Sequence[int]) -> Iterator[tuple[int, float]]:
        """The likeliest next token and its probability, the one after it, and so on: each a pass, when asked for."""
        while True:
            started = time.perf_counter()
            logits = self.target.look_ahead(unread, self.exit.layers).row()
            token = int(logits.argmax())
            probability = min(1.0, 1 / float(np.exp(logits - logits[token]).sum()))
            if len(unread) == 1:
                self._looks.append(time.perf_counter() - started)
            if self.target.vocabulary.is_end(token):
                return
            yield token, probability
            unread = (token,)
