"""What passes read from the disk: of dense models and of mixtures, with caches of all sizes."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.costs.cost_model import CostModel, Timings
from engine.costs.disk_reads import USUAL_BATCH, DiskReads
from engine.costs.prediction import Speed
from models.shapes import WeightReads

GB = 10**9
DISK = 0.5 * GB  # bytes per second
DENSE = DiskReads(WeightReads(8 * GB), 6 * GB, DISK)
MIXTURE = DiskReads(WeightReads(2 * GB, 16 * GB, 8 / 128), 10 * GB, DISK)


def test_a_dense_model_reads_its_whole_file_in_each_pass_unless_it_fits():
    assert DENSE.bytes(1) == DENSE.bytes(USUAL_BATCH) == 8 * GB
    assert dataclasses.replace(DENSE, cache_bytes=8 * GB).bytes(1) == 0


def test_a_mixture_reads_those_of_the_used_experts_that_are_not_cached():
    assert MIXTURE.bytes(1) == pytest.approx(16 * GB * 8 / 128 * (1 - 8 / 16))
    assert MIXTURE.bytes(1) < MIXTURE.bytes(2) < MIXTURE.bytes(USUAL_BATCH) == pytest.approx(8 * GB)
    short = dataclasses.replace(MIXTURE, cache_bytes=GB)  # not even the weights of every pass fit
    assert short.bytes(1) == pytest.approx(2 * GB + GB)
    assert dataclasses.replace(MIXTURE, cache_bytes=18 * GB).bytes(1) == 0


@given(st.floats(0, 1), st.integers(1, 600), st.integers(0, 40))
def test_more_cache_never_reads_more(share, tokens, cache):
    found = [
        DiskReads(WeightReads(3 * GB, 9 * GB, share), size * GB, DISK).bytes(tokens) for size in (cache, cache + 1)
    ]
    assert 0 <= found[1] <= found[0] <= 12 * GB * 1.001


def test_the_seconds_come_on_top_of_those_in_memory():
    speed = DENSE.speed(Speed(decode=10.0, prompt=100.0))
    assert 1 / speed.decode == pytest.approx(0.1 + 16)
    assert 1 / speed.prompt == pytest.approx(0.01 + 16 / USUAL_BATCH)
    assert DENSE.speed(None).decode == pytest.approx(1 / 16)


def test_drafts_are_nearly_free_where_each_pass_reads_the_whole_file_and_dear_with_experts():
    timings = Timings({16: {1: 0.1, 8: 0.5}}, 0.0, 512, 10.0)
    assert CostModel(timings).c(8) == pytest.approx(5)
    assert CostModel(DENSE.slowed(timings)).c(8) < 1.03
    assert CostModel(MIXTURE.slowed(timings)).c(8) > 5
