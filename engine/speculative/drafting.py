"""What the decode loop asks for a draft: the drafters of one answer and who chooses. Knows no target."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from engine.costs.cost_model import CostModel
from engine.runtime.interface import Tree
from engine.speculative.draft import Drafter
from engine.speculative.lengths import Costs
from engine.speculative.policy import Decision, DraftPolicy

PATIENCE = 8  # steps without a draft before asking becomes rare
WORTH_ASKING = 0.005  # of a plain step's time that asking may take then, on average
MOST_NAPS = 8  # steps that are not asked about, in a row


class Drafting(Protocol):
    """Called by the decode loop: `begin`, then in each step `choose` and `learn`."""

    @property
    def seconds(self) -> float:
        """Spent so far on proposing and choosing."""

    def begin(self, tokens: Sequence[int], /) -> None:
        """The prompt is read; `tokens` are all that the KV cache holds."""

    def choose(self, newest: Sequence[int], base: int, depth: int, most: int, /) -> Decision:
        """A draft of at most `most` tokens to follow the newest one, in a pass that runs `base` tokens anyway."""

    def learn(self, decision: Decision, came: Sequence[int], /) -> None:
        """The tokens that came of the step."""


class Off:
    """Plain decoding: one token a step."""

    seconds = 0.0

    def begin(self, _tokens: Sequence[int], /) -> None:
        pass

    def choose(self, _newest: Sequence[int], _base: int, _depth: int, _most: int, /) -> Decision:
        return Decision(reason="off")

    def learn(self, _decision: Decision, _came: Sequence[int], /) -> None:
        pass


class _Drafters:
    """Keeps drafters in step with the answer and times them; what is made of their drafts is up to `_decide`."""

    def __init__(self, drafters: Sequence[Drafter], table: CostModel | None) -> None:
        self.drafters = drafters
        self.table = table
        self.seconds = 0.0

    def begin(self, tokens: Sequence[int], /) -> None:
        started = time.perf_counter()
        for drafter in self.drafters:
            drafter.begin(tokens)
        self.seconds += time.perf_counter() - started

    def choose(self, newest: Sequence[int], base: int, depth: int, most: int, /) -> Decision:
        started = time.perf_counter()
        self._extend(newest)
        decision = self._decide(self._costs(base, depth), most)
        self.seconds += time.perf_counter() - started
        return decision

    def learn(self, decision: Decision, came: Sequence[int], /) -> None:
        started = time.perf_counter()
        self._learn(decision, came)
        self._extend(came[:-1])  # the newest one follows with the next step
        self.seconds += time.perf_counter() - started

    def _extend(self, tokens: Sequence[int]) -> None:
        for drafter in self.drafters:
            drafter.extend(tokens)

    def _costs(self, base: int, depth: int) -> Costs:
        """Zeros where nothing was measured."""
        table = self.table
        if table is None:
            return Costs(batch=lambda _k: 0.0, plain=lambda: 0.0, base=base)
        return Costs(
            batch=lambda k: table.pass_seconds(k, depth, rows=k - base + 1),
            plain=lambda: table.pass_seconds(base, depth, rows=1),
            base=base,
        )

    def _decide(self, costs: Costs, most: int) -> Decision:
        raise NotImplementedError

    def _learn(self, decision: Decision, came: Sequence[int]) -> None:
        """Nothing, unless the next choice depends on it."""


class Auto(_Drafters):
    """The chooser is in charge: it verifies what pays by `table`, what passes cost on this machine.

    Asking costs time as well, 0.2 to 0.3 ms a step, which is much beside a small model's step. So where nothing was
    worth drafting for a while it is only asked now and then; what it missed it is told then."""

    def __init__(self, drafters: Sequence[Drafter], chooser: DraftPolicy, table: CostModel) -> None:
        super().__init__(drafters, table)
        self.chooser = chooser
        self._reset()

    def _reset(self) -> None:
        self._asked, self._asking = 0, 0.0  # how often in this answer, and the seconds that took
        self._in_vain = 0  # how often nothing was drafted, since something was
        self._naps = 0  # steps still to come that are not asked about
        self._napping = Decision()
        self._missed: list[Sequence[int]] = []  # the newest token of each such step, and what came of it
        self._came: list[Sequence[int]] = []

    def begin(self, tokens: Sequence[int], /) -> None:
        self._reset()
        self.chooser.begin()
        super().begin(tokens)

    def choose(self, newest: Sequence[int], base: int, depth: int, most: int, /) -> Decision:
        if self._naps:
            self._naps -= 1
            self._missed.append(newest)
            return self._napping
        before = self.seconds
        self._catch_up()
        decision = super().choose(newest, base, depth, most)
        self._asked += 1
        self._asking += self.seconds - before
        self._in_vain = 0 if decision.tokens else self._in_vain + 1
        if self._in_vain >= PATIENCE:
            share = self._asking / self._asked / decision.plain_seconds
            self._naps = min(MOST_NAPS, int(share / WORTH_ASKING))
            self._napping = Decision(
                plain_seconds=decision.plain_seconds, pass_seconds=decision.plain_seconds, reason="not asked"
            )
        return decision

    def _catch_up(self) -> None:
        """Tell drafters and chooser what came in the steps they were not asked about."""
        started = time.perf_counter()
        for newest, came in zip(self._missed, self._came, strict=True):
            self._extend(newest)
            self._learn(self._napping, came)
        self._missed.clear()
        self._came.clear()
        self.seconds += time.perf_counter() - started

    def learn(self, decision: Decision, came: Sequence[int], /) -> None:
        if decision is self._napping:
            self._came.append(came)
        else:
            super().learn(decision, came)

    def _decide(self, costs: Costs, most: int) -> Decision:
        candidates = self.chooser.propose(self.drafters, costs, most) if most > 0 else []
        return self.chooser.choose(candidates, costs)

    def _learn(self, decision: Decision, came: Sequence[int]) -> None:
        self.chooser.learn(decision, came)


class Fixed(_Drafters):
    """Published forms: all that the drafter proposes is verified, as one tree, whatever it costs.

    `table`, if there is one, only estimates what that did to the speed."""

    def __init__(self, drafter: Drafter, table: CostModel | None) -> None:
        super().__init__((drafter,), table)
        self.drafter = drafter

    def _decide(self, costs: Costs, most: int) -> Decision:
        candidates = self.drafter.propose(most) if most > 0 else []
        tree = Tree.merged(candidate.tokens for candidate in candidates).first(max(0, most))
        return Decision(
            tokens=tree.tokens,
            parents=() if tree.is_line else tree.parents,
            drafter=self.drafter.name if tree.size else "",
            plain_seconds=costs.plain(),
            pass_seconds=costs.batch(costs.base + tree.size) if tree.size else costs.plain(),
            drafting_seconds=sum(candidate.cost_seconds for candidate in candidates),
            reason=f"{self.drafter.name}: {tree.size} drafted" if tree.size else "no draft",
            candidates=tuple(candidates),
        )
