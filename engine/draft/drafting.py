"""What the decode loop asks for a draft: drafters, chooser and costs of one answer, together. Knows no target."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

from engine.costs import CostTable
from engine.draft.chooser import Chooser, Costs, Decision
from engine.draft.drafter import Drafter


class Drafting(Protocol):
    """Called by the decode loop: `begin`, then in each step `choose` and `learn`."""

    def begin(self, tokens: Sequence[int], /) -> None:
        """The prompt is read; `tokens` are all that the KV cache holds."""

    def choose(self, newest: Sequence[int], base: int, depth: int, most: int, /) -> Decision:
        """A draft of at most `most` tokens to follow the newest one, in a pass that runs `base` tokens anyway."""

    def learn(self, decision: Decision, came: Sequence[int], /) -> None:
        """The tokens that came of the step."""


class Off:
    """Plain decoding: one token a step."""

    def begin(self, _tokens: Sequence[int], /) -> None:
        pass

    def choose(self, _newest: Sequence[int], _base: int, _depth: int, _most: int, /) -> Decision:
        return Decision(reason="off")

    def learn(self, _decision: Decision, _came: Sequence[int], /) -> None:
        pass


class Auto:
    """Every drafter there is, and the chooser in charge. `table`: what passes cost on this machine."""

    def __init__(self, drafters: Sequence[Drafter], chooser: Chooser, table: CostTable) -> None:
        self.drafters = drafters
        self.chooser = chooser
        self.table = table
        self.seconds = 0.0  # spent on proposing and choosing

    def begin(self, tokens: Sequence[int], /) -> None:
        self.chooser.begin()
        for drafter in self.drafters:
            drafter.begin(tokens)

    def choose(self, newest: Sequence[int], base: int, depth: int, most: int, /) -> Decision:
        started = time.perf_counter()
        for drafter in self.drafters:
            drafter.extend(newest)
        costs = Costs(
            batch=lambda k: self.table.pass_seconds(k, depth, rows=k - base + 1),
            plain=lambda: self.table.pass_seconds(base, depth, rows=1),
            base=base,
        )
        candidates = self.chooser.propose(self.drafters, costs, most) if most > 0 else []
        decision = self.chooser.choose(candidates, costs)
        self.seconds += time.perf_counter() - started
        return decision

    def learn(self, decision: Decision, came: Sequence[int], /) -> None:
        started = time.perf_counter()
        self.chooser.learn(decision, came)
        for drafter in self.drafters:
            drafter.extend(came[:-1])  # the newest one follows with the next step
        self.seconds += time.perf_counter() - started
