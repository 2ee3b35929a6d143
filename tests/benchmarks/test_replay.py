"""Recorded answers replayed at the costs of other machines, and what their steps were."""

from __future__ import annotations

import pytest

from benchmarks.prior import multiplied
from benchmarks.replay import OUTCOMES, Machine, Steps, all_tables, simulated_costs, steps_by_outcome
from benchmarks.trace import Trace
from engine.costs.cost_model import Timings
from engine.speculative.draft import Draft
from engine.speculative.policy import DraftPolicy


def test_more_threads_make_passes_of_several_tokens_cheaper_until_memory_limits_them():
    tables = simulated_costs()
    for kind in ("ik-avx2", "ik-avx512_vnni", "llama-avx2", "llama-avx512_vnni"):
        eight = [tables[f"{kind}-{threads}"][8] for threads in (1, 2, 4, 8, 16)]
        assert eight == sorted(eight, reverse=True)
        assert eight[0] > eight[-1] >= 1
    assert {"laptop", "ik-avx2-4"} <= set(all_tables())


def test_each_step_is_counted_by_what_became_of_its_draft():
    answer = [1, 2, 3, 4, 5, 6]
    trace = Trace("any", False, [0], answer, ended=False)
    right = Draft((2, 3), "history", (), (0.99, 0.99))
    wrong = Draft((9,), "history", (), (0.99,))
    found = {each: Steps() for each in OUTCOMES}
    steps_by_outcome(DraftPolicy(), trace, [[right], [], [], [wrong], [], []], Machine({1: 1, 8: 1.1}, 0.0), found)
    assert {name: (steps.count, steps.tokens) for name, steps in found.items()} == {
        "no draft": (1, 1), "wrong": (1, 1), "partly right": (0, 0), "right": (1, 3),
    }  # fmt: skip
    assert found["no draft"].cost == 1
    assert found["wrong"].mean(found["wrong"].cost) == pytest.approx(1 + 0.1 / 7)


def test_derived_timings_are_the_others_times_the_ratios():
    timings = Timings({16: {1: 1.0, 2: 2.0, 4: 3.0}, 256: {1: 1.5, 2: 2.5, 4: 3.5}}, 0.0, 128, 60.0)
    found = multiplied(timings, {1: 2.0, 4: 0.5})
    assert found.pass_seconds[16] == pytest.approx({1: 2.0, 2: 3.0, 4: 1.5})
    assert found.pass_seconds[256] == pytest.approx({1: 2.5, 2: 3.5, 4: 2.0})
    assert found.large_seconds == 30.0
