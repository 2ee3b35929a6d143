"""How much of a draft is verified, against trying all ways to go on along it."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.speculative.policy import LENGTHS, MOST_DRAFTED, Budget, Costs, best_length, reached

STEEP = Costs(lambda k: 0.35 + 0.65 * k, lambda: 1.0)
HALF = Costs(lambda k: 0.5 + 0.5 * k, lambda: 1.0)
all_rates = st.lists(st.floats(0.3, 1), min_size=1, max_size=MOST_DRAFTED)


def rich() -> Budget:
    budget = Budget()
    budget.book(1000, 0)
    return budget


def brute_force(rates: list[float], costs: Costs, first: int) -> float:
    """Steps that are saved on average: `first` tokens now, and then the best lengths as long as the line holds."""
    chances = rates[: len(reached(rates)) - 1]

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
def test_it_saves_what_trying_all_ways_finds(rates: list[float], costs: Costs) -> None:
    found = best_length(rates, costs, rich())
    sizes = [n for n in (*LENGTHS, len(rates)) if n < len(reached(rates))]
    if not sizes:
        assert found.length == 0
        return
    waiting = brute_force(rates, costs, 0)
    saved = {n: brute_force(rates, costs, n) - waiting for n in sizes}
    assert found.saved == pytest.approx(saved[found.length])
    assert found.pays == (found.gain > 1 and found.saved > 0)
    if found.pays:
        assert found.gain == pytest.approx((1 + found.expected) / costs.batch(1 + found.length))
        assert found.saved == pytest.approx(max(saved.values()))


@given(all_rates)
def test_nothing_pays_where_a_pass_costs_as_much_as_its_tokens(rates: list[float]) -> None:
    assert not best_length(rates, Costs(float, lambda: 1.0), rich()).pays


def test_what_the_budget_forbids_is_not_taken() -> None:
    rates = [0.97] * 15
    assert best_length(rates, HALF, rich()).length > 3
    short = best_length(rates, HALF, Budget())
    assert 0 < HALF.batch(1 + short.length) - 1 <= Budget().left
    broke = Budget()
    broke.book(0, 10)
    assert best_length(rates, HALF, broke).gain == 0


def test_a_short_draft_may_be_followed_by_the_next_one() -> None:
    """A pass of 16 tokens costs twice one of 8, and the draft goes wrong in its middle every fourth time."""
    costs = Costs(lambda k: {1: 1.0, 8: 3.7, 16: 7.4}.get(k, 20.0), lambda: 1.0)
    rates = [0.99] * 7 + [0.75] + [0.99] * 7
    assert best_length(rates, costs, rich()).length == 7


def test_a_draft_that_costs_time_is_shorter() -> None:
    rates = [0.9] * 31
    assert 0 < best_length(rates, STEEP, rich(), drafting=0.2).length < best_length(rates, STEEP, rich()).length
