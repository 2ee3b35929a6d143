"""What the decode loop asks for a draft, who decides, and what came of it, counted for an answer's statistics."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.costs.cost_model import CostModel
from engine.protocol import DrafterStatistics
from engine.runtime.interface import Tree
from engine.speculative.draft import Drafter
from engine.speculative.policy import Costs, DraftChoice, DraftPolicy

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

    def choose(self, newest: Sequence[int], base: int, depth: int, most: int, /) -> DraftChoice:
        """A draft of at most `most` tokens to follow the newest one, in a pass that runs `base` tokens anyway."""

    def learn(self, choice: DraftChoice, came: Sequence[int], /) -> None:
        """The tokens that came of the step."""


class Off:
    """Plain decoding: one token a step."""

    seconds = 0.0

    def begin(self, _tokens: Sequence[int], /) -> None:
        """Nothing to do."""

    def choose(self, _newest: Sequence[int], _base: int, _depth: int, _most: int, /) -> DraftChoice:
        """No draft."""
        return DraftChoice(reason="off")

    def learn(self, _choice: DraftChoice, _came: Sequence[int], /) -> None:
        """Nothing to do."""


class _Drafters:
    """Keeps drafters in step with the answer and times them; what is made of their drafts is up to `_decide`."""

    def __init__(self, drafters: Sequence[Drafter], costs: CostModel | None) -> None:
        self.drafters = drafters
        self.cost_model = costs
        self.seconds = 0.0

    def begin(self, tokens: Sequence[int], /) -> None:
        started = time.perf_counter()
        for drafter in self.drafters:
            drafter.begin(tokens)
        self.seconds += time.perf_counter() - started

    def choose(self, newest: Sequence[int], base: int, depth: int, most: int, /) -> DraftChoice:
        started = time.perf_counter()
        self._extend(newest)
        choice = self._decide(self._costs(base, depth), most)
        self.seconds += time.perf_counter() - started
        return choice

    def learn(self, choice: DraftChoice, came: Sequence[int], /) -> None:
        started = time.perf_counter()
        self._learn(choice, came)
        self._extend(came[:-1])  # the newest one follows with the next step
        self.seconds += time.perf_counter() - started

    def _extend(self, tokens: Sequence[int]) -> None:
        for drafter in self.drafters:
            drafter.extend(tokens)

    def _costs(self, base: int, depth: int) -> Costs:
        """Zeros where nothing was measured."""
        model = self.cost_model
        if model is None:
            return Costs(batch=lambda _k: 0.0, plain=lambda: 0.0, base=base)
        return Costs(
            batch=lambda k: model.pass_seconds(k, depth, rows=k - base + 1),
            plain=lambda: model.pass_seconds(base, depth, rows=1),
            base=base,
        )

    def _decide(self, costs: Costs, most: int) -> DraftChoice:
        raise NotImplementedError

    def _learn(self, choice: DraftChoice, came: Sequence[int]) -> None:
        """Nothing, unless the next choice depends on it."""


class Auto(_Drafters):
    """The policy is in charge: it verifies what pays by the measured `costs`.

    Asking costs time as well, 0.2 to 0.3 ms a step, which is much beside a small model's step. So where nothing was
    worth drafting for a while it is only asked now and then; what it missed it is told then."""

    def __init__(self, drafters: Sequence[Drafter], policy: DraftPolicy, costs: CostModel) -> None:
        super().__init__(drafters, costs)
        self.policy = policy
        self._reset()

    def _reset(self) -> None:
        self._asked, self._asking = 0, 0.0  # how often in this answer, and the seconds that took
        self._in_vain = 0  # how often nothing was drafted, since something was
        self._naps = 0  # steps still to come that are not asked about
        self._napping = DraftChoice()
        self._missed: list[Sequence[int]] = []  # the newest token of each such step, and what came of it
        self._came: list[Sequence[int]] = []

    def begin(self, tokens: Sequence[int], /) -> None:
        """See `Drafting`."""
        self._reset()
        self.policy.begin()
        super().begin(tokens)

    def choose(self, newest: Sequence[int], base: int, depth: int, most: int, /) -> DraftChoice:
        """See `Drafting`; without asking anybody for some steps after many in vain."""
        if self._naps:
            self._naps -= 1
            self._missed.append(newest)
            return self._napping
        before = self.seconds
        self._catch_up()
        choice = super().choose(newest, base, depth, most)
        self._asked += 1
        self._asking += self.seconds - before
        self._in_vain = 0 if choice.tokens else self._in_vain + 1
        if self._in_vain >= PATIENCE:
            share = self._asking / self._asked / choice.plain_seconds
            self._naps = min(MOST_NAPS, int(share / WORTH_ASKING))
            self._napping = DraftChoice(
                plain_seconds=choice.plain_seconds, pass_seconds=choice.plain_seconds, reason="not asked"
            )
        return choice

    def _catch_up(self) -> None:
        """Tell drafters and policy what came in the steps they were not asked about."""
        started = time.perf_counter()
        for newest, came in zip(self._missed, self._came, strict=True):
            self._extend(newest)
            self._learn(self._napping, came)
        self._missed.clear()
        self._came.clear()
        self.seconds += time.perf_counter() - started

    def learn(self, choice: DraftChoice, came: Sequence[int], /) -> None:
        """See `Drafting`."""
        if choice is self._napping:
            self._came.append(came)
        else:
            super().learn(choice, came)

    def _decide(self, costs: Costs, most: int) -> DraftChoice:
        drafts = self.policy.propose(self.drafters, costs, most) if most > 0 else []
        return self.policy.choose(drafts, costs)

    def _learn(self, choice: DraftChoice, came: Sequence[int]) -> None:
        self.policy.learn(choice, came)


class Fixed(_Drafters):
    """Published forms: all that the drafter proposes is verified, as one tree, whatever it costs.

    `costs`, if there are any, only estimates what that did to the speed."""

    def __init__(self, drafter: Drafter, costs: CostModel | None) -> None:
        super().__init__((drafter,), costs)
        self.drafter = drafter

    def _decide(self, costs: Costs, most: int) -> DraftChoice:
        drafts = self.drafter.propose(most) if most > 0 else []
        tree = Tree.merged(draft.tokens for draft in drafts).first(max(0, most))
        return DraftChoice(
            tokens=tree.tokens,
            parents=() if tree.is_line else tree.parents,
            drafter=self.drafter.name if tree.size else "",
            plain_seconds=costs.plain(),
            pass_seconds=costs.batch(costs.base + tree.size) if tree.size else costs.plain(),
            drafting_seconds=sum(draft.cost_seconds for draft in drafts),
            reason=f"{self.drafter.name}: {tree.size} drafted" if tree.size else "no draft",
            proposed=tuple(drafts),
        )


@dataclass(slots=True)
class DrafterCounts:
    """Of one drafter, in tokens."""

    proposed: int = 0
    drafted: int = 0
    accepted: int = 0
    drafting_seconds: float = 0.0


class Tally:
    """What drafting did for one answer, counted pass by pass.

    `verifying_seconds`: real time of the passes with a draft."""

    def __init__(self) -> None:
        self.verifying_seconds = 0.0
        self._counts: dict[str, DrafterCounts] = {}
        self._plain_seconds = 0.0  # that the tokens which came would have taken without drafts
        self._steps_seconds = 0.0  # that the steps took, by the same costs

    def add(self, choice: DraftChoice, accepted: int, seconds: float) -> None:
        """A pass of `seconds` with this draft, of which so many tokens were accepted."""
        for draft in choice.proposed:
            counts = self._of(draft.drafter)
            counts.proposed += len(draft.tokens)
            counts.drafting_seconds += draft.cost_seconds
        if choice.tokens:
            self._of(choice.drafter).drafted += len(choice.tokens)
            self._of(choice.drafter).accepted += accepted
            self.verifying_seconds += seconds
        self._plain_seconds += (1 + accepted) * choice.plain_seconds
        self._steps_seconds += choice.pass_seconds + choice.drafting_seconds

    def _of(self, drafter: str) -> DrafterCounts:
        return self._counts.setdefault(drafter, DrafterCounts())

    @property
    def estimated_speedup(self) -> float:
        """Against plain decoding; 1 where it is not known what passes cost."""
        return self._plain_seconds / self._steps_seconds if self._plain_seconds else 1.0

    @property
    def drafted(self) -> int:
        """Tokens that were verified."""
        return sum(counts.drafted for counts in self._counts.values())

    @property
    def accepted(self) -> int:
        """Tokens that the target chose too."""
        return sum(counts.accepted for counts in self._counts.values())

    @property
    def drafters(self) -> tuple[DrafterStatistics, ...]:
        """Those that proposed anything."""
        return tuple(
            DrafterStatistics(name, counts.proposed, counts.drafted, counts.accepted, counts.drafting_seconds)
            for name, counts in self._counts.items()
        )
