"""Mid-layer decoding: a lower layer of the target itself, with the target's own head behind it, drafts.

As in self-speculative decoding with an early exit (LayerSkip, arXiv:2404.16710; Draft & Verify, arXiv:2309.08168, skips
layers in between). What the lower layers make of a draft is not computed again by the pass that verifies it, so a draft
costs less than the time that it takes.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from common.failures import Failure
from common.sentences import Sentence
from engine.costs.cost_model import CostModel
from engine.runtime.interface import EarlyExitRuntime, Runtime
from engine.speculative.draft import Draft, sureness
from models.shapes import Shapes

LATELY = 32  # looks ahead whose lower quartile is the time of one: other programs only ever make them slower
LEAST = 0.02  # of a look ahead's time, that drafting a token costs at least: its head
USUAL = 0.75  # of the layers, where nobody measured which one is best: below that untrained models agree too seldom


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
    """A `Drafter`. `costs()`: what the target's passes cost, None as long as that is not known.

    It drafts at most as many tokens as asked for, and no more once the probability that all so far are right is below
    what one more costs in plain steps."""

    name = "midlayer"

    def __init__(self, target: EarlyExitRuntime, exit: Exit, costs: Callable[[], CostModel | None]) -> None:
        assert exit.layers in target.exits, (exit, target.exits)
        self.target = target
        self.exit = exit
        self._costs = costs
        self._chat: list[int] = []
        self._looks: deque[float] = deque(maxlen=LATELY)
        self._unpaid = 0.0  # seconds of drafts that came to nothing

    def begin(self, tokens: Sequence[int]) -> None:
        """A prompt was read."""
        self._chat = list(tokens)
        self._unpaid = 0.0

    def extend(self, tokens: Sequence[int]) -> None:
        """The target has chosen these tokens."""
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
        costs = self._costs()
        return self.exit.look * costs.pass_seconds(1, len(self._chat)) if costs else 0.0

    def _saved(self, inputs: int) -> float:
        """Seconds by which a pass of so many tokens is faster, all of which but one the lower layers have seen."""
        costs, depth = self._costs(), len(self._chat)
        if costs is None:
            return 0.0
        return self.exit.lower * (costs.pass_seconds(inputs, depth, rows=1) - costs.pass_seconds(1, depth, rows=1))

    def propose(self, limit: int) -> list[Draft]:
        """What this layer would say next, and after that, at most `limit` tokens. Raises Stopped."""
        unread = self._chat[self.target.size :]  # the newest token, and those before it that are not kept
        if limit < 1 or not unread:
            return []
        started = time.perf_counter()
        tokens, confidence = self._write(unread, limit)
        seconds = self._unpaid + time.perf_counter() - started
        if not tokens:
            self._unpaid = seconds
            return []
        self._unpaid = 0.0
        cost = max(0.0, seconds - self._saved(len(unread) + len(tokens)))
        return [Draft(tokens, self.name, sureness(confidence[0]), confidence, cost)]

    def _write(self, unread: Sequence[int], most: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
        """At most so many tokens and their probabilities; none where the lower layers would end the answer."""
        tokens: list[int] = []
        confidence: list[float] = []
        reach, enough = 1.0, self._one_more
        for token, probability in self._guesses(unread):
            tokens.append(token)
            confidence.append(probability)
            reach *= probability
            if len(tokens) == most or reach < enough:
                break
        return tuple(tokens), tuple(confidence)

    @property
    def _one_more(self) -> float:
        """What one more drafted token costs, in plain steps."""
        costs = self._costs()
        return self.cost / costs.pass_seconds(1, len(self._chat)) if costs else self.exit.look

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


class EarlyExits:
    """Which layer of a loaded model drafts for the model itself, and the drafters made of its layers.

    `best`: the number of layers that is best for this model, None if it is not known; `pays`: do its drafts pay?
    `why_not`: why another library computes the model, though our own graph was asked for."""

    def __init__(
        self,
        target: Runtime,
        shapes: Shapes | None,
        costs: Callable[[], CostModel | None],
        best: int | None = None,
        pays: bool = False,
        why_not: Sentence | None = None,
    ) -> None:
        self.target, self.shapes, self.why_not = target, shapes, why_not
        self.best, self.pays = best, pays
        self._costs = costs
        self._made: dict[tuple[int, type[MidLayer]], MidLayer] = {}

    def drafter(self, layers: int | None, form: type[MidLayer] = MidLayer) -> MidLayer:
        """After so many layers, or the best number of them. Raises Failure where they cannot draft."""
        target = self._can_exit()
        count = layers or self._usual(target.exits)
        most = target.exits[-1]
        if count not in target.exits:
            raise Failure("no_such_layer.of_model", count=count, layers=most + 1, most=most)
        key = count, form
        if key not in self._made:
            self._made[key] = form(target, exit_of(self.shapes, count, most + 1), self._costs)
        return self._made[key]

    def paying(self) -> tuple[MidLayer, ...]:
        """The best layer's drafter, if its drafts were measured to pay."""
        if (
            not self.pays
            or self.best is None
            or not isinstance(self.target, EarlyExitRuntime)
            or self.best not in self.target.exits
        ):
            return ()
        return (self.drafter(self.best),)

    def _usual(self, exits: range) -> int:
        if self.best is not None and self.best in exits:
            return self.best
        return max(1, round(USUAL * (len(exits) + 1)))

    def _can_exit(self) -> EarlyExitRuntime:
        if not isinstance(self.target, EarlyExitRuntime):
            how = self.why_not or Sentence.of("no_early_exit.choose_graph")
            raise Failure("no_early_exit.other_library", how=how)
        if not self.target.exits:
            raise Failure("no_early_exit.whole_heads")
        return self.target


def exit_of(shapes: Shapes | None, layers: int, of: int) -> Exit:
    """By the weights that a token reads in the first `layers` of so many."""
    if shapes is None:
        return Exit(layers, layers / of, layers / of)
    weights = [layer.pass_bytes for layer in shapes.layers]
    lower, head = sum(weights[:layers]), shapes.output.pass_bytes
    return Exit(layers, lower / sum(weights), (lower + head) / (sum(weights) + head))
