"""Measurements in idle time: what other programs disturbed is measured again in a quiet minute."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.costs import speeds
from engine.costs.measurements import MAX_ATTEMPTS, CalibrationKey, CostMeasurements
from engine.costs.profile import machine_profile
from engine.costs.speeds import QuietMinuteDetector
from engine.machine import fingerprint
from tests.engine.asking import QUESTION, ask
from tests.engine.costs.simulated_machine import NOISY, SimulatedMachine, measure_profile
from tests.engine.fake_runtime import FakeRuntime

pytestmark = pytest.mark.usefixtures("two_cores")


@pytest.fixture
def waiting(short_measurements, monkeypatch) -> tuple[CostMeasurements, SimulatedMachine, list[int], FakeRuntime]:
    """Return measurements with a provisional profile, their simulated machine, and a target.

    The returned list gets one entry for each time that the profile is measured in another process.
    """
    measure_profile(monkeypatch, SimulatedMachine(**NOISY), 19e9)
    calls: list[int] = []

    def apart() -> Iterator[int]:
        calls.append(len(calls))
        machine_profile(fresh=True)
        yield 0

    monkeypatch.setattr("engine.costs.measurements.measure_profile_in_subprocess", apart)
    monkeypatch.setattr("engine.costs.measurements.SMALL_SNAPSHOT", -1)  # no calibration
    monkeypatch.setattr("engine.costs.measurements.SNAPSHOT_SECONDS", -1.0)
    measurements, machine_clocks = (
        CostMeasurements(CalibrationKey("m", 2, "f16", "build 1", fingerprint()), 2, None),
        SimulatedMachine(own=0, others=1.5),
    )
    measurements.quiet_minute = QuietMinuteDetector(machine_clocks.read)
    return measurements, machine_clocks, calls, FakeRuntime()


def look(measurements: CostMeasurements, target: FakeRuntime, times: int) -> None:
    for _ in range(times):
        for _ in measurements.measure(target):
            pass


def test_a_provisional_profile_is_measured_again_in_the_next_quiet_minute(waiting, monkeypatch):
    measurements, machine_clocks, calls, target = waiting
    assert measurements.awaits_quiet
    look(measurements, target, 100)
    assert calls == []
    machine_clocks.others = 0
    look(measurements, target, 50)
    assert calls == []
    look(measurements, target, 15)  # the measurement itself was disturbed
    assert len(calls) == 1
    assert measurements.profile
    assert measurements.profile.provisional
    monkeypatch.setattr(speeds, "processor_times", SimulatedMachine().read)
    look(measurements, target, 50)
    assert len(calls) == 1
    look(measurements, target, 30)
    assert len(calls) == 2
    assert not measurements.profile.provisional
    assert not measurements.awaits_quiet
    look(measurements, target, 200)
    assert len(calls) == 2


def test_a_profile_that_cannot_be_stored_is_not_measured_in_every_idle_second(waiting, monkeypatch):
    measurements, _machine_clocks, calls, target = waiting
    monkeypatch.setattr(measurements, "profile", None)
    monkeypatch.setattr("engine.costs.measurements.stored_profile", lambda: None)
    look(measurements, target, 20)
    assert len(calls) == MAX_ATTEMPTS


def test_a_disturbed_calibration_waits_for_quiet_too(waiting, monkeypatch):
    measurements, machine_clocks, _calls, target = waiting
    monkeypatch.setattr("engine.costs.measurements.SMALL_SNAPSHOT", 1 << 30)
    monkeypatch.setattr(measurements, "profile", measure_profile(monkeypatch, SimulatedMachine(), 29e9))
    tries: list[int] = []

    def disturbed(_target: object) -> Iterator[None]:
        tries.append(1)
        measurements._attempts += 1
        yield

    monkeypatch.setattr(measurements, "_calibrate", disturbed)
    assert not measurements.awaits_quiet
    look(measurements, target, 100)
    assert len(tries) == 1  # the first one does not wait
    assert measurements.awaits_quiet
    machine_clocks.others = 0
    look(measurements, target, 70)
    assert len(tries) == 2
    look(measurements, target, 500)
    assert len(tries) == 3
    assert not measurements.awaits_quiet


def test_idle_time_goes_on_while_a_quiet_minute_is_awaited(engine, short_measurements, monkeypatch):
    ask(engine, QUESTION, max_tokens=2)
    chat = engine._loaded()
    monkeypatch.setattr(chat.cost_measurements, "measure", lambda _target: iter(()))
    monkeypatch.setattr(type(chat.sources.ngrams), "count", lambda *_: iter(()))
    monkeypatch.setattr(
        chat.cost_measurements, "profile", measure_profile(monkeypatch, SimulatedMachine(**NOISY), 19e9)
    )
    assert engine.idle()
    monkeypatch.setattr(chat.cost_measurements, "profile", measure_profile(monkeypatch, SimulatedMachine(), 29e9))
    assert not engine.idle()
