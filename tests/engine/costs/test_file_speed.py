"""The speed of the disk under a file: only that there is one, because other programs use the disk too."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from engine.costs import file_speed
from engine.costs.file_speed import PIECE, MappedFile, UnbufferedFile, file_read_speed
from models.default import default_model

can_map = pytest.mark.skipif(not hasattr(os, "posix_fadvise"), reason="pages cannot be dropped here")


def test_the_file_is_read_for_the_time_that_was_given():
    started = time.perf_counter()
    speed = file_read_speed(default_model(), threads=2, budget=0.1)
    assert speed
    assert 1e5 < speed < 1e12
    assert time.perf_counter() - started < 30


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
        with MappedFile(path) as source:
            source.read(0)
            before = _bytes_from_disk()
            source.read(0)
            assert _bytes_from_disk() - before < file_speed.STEP  # it is cached now
            source.forget(0)
            source.read(0)
    if before:  # some kernels of virtual machines do not count
        assert _bytes_from_disk() - before >= file_speed.STEP


def _bytes_from_disk() -> int:
    lines = Path("/proc/self/io").read_text().splitlines() if sys.platform == "linux" else []
    return next((int(line.split()[1]) for line in lines if line.startswith("read_bytes")), 0)


def test_systems_without_such_calls_read_past_the_cache(monkeypatch):
    monkeypatch.delattr(os, "posix_fadvise", raising=False)
    assert (file_read_speed(default_model(), threads=2, budget=0.05) or 0) > 1e5
    with UnbufferedFile(default_model()) as source:
        source.forget(0)
        source.read(PIECE)
