"""Measurements in idle time: what other programs disturbed is measured again in a quiet minute."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from common.power import Battery, PowerWatch
from engine.costs import speeds
from engine.costs.cost_model import CostModel, Timings
from engine.costs.measurements import MAX_ATTEMPTS, CalibrationKey, CostMeasurements
from engine.costs.profile import machine_profile
from engine.costs.speeds import QuietMinuteDetector
from engine.costs.threads import ThreadCost
from engine.machine import fingerprint
from engine.runtime.contexts import PROMPT_PASS, ThreadCounts
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


def test_power_is_saved_with_the_costs_of_fewer_threads_and_real_passes_teach_the_ones_in_use(waiting):
    measurements, *_ = waiting
    assert measurements.thread_counts == ThreadCounts(2, 2)
    measurements.save_power(True)
    assert measurements.thread_counts == ThreadCounts(2, 2)  # nothing was timed yet
    passes = {k: 0.050 + 0.005 * k for k in (1, 8, 48)}
    timed = tuple(
        ThreadCost(tokens, threads, seconds)
        for tokens, threads, seconds in ((1, 1, 0.057), (1, 2, 0.055), (PROMPT_PASS, 1, 0.357), (PROMPT_PASS, 2, 0.205))
    )
    usual = CostModel(Timings({16: passes}, 0.0, 512, 3.0, False, 2, 2, timed))
    measurements.cost_model = usual
    assert measurements.thread_counts == ThreadCounts(1, 2)
    saving = measurements.cost_model
    assert saving.pass_seconds(8, 16) == pytest.approx(0.057 + 0.035 * 2)
    for _ in range(64):
        measurements.observe(8, 16, 0.177, rows=8)
    measurements.observe(1, 16, 0.114, rows=1)
    measurements.save_power(False)
    assert measurements.cost_model is usual
    assert measurements.thread_counts == ThreadCounts(2, 2)
    assert usual.pass_seconds(8, 16) == pytest.approx(0.090)
    assert usual.pass_seconds(1, 16) == pytest.approx(0.055)
    measurements.save_power(True)
    assert measurements.cost_model is saving
    assert saving.pass_seconds(8, 16) > 0.15


def test_on_battery_idle_work_waits_and_closing_saves_what_would_be_lost(engine, monkeypatch):
    done: list[str] = []

    def idle_work(_model: object) -> Iterator[None]:
        done.append("idle work")
        yield

    monkeypatch.setattr(type(engine._loaded()), "idle_work", idle_work)
    monkeypatch.setattr(engine, "_free_model", lambda: None)
    monkeypatch.setattr(type(engine._loaded().chat_cache), "save", lambda *_: done.append("saved"))
    battery: list[Battery] = ["unplugged"]
    monkeypatch.setattr(engine, "_power_watch", PowerWatch(lambda: battery[0], lambda: time.monotonic() * 1e6))
    ask(engine, QUESTION, max_tokens=2)
    assert engine.last_pulse().saving_power == "battery"
    assert not engine.idle()
    assert done == []
    engine.close()
    assert done == ["saved"]
    for state in ("plugged", "unknown", "none"):
        battery[0], done[:] = state, []
        engine.idle()
        assert done == ["idle work"]
        engine.close()
        assert done == ["idle work"]
    battery[0] = "unplugged"
    ask(engine, QUESTION, max_tokens=2, power="full")
    assert engine.last_pulse().saving_power == ""
    engine.idle()
    assert done == ["idle work", "idle work"]


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
