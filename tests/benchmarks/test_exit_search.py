"""The best exit layer, computed from what the layers predicted."""

from __future__ import annotations

import pytest

from benchmarks.exit_search import best_gain, candidate_exits, draft_lengths
from engine.costs.cost_model import LAPTOP, Curve
from engine.speculative.mid_layer import Exit

HALF = Exit(2, lower=0.5, look=0.5)


def test_what_steps_draft():
    assert draft_lengths([True] * 6, 2) == [2, 2]
    assert draft_lengths([False] * 3, 2) == [2, 1, 0]
    assert draft_lengths([True, False, True, True, True], 2) == [2, 2]
    assert draft_lengths([], 2) == []


def test_where_passes_of_any_size_cost_the_same_a_layer_that_is_always_right_drafts_far():
    best = best_gain([[True] * 90], HALF, lambda _k: 1.0, look=0.1)
    assert best.ahead == 8
    assert best.speedup == pytest.approx(9 / 1.8)


def test_a_layer_that_is_never_right_costs_what_it_costs():
    best = best_gain([[False] * 100], HALF, lambda _k: 1.0, look=0.6)
    assert best.ahead == 1
    assert best.speedup == pytest.approx(1 / 1.6, rel=0.01)


def test_what_the_lower_layers_have_seen_is_not_paid_twice():
    """Where each token costs a whole pass, drafting costs no more than the output heads and the rejected tokens."""
    best = best_gain([[True] * 100], HALF, lambda k: float(k), look=0.5)
    assert best.speedup == pytest.approx(1, rel=0.01)


def test_bandwidth_favours_drafts():
    answers = [[True, True, False] * 30]
    assert (
        best_gain(answers, HALF, Curve(LAPTOP).at, 0.5).speedup
        > best_gain(answers, HALF, lambda k: 0.7 * k + 0.3, 0.5).speedup
    )


@pytest.mark.parametrize("layers", [2, 3, 12, 30, 80])
def test_layers_that_are_tried(layers):
    tried = candidate_exits(layers)
    assert len(tried) <= 13
    assert tried[0] == max(1, layers // 4)
    assert tried[-1] == layers - 1
