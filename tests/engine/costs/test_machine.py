"""What the machine has."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from common.failures import Failure
from engine import machine


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


def test_a_processor_can_be_taken_for_an_older_one(monkeypatch, tmp_path):
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu sse4_2 popcnt avx2 fma avx512f\n")
    monkeypatch.setattr(machine, "CPU_INFO", tmp_path / "cpuinfo")
    for name, expected in (
        ("", {"fpu", "sse4_2", "popcnt", "avx2", "fma", "avx512f"}),
        ("haswell", {"sse4_2", "popcnt", "avx2", "fma"}),
        ("sse42", {"sse4_2", "popcnt"}),
    ):
        monkeypatch.setenv(machine.PRETENDED, name)
        assert machine.processor_features() == expected
    monkeypatch.setenv(machine.PRETENDED, "abacus")
    with pytest.raises(Failure, match=r"abacus is not known: choose one of sse42, haswell"):
        machine.processor_features()


def test_older_kernels_are_the_packaged_llama_cpps():
    """The one that set-up compiles has a single kind, for the very processor; the packaged one has those of each."""
    found = subprocess.run(
        [sys.executable, "-c", "from engine.runtime.llama.library import kernels; print(kernels())"],
        env={**os.environ, machine.PRETENDED: "haswell"},
        capture_output=True,
        text=True,
    )
    assert found.stdout.strip() == "haswell" or "no kernels of its own for haswell" in found.stderr
