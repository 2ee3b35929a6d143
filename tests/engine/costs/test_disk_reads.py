"""What passes read from the disk: of dense models and of mixtures, with caches of all sizes; and the disk's speed.

Of the speed only that there is one, because other programs use the disk too.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.costs import disk_reads
from engine.costs.cost_model import CostModel, Timings
from engine.costs.cost_prior import Speed
from engine.costs.disk_reads import PIECE, STEP, USUAL_BATCH, DiskReads, MappedFile, UnbufferedFile, file_read_speed
from models.default import default_model
from models.shapes import WeightReads

GB = 10**9
DISK = 0.5 * GB  # bytes per second
DENSE = DiskReads(WeightReads(8 * GB), 6 * GB, DISK)
can_map = pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="pages cannot be dropped here")
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
    read_bytes = [
        DiskReads(WeightReads(3 * GB, 9 * GB, share), size * GB, DISK).bytes(tokens) for size in (cache, cache + 1)
    ]
    assert 0 <= read_bytes[1] <= read_bytes[0] <= 12 * GB * 1.001


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


def test_the_file_is_read_for_the_time_that_was_given(monkeypatch):
    """This clock is half a second later at each look; the end is 6.5 s, and reading begins at 0.5 s."""
    looks = itertools.count()
    monkeypatch.setattr(disk_reads, "time", SimpleNamespace(perf_counter=lambda: next(looks) / 2))
    assert file_read_speed(default_model(), threads=1, budget=6.5) == pytest.approx(12 * STEP / 6)


def test_a_tiny_file_has_no_speed(tmp_path):
    path = tmp_path / "tiny"
    path.write_bytes(b"x" * PIECE)
    assert file_read_speed(path, threads=2) is None


def test_a_file_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(OSError, match="gone"):
        file_read_speed(tmp_path / "gone", threads=1)


@can_map
def test_what_was_cached_is_dropped_before_it_is_read(tmp_path):
    """A fresh process counts how many bytes it had the disk read: all of them, although the file was just written."""
    path = tmp_path / "file"
    path.write_bytes(os.urandom(2 * PIECE))
    with path.open("rb") as file:
        os.fsync(file.fileno())  # pages that are not on the disk yet cannot be dropped
        with closing(MappedFile(path)) as source:
            source.read(0)
            before = _bytes_from_disk()
            source.read(0)
            assert _bytes_from_disk() - before < STEP  # it is cached now
            source.forget(0)
            source.read(0)
    if before:  # some kernels of virtual machines do not count
        assert _bytes_from_disk() - before >= STEP


def _bytes_from_disk() -> int:
    lines = Path("/proc/self/io").read_text().splitlines() if sys.platform == "linux" else []
    return next((int(line.split()[1]) for line in lines if line.startswith("read_bytes")), 0)


def test_systems_without_such_calls_read_past_the_cache(monkeypatch):
    monkeypatch.delattr(os, "posix_fadvise", raising=False)
    assert (file_read_speed(default_model(), threads=2, budget=0.05) or 0) > 1e5
    with closing(UnbufferedFile(default_model())) as source:
        source.forget(0)
        source.read(PIECE)
