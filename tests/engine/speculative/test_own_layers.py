"""Drafting with a model's own layers, by layers that are right about a known share of the tokens."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence

import pytest

from engine.costs.cost_model import CostModel, Timings
from engine.generation.decode import decode
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import Session
from engine.runtime.interface import PredictingRuntime, RowLogits
from engine.speculative.draft import sureness
from engine.speculative.drafting import Auto, Tally
from engine.speculative.own_layers import MOST_TOKENS, OwnLayers
from engine.speculative.policy import DraftPolicy
from engine.speculative.prompt_lookup import PromptLookup
from tests.engine.fake_runtime import END, FakeRuntime, greedy, letters

PROMPT = list(b"the small bird sang. the small bird ")
STEP = 0.1  # plain steps that a predicted token takes


class Clock:
    """Seconds that pass only where the fake runtimes say so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "perf_counter", clock)
    return clock


class Foretelling(FakeRuntime):
    """A fake runtime whose own layers are right with the probability `right`, and say so."""

    def __init__(self, right: float, clock: Clock | None = None, n_ctx: int = 4096) -> None:
        super().__init__(letters, n_ctx)
        self.right, self.clock, self.dice = right, clock or Clock(), random.Random(1)
        self.own_layers, self.can_predict, self.unread, self.reads_along = True, True, 0, False
        self.predicted: list[int] = []

    @property
    def sure(self) -> float:
        return math.log(self.right / (1 - self.right) * END)

    def read_along(self, on: bool) -> None:
        self.reads_along = on

    def predict(self, tokens: Sequence[int]) -> RowLogits:
        self.clock.now += STEP
        self.predicted.append(len(tokens))
        token = letters([*self.cache, *tokens])
        return self.logits_of([token if self.dice.random() < self.right else 97 + (token - 96) % 26])


def costs(second: float) -> CostModel:
    """Return costs at which each further token of a pass takes `second` times as long as the first one."""
    return CostModel(Timings({0: {k: 1 + second * (k - 1) for k in (1, 2, 3, 8, 48)}}, 0.0, 512, 512 * second))


def drafter(runtime: Foretelling, model: CostModel | None = None) -> OwnLayers:
    assert isinstance(runtime, PredictingRuntime)
    own = OwnLayers(runtime, lambda: model)
    own.warm_up()
    return own


def run(runtime: Foretelling, drafting: Auto | None, tokens: int = 1200) -> tuple[list[int], Tally]:
    session = Session(runtime)
    list(session.prefill(PROMPT))
    tally, written = Tally(), list[int]()
    for step in decode(session, greedy(), PartialFixed(AlwaysPolicy(), 64), tokens, drafting):
        written.extend(step.tokens)
        if step.source:
            tally.add(step.source.draft, step.source.accepted, step.source.seconds)
    return written, tally


@pytest.mark.parametrize(
    ("right", "second", "pays"),
    [(0.9, 0.5, True), (0.7, 0.1, True), (0.3, 0.5, False), (0.05, 0.1, False), (0.7, 0.9, False)],
)
def test_the_layers_draft_where_it_pays_and_nowhere_else(clock, right, second, pays):
    runtime, model = Foretelling(right, clock), costs(second)
    policy = DraftPolicy()
    own = drafter(runtime, model)
    own.read_along(model, policy)
    assert runtime.reads_along  # nothing is known yet
    written, tally = run(runtime, Auto((own,), policy, model))
    assert written == run(Foretelling(right), None)[0]
    assert (tally.estimated_speedup > 1.1) == pays
    assert tally.estimated_speedup > 0.98
    assert (tally.drafted > len(written) / 4) == pays
    own.read_along(model, policy)
    assert runtime.reads_along == pays


def test_copies_win_over_the_layers_where_they_match(clock):
    runtime, model = Foretelling(0.6, clock), costs(0.05)
    runtime.choose = lambda tokens: PROMPT[len(tokens) % 21]
    auto = Auto((PromptLookup(), drafter(runtime, model)), DraftPolicy(), model)
    _, tally = run(runtime, auto, 400)
    drafted = {each.name: each.drafted for each in tally.drafters}
    assert drafted["history"] > 3 * drafted.get("mtp", 0)


@pytest.mark.parametrize(("right", "length"), [(0.9, 2), (0.05, 1)])
def test_it_drafts_few_tokens_and_stops_when_another_one_cannot_pay(clock, right, length):
    runtime = Foretelling(right, clock)
    own = drafter(runtime, costs(0.5))
    runtime.forward(PROMPT)
    own.begin(PROMPT)
    own.extend([letters(PROMPT)])
    (proposed,) = own.propose(9)
    assert len(proposed.tokens) == length <= MOST_TOKENS
    assert proposed.evidence == sureness(right)
    assert proposed.cost_seconds == pytest.approx(length * STEP)
    assert len(own.propose(1)[0].tokens) == 1
    assert own.propose(0) == []


def test_it_costs_what_steps_took_and_what_must_be_read_first(clock):
    runtime = Foretelling(0.9, clock)
    own = drafter(runtime, costs(0.5))
    assert own.cost == math.inf  # there is no chat yet
    runtime.forward(PROMPT)
    own.begin(PROMPT)
    own.extend([97])
    assert own.cost == pytest.approx(STEP)
    runtime.unread = MOST_TOKENS
    assert own.cost == pytest.approx(STEP)
    runtime.unread = 40
    assert own.cost > 5 * STEP


@pytest.mark.parametrize("lacks", ["can_predict", "own_layers"])
def test_nothing_is_drafted_while_the_layers_do_not_know_the_chat(clock, lacks):
    runtime = Foretelling(0.9, clock)
    own = drafter(runtime)
    runtime.forward(PROMPT)
    own.begin(PROMPT)
    own.extend([97])
    setattr(runtime, lacks, False)
    assert own.propose(2) == []
    assert own.cost == math.inf


def test_nothing_is_drafted_behind_tokens_that_are_not_cached(clock):
    runtime = Foretelling(0.9, clock)
    own = drafter(runtime)
    runtime.forward(PROMPT)
    own.begin([*PROMPT, 97])  # a pending token
    own.extend([98])
    assert own.propose(2) == []


def test_drafts_end_with_the_context(clock):
    runtime = Foretelling(0.9, clock, n_ctx=len(PROMPT) + 1)
    own = drafter(runtime)
    runtime.forward(PROMPT)
    own.begin(PROMPT)
    own.extend([97])
    assert len(own.propose(2)[0].tokens) == 1
