"""What the machine has."""

from __future__ import annotations

import os

import psutil
import pytest

from engine.measured import machine


@pytest.mark.parametrize(
    ("text", "cpus"), [("0-3\n", {0, 1, 2, 3}), ("0,2-3,8", {0, 2, 3, 8}), ("5", {5}), ("", set())]
)
def test_cpu_lists(text, cpus):
    assert machine.parse_cpu_list(text) == cpus


def test_threads_never_exceed_the_processors_this_process_may_use(monkeypatch):
    assert 1 <= machine.default_threads() <= (os.cpu_count() or 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0}, raising=False)
    assert machine.default_threads() == 1


def test_performance_cores_only(monkeypatch, tmp_path):
    (tmp_path / "cpus").write_text("0-3\n")
    monkeypatch.setattr(machine, "PERFORMANCE_CORES", tmp_path / "cpus")
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 10)
    monkeypatch.setattr(os, "cpu_count", lambda: 10)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(10)), raising=False)
    assert machine.default_threads() == 4
