"""The published formulas, computed by hand, and a cost model that ignores noise and follows lasting changes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.costs.cost_model import (
    FORGET_AFTER,
    KS,
    WINDOW,
    CostModel,
    Curve,
    Drift,
    Timings,
    nt,
    roofline_seconds,
    td,
    tl,
)
from engine.costs.profile import Profile
from models.shapes import Layer, Shapes

GIB = 1 << 30


def profile(bandwidth: float = 50e9, flops: float = 200e9) -> Profile:
    return Profile(
        ram_total_bytes=8 * GIB,
        ram_available_bytes=4 * GIB,
        read_bandwidth_bytes_per_s=bandwidth,
        flops_f32_per_s=flops,
        disk_read_bytes_per_s=1e9,
        disk_write_bytes_per_s=1e9,
        physical_cores=2,
        performance_cores=2,
        logical_cores=2,
        threads=2,
        cpu="Wren",
        last_level_cache_bytes=1 << 25,
        read_bandwidth_by_threads={2: bandwidth},
        measured_at="2026-01-01T00:00:00+00:00",
        measuring_seconds=1.0,
    )


def shapes(window: int | None = None) -> Shapes:
    """Build two layers of a million 2-byte weights, the second with a window; both store 2 heads of 64."""
    full = Layer(2, 64, 64, None, flops=2_000_000, pass_bytes=2_000_000)
    output = Layer(0, 0, 0, None, flops=1_000_000, pass_bytes=1_000_000)
    layers = (full, dataclasses.replace(full, window=window))
    return Shapes(layers, output, 512, 8, 1024, 1000, 1, 1, weight_bytes=5_000_000)


def test_nt_with_two_byte_weights_is_peak_over_bandwidth():
    assert nt(profile(), shapes()) == pytest.approx(200e9 / 50e9)


def test_tl():
    # 2 · d · l · b · n / bandwidth with d = 2 heads × 64, l = 2 layers, b = 2 bytes, n = 1000 tokens
    assert tl(profile(), shapes(), 1000) == pytest.approx(2 * 128 * 2 * 2 * 1000 / 50e9)
    assert tl(profile(), shapes(window=100), 1000) == pytest.approx(2 * 128 * 2 * (1000 + 100) / 50e9)
    assert tl(profile(), shapes(), 1000, "q8_0") == pytest.approx(2 * 128 * 2 * 1000 * 34 / 32 / 50e9)
    assert tl(profile(), shapes(), 0) == 0


def test_td_and_roofline():
    assert td(profile(), shapes(), 3) == pytest.approx(3 * 5_000_000 / 200e9)
    assert roofline_seconds(profile(), 5_000_000) == pytest.approx(1e-4)


def linear_timings(one: float = 0.025, each: float = 0.015, rise: float = 1e-5, row: float = 0.002) -> Timings:
    """Build timings in which each token after the first costs the same, and each cached token a little."""
    low = {k: one + each * (k - 1) for k in KS}
    high = {k: s + k * rise * 240 for k, s in low.items()}
    return Timings({16: low, 256: high}, row, 240, one + each * 239 - 239 * row)


def test_timed_passes_are_found_again():
    timings = linear_timings()
    table = CostModel(timings)
    for depth, times in timings.pass_seconds.items():
        for k, seconds in times.items():
            assert table.pass_seconds(k, depth) == pytest.approx(seconds)
    assert table.pass_seconds(240, 16, rows=1) == pytest.approx(timings.large_seconds)


def test_between_and_beyond():
    table = CostModel(linear_timings())
    assert table.pass_seconds(5, 16) == pytest.approx(0.025 + 4 * 0.015)
    assert table.pass_seconds(1, 136) == pytest.approx(0.025 + 120e-5)
    assert table.pass_seconds(1, 4096) == pytest.approx(0.025 + 4080e-5)
    assert table.pass_seconds(480, 16) == pytest.approx(2 * table.pass_seconds(240, 16))
    assert table.pass_seconds(4, 0) == table.pass_seconds(4, 16)
    assert table.pass_seconds(4, 16, rows=1) == pytest.approx(0.025 + 3 * 0.015 - 3 * 0.002)
    assert table.c(1) == 1
    assert table.c(4) == pytest.approx(70 / 25)
    assert table.c(4, 1016) == pytest.approx((0.070 + 4 * 0.01) / (0.025 + 0.01))


@pytest.mark.parametrize(("each", "expected"), [(0.015, 1), (0.00125, 3), (0.0, 48)])
def test_nt_measured(each, expected):
    assert CostModel(linear_timings(each=each, row=0)).nt_measured == expected


def test_timings_must_make_sense():
    changes: list[dict[str, Any]] = [
        {"pass_seconds": {}},
        {"pass_seconds": {16: {1: 0.0}}},
        {"pass_seconds": {16: {2: 1.0}}},
        {"pass_seconds": {16: {1: 1.0}, 32: {1: 1.0, 2: 1.0}}},
        {"pass_seconds": {-1: {1: 1.0}}},
        {"large_tokens": 48},
        {"large_seconds": float("nan")},
        {"row_seconds": -1.0},
    ]
    for change in changes:
        with pytest.raises(ValueError, match=r"timings|depth"):
            dataclasses.replace(linear_timings(), **change)


times = st.floats(1e-4, 10)


@st.composite
def any_timings(draw) -> Timings:
    tables = {depth: {k: draw(times) for k in KS} for depth in (16, draw(st.integers(17, 4096)))}
    return Timings(tables, draw(st.floats(0, 0.1)), draw(st.integers(49, 512)), draw(times))


@given(any_timings(), st.integers(1, 600), st.integers(0, 8192), st.integers(1, 600), st.integers(0, 8192))
def test_more_tokens_and_more_depth_never_cost_less(timings, k, depth, more, deeper):
    table = CostModel(timings)
    seconds = table.pass_seconds(k, depth)
    assert 0 < seconds <= table.pass_seconds(k + more, depth) * (1 + 1e-9)
    assert seconds <= table.pass_seconds(k, depth + deeper) * (1 + 1e-9)
    assert table.pass_seconds(k, depth, rows=1) <= seconds
    assert table.c(k, depth) >= 1 - 1e-9


@given(st.dictionaries(st.integers(1, 100), st.floats(0, 10), min_size=1), st.integers(1, 200))
def test_a_curve_never_falls(points, x):
    curve = Curve(points)
    assert curve.at(x) <= curve.at(x + 1) * (1 + 1e-9)
    assert all(curve.at(known) <= value for known, value in points.items())


noise = st.floats(1.0, 1.04)  # an undisturbed machine
MAX_SHIFT = 0.04 * 1.6 / 0.6  # largest relative shift of c(k) by such noise: the second token is 0.6 of 1.6


def observe(table: CostModel, k: int, factors: list[float], depth: int = 100) -> None:
    calibrated = CostModel(table.timings)
    for factor in factors:
        table.observe(k, depth, calibrated.pass_seconds(k, depth) * factor)


@given(
    st.sampled_from(KS),
    st.lists(noise, min_size=40, max_size=60),
    st.lists(st.floats(1.0, 1000), max_size=3 * WINDOW // 4 - 1),
)
def test_a_burst_of_noise_moves_nothing(k, quiet, burst):
    table = CostModel(linear_timings())
    before = {each: table.c(each) for each in KS}
    observe(table, k, quiet)
    observe(table, k, burst)
    assert 1 <= table.drift.slowdown <= 1.04
    for each in KS:
        assert table.c(each) == pytest.approx(before[each], rel=MAX_SHIFT)


@given(st.lists(st.tuples(st.sampled_from(KS), st.floats(1.0, 100)), max_size=300), st.data())
def test_scattered_noise_moves_nothing(disturbed, data):
    """Two of three passes, of one token and of several, are disturbed by different factors."""
    table = CostModel(linear_timings())
    passes = {True: 0, False: 0}
    for k, factor in disturbed:
        passes[k == 1] += 1
        observe(table, k, [factor if passes[k == 1] % 3 else data.draw(noise)])
    assert table.drift.slowdown <= 1.05
    assert table.refreshed().pass_seconds[16][4] <= linear_timings().pass_seconds[16][4] * 1.1


@pytest.mark.parametrize("change", [0.6, 1.3, 3.0])
def test_without_drafts_a_lasting_change_of_speed_is_followed_and_leaves_c_alone(change):
    table = CostModel(linear_timings())
    observe(table, 1, [change] * (FORGET_AFTER + WINDOW))
    assert table.pass_seconds(1, 100) == pytest.approx(CostModel(linear_timings()).pass_seconds(1, 100) * change)
    assert table.pass_seconds(8, 100) == pytest.approx(CostModel(linear_timings()).pass_seconds(8, 100) * change)
    observe(table, 1, [change] * 500)
    assert table.c(8) == pytest.approx(CostModel(linear_timings()).c(8))
    observe(table, 1, [1.0] * WINDOW)
    assert table.pass_seconds(1, 100) == pytest.approx(CostModel(linear_timings()).pass_seconds(1, 100))


@pytest.mark.parametrize("change", [0.7, 1.4])
def test_slower_computing_is_known_of_the_sizes_that_are_used(change):
    table, calibrated = CostModel(linear_timings()), CostModel(linear_timings())
    for _ in range(2 * WINDOW):
        observe(table, 1, [1.0])
        observe(table, 8, [change])
    assert table.pass_seconds(8, 100) == pytest.approx(calibrated.pass_seconds(8, 100) * change, rel=0.03)


def test_what_seemed_dear_is_forgotten_where_it_is_not_tried_any_more():
    table = CostModel(linear_timings())
    observe(table, 8, [3.0] * WINDOW)
    # The estimate is capped by that of a larger pass.
    assert table.c(8) == pytest.approx(CostModel(linear_timings()).c(12), rel=0.01)
    observe(table, 1, [1.0] * FORGET_AFTER * (WINDOW // 4 + 1))
    assert table.c(8) == pytest.approx(CostModel(linear_timings()).c(8))


@pytest.mark.parametrize("change", [0.8, 1.2])
def test_a_lasting_change_of_one_size_changes_its_c(change):
    table, before = CostModel(linear_timings()), CostModel(linear_timings())
    for _ in range(WINDOW * 2):
        for k in (1, 1, 8, 12, 16):
            observe(table, k, [1.0])
        observe(table, 4, [change])
    assert table.c(4) == pytest.approx(before.c(4) * change, rel=0.01)
    assert table.c(12) == pytest.approx(before.c(12), rel=0.01)
    assert table.refreshed().pass_seconds[256][4] == pytest.approx(
        linear_timings().pass_seconds[256][4] * change, rel=0.01
    )
    assert CostModel(table.refreshed()).c(4) == pytest.approx(table.c(4), rel=0.01)


def test_nonsense_is_not_observed():
    table = CostModel(linear_timings())
    for k, depth, seconds in [(0, 1, 1.0), (1, -1, 1.0), (1, 1, 0.0), (1, 1, float("nan")), (1, 1, float("inf"))]:
        for _ in range(100):
            table.observe(k, depth, seconds)
    assert table.drift.slowdown == 1


@given(st.integers(2, 10_000))
def test_any_number_of_tokens_counts_to_the_nearest(k):
    drift = Drift(KS)
    assert drift.shape(k) == 1
    for _ in range(300):
        drift.observe(k, 1.5)
    assert drift.shape(k) == 1.5
    assert drift.slowdown == 1
