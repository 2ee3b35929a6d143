"""How many threads save power: few where they read the memory about as fast."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from engine.costs.cost_model import CostModel, Timings, timings_with_threads
from engine.costs.threads import ThreadCost, fewer_threads, power_saving_counts
from engine.runtime.contexts import PROMPT_PASS, ThreadCounts

FOUR = ThreadCounts(4, 4)


def costs(decode: Mapping[int, float], prompt: Mapping[int, float] | None = None) -> tuple[ThreadCost, ...]:
    """Return costs by threads, given in milliseconds."""
    kinds = ((1, decode), (PROMPT_PASS, prompt or {}))
    return tuple(ThreadCost(tokens, threads, ms / 1000) for tokens, times in kinds for threads, ms in times.items())


def test_the_fewest_threads_within_a_tenth_of_the_best_speed_decode():
    assert power_saving_counts(costs({1: 90, 2: 54, 3: 50, 4: 50}), FOUR) == ThreadCounts(2, 4)
    assert power_saving_counts(costs({1: 52, 2: 50, 3: 50, 4: 51}), FOUR) == ThreadCounts(1, 4)
    assert power_saving_counts(costs({1: 200, 2: 100, 3: 70, 4: 55}), FOUR) == FOUR


def test_prompts_keep_the_usual_number():
    assert power_saving_counts(costs({4: 50}, {2: 100, 3: 100, 4: 100}), FOUR) == FOUR


def test_nothing_is_chosen_without_measurements_and_never_more_threads_than_usual():
    assert power_saving_counts((), FOUR) == FOUR
    assert power_saving_counts(costs({2: 10, 3: 10}), FOUR) == FOUR  # the usual number itself was disturbed
    assert power_saving_counts(costs({4: 50, 8: 30}), FOUR) == FOUR


@pytest.mark.parametrize(("usual", "fewer"), [(1, []), (2, [1]), (4, [1, 2, 3]), (6, [2, 3, 4]), (16, [4, 8, 12])])
def test_numbers_worth_timing(usual: int, fewer: list[int]):
    assert fewer_threads(usual) == fewer


def test_passes_with_fewer_threads_are_estimated_from_two_that_were_timed():
    passes = {1: 0.050, 8: 0.080, 48: 0.300}
    known = costs({2: 55, 4: 50}, {2: 350, 4: 200})
    timings = Timings({16: passes, 256: {k: s + 0.004 for k, s in passes.items()}}, 0.001, 512, 3.0, False, 4, 4, known)
    fewer = timings_with_threads(timings, 2)
    assert fewer
    model = CostModel(fewer)
    assert model.pass_seconds(1, 16) == pytest.approx(0.055)
    assert model.pass_seconds(8, 16) == pytest.approx(0.055 + 0.030 * (295 / 150))
    assert model.pass_seconds(48, 16) == pytest.approx(0.300)  # a prompt's, which keeps its threads
    assert (fewer.large_seconds, fewer.decode_threads, fewer.prompt_threads) == (3.0, 2, 4)
    assert timings_with_threads(timings, 3) is None
