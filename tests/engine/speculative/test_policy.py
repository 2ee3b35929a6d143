"""The draft policy against scripted drafts and texts: it drafts what pays, learns, and stays within its budget."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.costs.cost_model import CostModel, Timings
from engine.speculative.draft import Draft
from engine.speculative.policy import (
    INITIAL_LOSS,
    LENGTHS,
    MAX_CARRIED,
    MAX_DRAFTED,
    PROBE_EVERY,
    DraftBudget,
    DraftPolicy,
    StepCosts,
    best_length,
    reach_probabilities,
)
from engine.speculative.prompt_lookup import PromptLookup

FREE = StepCosts(lambda k: 1.0 + 0.01 * k, lambda: 1.0)
DEAR = StepCosts(lambda k: float(k), lambda: 1.0)
STEEP = StepCosts(lambda k: 0.35 + 0.65 * k, lambda: 1.0)
STEP = StepCosts(lambda k: 1.0 if k == 1 else 8.5, lambda: 1.0)


def drafted(tokens: Sequence[int], confidence: float = 0.8, drafter: str = "test", cost: float = 0.0) -> Draft:
    return Draft(tuple(tokens), drafter, (1,), (confidence,) * len(tokens), cost)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=48))
def test_nothing_is_drafted_where_a_pass_costs_as_much_as_its_tokens(confidence: list[float]) -> None:
    draft = Draft(tuple(range(len(confidence))), "test", (), tuple(confidence))
    assert DraftPolicy().choose([draft], DEAR).tokens == ()


def test_all_is_drafted_where_it_is_free_and_none_without_drafts() -> None:
    assert DraftPolicy().choose([drafted(range(20), 0.95)], FREE).tokens == tuple(range(20))
    assert DraftPolicy().choose([], FREE).reason == "no draft"


def test_the_better_draft_wins_in_its_best_length() -> None:
    mixed = Draft((1, 2, 3, 4, 5, 6), "a", (), (0.99, 0.99, 0.99, 0.01, 0.99, 0.99))
    policy = DraftPolicy()
    policy.budget.record_step(20, 10)
    choice = policy.choose([drafted([7, 8, 9], 0.5, "b"), mixed], STEEP)
    assert choice.drafter == "a"
    assert choice.tokens == (1, 2, 3)
    assert choice.expected == pytest.approx(sum(0.99**i for i in (1, 2, 3)))
    assert choice.gain == pytest.approx((1 + choice.expected) / 2.95)


def test_pending_tokens_make_the_base_larger() -> None:
    seen: list[int] = []

    def batch(k: int) -> float:
        seen.append(k)
        return 1.0

    DraftPolicy().choose([drafted([1, 2])], StepCosts(batch, lambda: 1.0, base=5))
    assert set(seen) == {6, 7}


def test_spent_drafting_time_counts_on_both_sides() -> None:
    cheap = DraftPolicy().choose([drafted([1, 2, 3, 4], 0.9)], STEEP)
    spent = DraftPolicy().choose([drafted([1, 2, 3, 4], 0.9, cost=2.0)], STEEP)
    assert cheap.tokens
    assert spent.tokens
    assert spent.gain < 1 < cheap.gain
    assert spent.drafting_seconds == 2.0


def play(
    policy: DraftPolicy, steps: int, costs: StepCosts, draft: Callable[[int], Draft], text: Callable[[int], int]
) -> tuple[float, int]:
    """Return (time, tokens) of an answer whose token i is text(i), drafted by draft(i)."""
    policy.begin()
    at, spent = 0, 0.0
    while at < steps:
        choice = policy.choose([draft(at)], costs)
        accepted = 0
        while accepted < len(choice.tokens) and choice.tokens[accepted] == text(at + accepted):
            accepted += 1
        step_tokens = [text(at + i) for i in range(accepted + 1)]
        policy.learn(choice, step_tokens)
        spent += choice.pass_seconds + choice.drafting_seconds
        at += len(step_tokens)
    return spent, at


def copied(at: int) -> Draft:
    return drafted(range(at, at + 12), 0.6)


def test_it_learns_that_drafts_are_right() -> None:
    policy = DraftPolicy()
    first = play(policy, 300, STEEP, copied, lambda i: i)
    later = play(policy, 300, STEEP, copied, lambda i: i)
    assert later[0] / later[1] < 0.83
    assert later[0] / later[1] <= first[0] / first[1]


def test_it_ends_a_run_that_stops_paying_and_comes_back() -> None:
    policy = DraftPolicy()
    play(policy, 300, STEEP, copied, lambda i: i)
    spent, tokens = play(policy, 300, STEEP, copied, lambda _i: -1)
    assert spent <= tokens * 1.01 + INITIAL_LOSS + MAX_CARRIED + 1e-9
    assert not policy.choose([copied(0)], STEEP).tokens
    spent, tokens = play(policy, 300, STEEP, copied, lambda i: i)
    assert spent < 0.94 * tokens


@pytest.mark.parametrize("costs", [STEEP, DEAR, StepCosts(lambda k: 0.9 + 0.1 * k, lambda: 1.0)])
def test_it_loses_no_more_than_its_budget_when_drafts_look_good_and_are_wrong(costs: StepCosts) -> None:
    policy = DraftPolicy()
    spent = tokens = 0.0
    for _ in range(20):
        some = play(policy, 128, costs, lambda at: drafted(range(at, at + 16), 0.95), lambda _i: -1)
        spent, tokens = spent + some[0], tokens + some[1]
    assert spent <= 1.01 * tokens + INITIAL_LOSS + 1e-9


def test_what_earlier_answers_won_is_staked() -> None:
    def staked(confidence: float, won: int) -> int:
        policy = DraftPolicy()
        policy.budget.record_step(won, 0)
        policy.begin()
        return len(policy.choose([drafted(range(15), confidence)], STEP).tokens)

    assert staked(0.97, won=0) == 0
    assert staked(0.97, won=10) == 15
    policy = DraftPolicy()
    policy.budget.record_step(1000, 0)
    policy.begin()
    assert policy.budget.left == INITIAL_LOSS + MAX_CARRIED  # one long draft, however much was won


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 200)), max_size=30), st.integers(0, 100))
def test_over_all_answers_drafting_never_falls_behind_by_more_than_it_may(
    answers: list[tuple[bool, int]], seed: int
) -> None:
    """Texts come in any order, and drafts that look good are right in some of them and wrong in others."""
    policy, spent, tokens, dice = DraftPolicy(), 0.0, 0, random.Random(seed)
    for right, length in answers:
        confidence = dice.uniform(0.5, 0.999)
        some = play(
            policy,
            length,
            STEEP,
            lambda at, p=confidence: drafted(range(at, at + 16), p),  # type: ignore[misc]
            (lambda i: i) if right else (lambda _i: -1),
        )
        spent, tokens = spent + some[0], tokens + some[1]
        assert spent <= 1.01 * tokens + INITIAL_LOSS + 1e-9


@given(st.integers(0, 1000))
def test_prompt_lookup_on_text_made_to_mislead_stays_within_its_budget(seed: int) -> None:
    """The same phrase comes again and again, each time with another end."""
    dice = random.Random(seed)
    policy, drafter = DraftPolicy(), PromptLookup()
    text = [token for _ in range(60) for token in (1, 2, 3, 4, 5, 6, dice.randrange(10, 500))]
    drafter.begin(text)
    policy.begin()
    spent, tokens = 0.0, 0
    while tokens < 128:
        choice = policy.choose(drafter.propose(16), STEEP)
        step_tokens = [dice.randrange(1, 7)]
        policy.learn(choice, step_tokens)
        drafter.extend(step_tokens)
        spent += choice.pass_seconds
        tokens += 1
    assert spent <= 1.01 * tokens + INITIAL_LOSS + 1e-9


def test_state_round_trips_through_json() -> None:
    policy = DraftPolicy()
    play(policy, 300, STEEP, copied, lambda i: i)
    policy.begin()
    again = DraftPolicy(json.loads(json.dumps(policy.state())))
    assert again.state() == policy.state()
    unseen = copied(5000)  # what is learned about single tokens is not kept
    one, other = policy.choose([unseen], STEEP), again.choose([unseen], STEEP)
    assert one.gain == pytest.approx(other.gain, rel=1e-3)


@pytest.mark.parametrize(
    "state",
    [{"acceptance": 3}, {"acceptance": {"a": [1, 2], "b": "x"}, "budget": "y"}, {"budget": -1e9}, {"budget": 1e9}],
)
def test_a_damaged_state_is_no_state(state: dict[str, object]) -> None:
    policy = DraftPolicy(state)
    assert policy.acceptance.state() == {}
    assert -INITIAL_LOSS <= policy.budget.carried <= MAX_CARRIED


class Costly:
    """A drafter with a model that is always right or always wrong."""

    name = "costly"

    def __init__(self, right: bool, cost: float = 0.1) -> None:
        self.right = right
        self.cost = cost
        self.at = 0
        self.requested_at: list[int] = []
        self.requested_lengths: list[int] = []

    def begin(self, tokens: Sequence[int]) -> None:
        self.at = len(tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        self.at += len(tokens)

    def propose(self, limit: int) -> list[Draft]:
        self.requested_at.append(self.at)
        self.requested_lengths.append(limit)
        tokens = range(self.at, self.at + limit) if self.right else [-1] * limit
        return [drafted(tokens, 0.5, self.name, limit * self.cost)]


def play_costly(drafter: Costly, costs: StepCosts, tokens: int, policy: DraftPolicy | None = None) -> float:
    policy, spent = policy or DraftPolicy(), 0.0
    while drafter.at < tokens:
        choice = policy.choose(policy.propose([drafter], costs, 32), costs)
        step_tokens = [*range(drafter.at, drafter.at + len(choice.tokens) + 1)] if drafter.right else [drafter.at]
        policy.learn(choice, step_tokens)
        drafter.extend(step_tokens)
        spent += choice.pass_seconds + choice.drafting_seconds
    return spent


def test_a_costly_drafter_is_asked_for_much_if_right_and_seldom_if_wrong() -> None:
    right, wrong = Costly(True), Costly(False)
    assert play_costly(right, FREE, 500) < 250
    assert max(right.requested_lengths) > 4
    assert play_costly(wrong, FREE, 2000) < 2000 * 1.02
    assert len(wrong.requested_lengths) < 2000 / PROBE_EVERY + 60
    assert wrong.requested_lengths[-1] == 1


def test_a_drafter_is_probed_more_often_at_first_if_its_tokens_are_cheap() -> None:
    """Were its first drafts wrong by chance, it would not be asked again for long."""
    for cost, first in ((0.29, 7), (0.3, 65)):
        wrong, policy = Costly(False, cost), DraftPolicy()
        policy.budget.record_step(1000, 0)
        play_costly(wrong, STEEP, 600, policy)
        gaps = [after - before for before, after in pairwise(wrong.requested_at)]
        assert wrong.requested_at[0] == 0
        assert gaps[:12] == [first] * len(gaps[:12])
        assert set(gaps[15:]) <= {65}
        assert set(wrong.requested_lengths) == {1}


def test_a_drafter_is_asked_for_no_more_than_there_is_room_for() -> None:
    free, policy = Costly(True, cost=0.0), DraftPolicy()
    for limit in (1000, 5, 0):
        policy.propose([free], STEEP, limit)
    assert free.requested_lengths == [MAX_DRAFTED, 5]


def test_whether_drafts_may_pay_is_learned() -> None:
    for right in (True, False):
        policy = DraftPolicy()
        assert policy.may_pay("costly", 9.0, STEEP)
        play_costly(Costly(right), FREE, 300, policy)
        assert policy.may_pay("costly", 0.1, FREE) == right
        assert not policy.may_pay("costly", 9.0, FREE)
        assert policy.may_pay("another", 9.0, STEEP)


def test_a_choice_tells_its_times_and_what_was_proposed() -> None:
    policy, costs = DraftPolicy(), StepCosts(lambda k: 0.65 * k - 0.95, lambda: 1.0, base=3)
    drafts = [drafted([1, 2, 3], 0.95, "a", cost=0.1), drafted([4], 0.1, "b", cost=0.2)]
    choice = policy.choose(drafts, costs)
    assert (choice.drafter, choice.tokens[:1], choice.proposed) == ("a", (1,), tuple(drafts))
    assert choice.pass_seconds == costs.batch(3 + len(choice.tokens))
    assert choice.plain_seconds == 1.0
    assert choice.drafting_seconds == pytest.approx(0.3)
    assert choice.reason.startswith(f"a: {len(choice.tokens)} drafted")
    refused = policy.choose([drafted([1], 0.1)], DEAR)
    assert (refused.tokens, refused.pass_seconds, refused.plain_seconds) == ((), 1.0, 1.0)
    assert refused.reason.endswith("too little")
    assert refused.gain == pytest.approx(1.1 / 2)
    for learned in (choice, refused):
        policy.learn(learned, [1])
    assert policy.steps == 2


def test_a_step_costs_its_tokens_and_a_row_for_each_drafted_one() -> None:
    model = CostModel(Timings({0: {1: 1.0, 4: 4.0, 8: 8.0}}, 0.5, 512, 600.0))
    costs = StepCosts.by(model, base=3, depth=10)
    assert (costs.base, costs.plain()) == (3, model.pass_seconds(3, 10, rows=1))
    assert costs.batch(7) == model.pass_seconds(7, 10, rows=5) > model.pass_seconds(7, 10, rows=4)
    unknown = StepCosts.by(None, base=2, depth=10)
    assert (unknown.base, unknown.plain(), unknown.batch(9)) == (2, 0.0, 0.0)
    with pytest.raises(ValueError, match="one token at least"):
        replace(costs, base=0)


def test_drafts_are_checked() -> None:
    for wrong in ({"tokens": ()}, {"confidence": (0.5,)}, {"confidence": (1, 2)}, {"cost_seconds": -1.0}):
        with pytest.raises(ValueError, match=r"a draft|confidences"):
            Draft(**({"tokens": (1, 2), "drafter": "x", "evidence": (), "confidence": (0.5, 0.5)} | wrong))


def test_an_adversary_who_deviates_at_every_draft_costs_the_budget() -> None:
    dice = random.Random(7)
    source = [dice.randrange(10, 5000) for _ in range(800)]
    policy, drafter = DraftPolicy(), PromptLookup()
    drafter.begin(source)
    policy.begin()
    at, spent = 300, 0.0
    drafter.extend([source[at]])
    for _ in range(128):
        drafts = [replace(draft, cost_seconds=0.0) for draft in drafter.propose(47)]
        choice = policy.choose(drafts, STEEP)
        at = dice.randrange(600) if choice.tokens else at + 1
        step_tokens = [9000 + at] if choice.tokens else [source[at]]
        policy.learn(choice, step_tokens)
        drafter.extend(step_tokens)
        spent += choice.pass_seconds
    assert 128 < spent < 128 * 1.01 + INITIAL_LOSS + 1e-9


# --- the length of a draft, compared with trying all ways to continue along it ---


HALF = StepCosts(lambda k: 0.5 + 0.5 * k, lambda: 1.0)
all_rates = st.lists(st.floats(0.3, 1), min_size=1, max_size=MAX_DRAFTED)


def rich() -> DraftBudget:
    budget = DraftBudget()
    budget.record_step(1000, 0)
    return budget


def brute_force(rates: list[float], costs: StepCosts, first: int) -> float:
    """Return the steps saved on average by a draft of `first` tokens and then the best lengths while the line holds."""
    chances = rates[: len(reach_probabilities(rates)) - 1]

    @cache
    def best(at: int) -> float:
        return max((after(at, n) for n in (0, *LENGTHS) if at + n <= len(chances)), default=0.0)

    def after(at: int, count: int) -> float:
        right, accepted = 1.0, 0.0
        for chance in chances[at : at + count]:
            right *= chance
            accepted += right
        own = at + count  # the target's own token may be the line's next one
        more = right * chances[own] * best(own + 1) if own < len(chances) else 0.0
        return accepted - (costs.batch(1 + count) - 1) + more

    return after(0, first)


@given(all_rates, st.sampled_from([STEEP, HALF]))
@example([0.99] * 8 + [0.3] + [0.99] * 7, HALF)  # a plain step in front of the doubtful token
def test_it_saves_what_trying_all_ways_finds(rates: list[float], costs: StepCosts) -> None:
    chosen = best_length(rates, costs, rich())
    sizes = [n for n in (*LENGTHS, len(rates)) if n < len(reach_probabilities(rates))]
    if not sizes:
        assert chosen.length == 0
        return
    waiting = brute_force(rates, costs, 0)
    saved = {n: brute_force(rates, costs, n) - waiting for n in sizes}
    assert chosen.saved == pytest.approx(saved[chosen.length])
    assert chosen.pays == (chosen.gain > 1 and chosen.saved > 0)
    if chosen.pays:
        assert chosen.gain == pytest.approx((1 + chosen.expected) / costs.batch(1 + chosen.length))
        assert chosen.saved == pytest.approx(max(saved.values()))


@given(all_rates)
def test_nothing_pays_where_a_pass_costs_as_much_as_its_tokens(rates: list[float]) -> None:
    assert not best_length(rates, StepCosts(float, lambda: 1.0), rich()).pays


def test_tokens_that_are_hardly_ever_reached_are_not_considered() -> None:
    assert reach_probabilities([0.5] * 9) == [0.5**n for n in range(7)]
    assert reach_probabilities([0.01, 0.9]) == [1.0, 0.01]


def test_what_the_budget_forbids_is_not_taken() -> None:
    rates = [0.97] * 15
    assert best_length(rates, HALF, rich()).length > 3
    short = best_length(rates, HALF, DraftBudget())
    assert 0 < HALF.batch(1 + short.length) - 1 <= DraftBudget().left
    broke = DraftBudget()
    broke.record_step(0, 10)
    assert best_length(rates, HALF, broke).gain == 0


def test_a_short_draft_may_be_followed_by_the_next_one() -> None:
    """A pass of 16 tokens costs twice as much as one of 8, and the draft is wrong in its middle every fourth time."""
    costs = StepCosts(lambda k: {1: 1.0, 8: 3.7, 16: 7.4}.get(k, 20.0), lambda: 1.0)
    rates = [0.99] * 7 + [0.75] + [0.99] * 7
    assert best_length(rates, costs, rich()).length == 7


def test_a_draft_that_costs_time_is_shorter() -> None:
    rates = [0.9] * 31
    assert 0 < best_length(rates, STEEP, rich(), drafting=0.2).length < best_length(rates, STEEP, rich()).length


def test_a_plain_answer_lets_the_next_one_lose_its_share() -> None:
    """A hundredth of 80 plain tokens is carried over, so that an answer after many has more to try with."""
    budget = DraftBudget()
    for _ in range(80):
        budget.record_step(1, 1)
    budget.begin()
    assert budget.carried == pytest.approx(0.8)
    assert budget.left == pytest.approx(INITIAL_LOSS + 0.8)


def test_a_costly_drafter_is_not_probed_with_time_that_is_not_left() -> None:
    """A probe that would cost three steps waits until plain steps have earned them, however long ago the last was."""
    policy, drafter = DraftPolicy(), Costly(right=False, cost=3.0)
    costs = StepCosts(lambda k: 0.5 + 0.5 * k, lambda: 1.0)
    policy.begin()
    assert policy.tokens_to_request(drafter, costs) == 0
    policy.budget.record_step(100, 99)
    assert policy.budget.left == pytest.approx(3.25)  # a probe costs 3.5 steps more than none
    assert policy.tokens_to_request(drafter, costs) == 0
    policy.budget.record_step(1, 0.7)
    assert policy.tokens_to_request(drafter, costs) == 1
