"""Fixtures for measurements: short ones, on a machine with two cores."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import machine
from engine.costs import profile, speeds


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "logical_cores", lambda: 2)


@pytest.fixture
def short_measurements(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Shorten the measurements; return the test's own cache folder, where they are stored."""
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("RAM_SECONDS", "FLOPS_SECONDS", "DISK_SECONDS"):
        monkeypatch.setattr(profile, name, 0.01)
    monkeypatch.setattr(speeds, "array_bytes", lambda cache, available: 8 * speeds.MIB)
    return tmp_path / "cache"
