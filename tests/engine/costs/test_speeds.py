"""Speeds of memory, arithmetic and disk, and whether other programs disturbed their measurement."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import machine
from engine.costs import speeds
from engine.costs.speeds import MINUTE, OTHERS, QuietMinuteDetector, is_quiet, processor_times
from tests.engine.costs.simulated_machine import SimulatedMachine

pytestmark = pytest.mark.usefixtures("two_cores")


@given(st.integers(1, 512))
def test_thread_counts(most):
    counts = speeds.thread_counts(most)
    assert counts[0] == 1
    assert counts[-1] == most
    assert counts == sorted(set(counts))
    assert len(counts) <= 10


@given(st.integers(1, 1 << 32), st.integers(1, 1 << 40))
def test_the_array_is_larger_than_the_cache_but_small_beside_the_memory(cache, available):
    size = speeds.array_bytes(cache, available)
    assert speeds.MIB <= size <= max(speeds.MIB, min(speeds.LARGEST_ARRAY, available // 8))


def test_the_disk_file_does_not_stay(tmp_path):
    read, write = speeds.disk_speeds(tmp_path, 0.01, size=speeds.CHUNK)
    assert read > 0
    assert write > 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("machine_clocks", "expected"),
    [
        (SimulatedMachine(), True),
        (SimulatedMachine(others=OTHERS), True),  # like a desktop that redraws its windows
        (SimulatedMachine(own=1, others=1), False),
        (SimulatedMachine(own=1.5, others=0.5), False),
        (SimulatedMachine(stolen=0.5), False),
        (SimulatedMachine(others=0.2, stolen=0.2), False),
        (SimulatedMachine(own=0.3), False),  # an outside limit: the process got a third of a core
    ],
)
def test_quiet_is_where_others_leave_the_cores_alone(machine_clocks, expected):
    assert is_quiet(machine_clocks.read(), machine_clocks.read(), computing=True) == expected


def test_who_does_not_compute_needs_no_core():
    idle = SimulatedMachine(own=0.01)
    assert is_quiet(idle.read(), idle.read())
    assert not is_quiet(idle.read(), idle.read(), computing=True)


def test_a_large_machine_may_have_services(monkeypatch):
    served = SimulatedMachine(own=32, others=1.0)
    assert not is_quiet(served.read(), served.read())
    monkeypatch.setattr(machine, "logical_cores", lambda: 32)
    assert is_quiet(served.read(), served.read())


def test_a_quiet_minute_begins_behind_the_noise():
    machine_clocks = SimulatedMachine(own=0, others=1.5)
    minute = QuietMinuteDetector(machine_clocks.read)
    assert not any(minute.has_passed() for _ in range(200))
    machine_clocks.others = 0.1
    assert [minute.has_passed() for _ in range(61)].index(True) == MINUTE - 1
    machine_clocks.others = 1.5
    assert not minute.has_passed()
    machine_clocks.others = 0
    machine_clocks.read(300)
    assert minute.has_passed()  # five minutes between two looks were quiet
    minute.restart()
    assert not minute.has_passed()


def test_two_looks_at_once_say_nothing():
    machine_clocks = SimulatedMachine(own=0)
    minute = QuietMinuteDetector(lambda: machine_clocks.read(0.001))
    machine_clocks.others = 50
    assert not minute.has_passed()
    machine_clocks.others = 0
    machine_clocks.read(MINUTE)
    assert minute.has_passed()


def test_readings_are_the_systems():
    before = processor_times()
    sum(range(3_000_000))
    after = processor_times()
    assert after.wall > before.wall
    assert after.own > before.own
    assert after.busy >= before.busy > 0
    assert after.stolen >= before.stolen >= 0
