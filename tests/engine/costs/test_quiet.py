"""How quiet the machine was, and that what was measured in noise never replaces what was measured in quiet."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import machine
from engine.__main__ import main
from engine.costs import profile, speeds
from engine.costs.measurements import Key, Measurements
from engine.costs.profile import Profile, kept_profile, machine_profile
from engine.costs.speeds import MINUTE, OTHERS, QuietMinute, Reading, is_quiet, reading
from engine.machine import fingerprint
from tests.engine.asking import QUESTION, ask
from tests.engine.fake_runtime import FakeRuntime


class Machine:
    """Of which this process uses so many cores, others so many, and the host takes some back. A look a second."""

    def __init__(self, own: float = 2.0, others: float = 0.0, stolen: float = 0.0) -> None:
        self.own, self.others, self.stolen = own, others, stolen
        self.now = Reading(100.0, 10.0, 500.0, 3.0)

    def read(self, seconds: float = 1.0) -> Reading:
        now = self.now
        self.now = Reading(
            now.wall + seconds, now.own + self.own * seconds, now.busy + (self.own + self.others) * seconds,
            now.stolen + self.stolen * seconds,
        )  # fmt: skip
        return self.now


@pytest.fixture(autouse=True)
def two_cores(monkeypatch) -> None:
    monkeypatch.setattr(machine, "logical_cores", lambda: 2)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (Machine(), True),
        (Machine(others=OTHERS), True),  # a desktop that draws
        (Machine(own=1, others=1), False),
        (Machine(own=1.5, others=0.5), False),
        (Machine(stolen=0.5), False),
        (Machine(others=0.2, stolen=0.2), False),
        (Machine(own=0.3), False),  # it wanted a core and more, and got a third of one: a limit from outside
    ],
)
def test_quiet_is_where_others_leave_the_cores_alone(found, expected):
    assert is_quiet(found.read(), found.read(), computing=True) == expected


def test_who_does_not_compute_needs_no_core():
    idle = Machine(own=0.01)
    assert is_quiet(idle.read(), idle.read())
    assert not is_quiet(idle.read(), idle.read(), computing=True)


def test_a_large_machine_may_have_services(monkeypatch):
    served = Machine(own=32, others=1.0)
    assert not is_quiet(served.read(), served.read())
    monkeypatch.setattr(machine, "logical_cores", lambda: 32)
    assert is_quiet(served.read(), served.read())


def test_a_quiet_minute_begins_behind_the_noise():
    found = Machine(own=0, others=1.5)
    minute = QuietMinute(found.read)
    assert not any(minute.came() for _ in range(200))
    found.others = 0.1
    assert [minute.came() for _ in range(61)].index(True) == MINUTE - 1
    found.others = 1.5
    assert not minute.came()
    found.others = 0
    found.read(300)
    assert minute.came()  # nobody looked for five minutes, which were quiet
    minute.begin()
    assert not minute.came()


def test_two_looks_at_once_say_nothing():
    found = Machine(own=0)
    minute = QuietMinute(lambda: found.read(0.001))
    found.others = 50
    assert not minute.came()
    found.others = 0
    found.read(MINUTE)
    assert minute.came()


def test_readings_are_the_systems():
    before = reading()
    sum(range(3_000_000))
    after = reading()
    assert after.wall > before.wall
    assert after.own > before.own
    assert after.busy >= before.busy > 0
    assert after.stolen >= before.stolen >= 0


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Short measurements, kept in a folder of the test's own."""
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("RAM_SECONDS", "FLOPS_SECONDS", "DISK_SECONDS"):
        monkeypatch.setattr(profile, name, 0.01)
    monkeypatch.setattr(speeds, "array_bytes", lambda cache, available: 8 * speeds.MIB)


def measured(monkeypatch, found: Machine, bandwidth: float) -> Profile:
    """Measured afresh on such a machine."""
    monkeypatch.setattr(speeds, "reading", found.read)
    monkeypatch.setattr(speeds, "read_bandwidth", lambda counts, *_: dict.fromkeys(counts, bandwidth))
    monkeypatch.setattr(speeds, "flops_f32", lambda *_: 5 * bandwidth)
    return machine_profile(fresh=True)


NOISY = {"own": 1.0, "others": 1.0}


def test_a_provisional_profile_never_replaces_a_sound_one(quick, monkeypatch, caplog):
    sound = measured(monkeypatch, Machine(), 29e9)
    assert not sound.provisional
    told = measured(monkeypatch, Machine(**NOISY), 19e9)
    assert told.read_bandwidth_bytes_per_s == 29e9
    assert "what was measured of this machine before stays" in caplog.text
    kept = kept_profile()
    assert kept
    assert (kept.read_bandwidth_bytes_per_s, kept.flops_f32_per_s, kept.provisional) == (29e9, 145e9, False)


def test_a_sound_one_replaces_whatever_was_there(quick, monkeypatch):
    assert measured(monkeypatch, Machine(**NOISY), 30e9).provisional
    assert measured(monkeypatch, Machine(), 29e9).read_bandwidth_bytes_per_s == 29e9
    measured(monkeypatch, Machine(), 28e9)
    kept = kept_profile()
    assert kept
    assert (kept.read_bandwidth_bytes_per_s, kept.provisional) == (28e9, False)


def test_of_two_provisional_ones_the_best_is_kept(quick, monkeypatch):
    for bandwidth in (19e9, 22e9, 15e9):
        measured(monkeypatch, Machine(**NOISY), bandwidth)
    kept = kept_profile()
    assert kept
    assert (kept.read_bandwidth_bytes_per_s, kept.flops_f32_per_s, kept.provisional) == (22e9, 110e9, True)
    assert set(kept.read_bandwidth_by_threads.values()) == {22e9}


def test_the_command_says_so(quick, monkeypatch, capsys):
    measured(monkeypatch, Machine(**NOISY), 19e9)
    assert main(["profile"]) == 0
    assert "other programs were busy" in capsys.readouterr().out
    assert main(["profile", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["provisional"] is True
    measured(monkeypatch, Machine(), 29e9)
    assert main(["profile"]) == 0
    assert "other programs" not in capsys.readouterr().out


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """Programs that compute until the end of the block."""
    code = "print(flush=True)\nwhile True: pass"
    running = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(processes)]
    try:
        for process in running:
            assert process.stdout
            process.stdout.readline()
        yield
    finally:
        for process in running:
            process.kill()
            process.communicate()


def test_beside_real_programs_it_is_provisional(quick, monkeypatch, tmp_path):
    monkeypatch.setattr(profile, "RAM_SECONDS", 0.4)  # the system counts in hundredths of a second
    with busy(2 * machine.usable_cores()):
        assert profile.measure(tmp_path).provisional


@pytest.fixture
def waiting(quick, monkeypatch) -> tuple[Measurements, Machine, list[int], FakeRuntime]:
    """Measurements with a provisional profile, which is measured apart; how often, the list tells."""
    measured(monkeypatch, Machine(**NOISY), 19e9)
    calls: list[int] = []

    def apart() -> Iterator[int]:
        calls.append(len(calls))
        machine_profile(fresh=True)
        yield 0

    monkeypatch.setattr("engine.costs.measurements.measured_apart", apart)
    monkeypatch.setattr("engine.costs.measurements.MOST_SET_ASIDE", -1)  # no calibration
    measurements, found = Measurements(Key("m", 2, "f16", "build 1", fingerprint()), None), Machine(own=0, others=1.5)
    measurements.quiet = QuietMinute(found.read)
    return measurements, found, calls, FakeRuntime()


def look(measurements: Measurements, target: FakeRuntime, times: int) -> None:
    for _ in range(times):
        for _ in measurements.measure(target):
            pass


def test_a_provisional_profile_is_measured_again_in_the_next_quiet_minute(waiting, monkeypatch):
    measurements, found, calls, target = waiting
    assert measurements.awaits_quiet
    look(measurements, target, 100)
    assert calls == []
    found.others = 0
    look(measurements, target, 50)
    assert calls == []
    look(measurements, target, 15)  # but somebody began to compute just then
    assert len(calls) == 1
    assert measurements.profile
    assert measurements.profile.provisional
    monkeypatch.setattr(speeds, "reading", Machine().read)
    look(measurements, target, 50)
    assert len(calls) == 1
    look(measurements, target, 30)
    assert len(calls) == 2
    assert not measurements.profile.provisional
    assert not measurements.awaits_quiet
    look(measurements, target, 200)
    assert len(calls) == 2


def test_a_disturbed_calibration_waits_for_quiet_too(waiting, monkeypatch):
    measurements, found, _calls, target = waiting
    monkeypatch.setattr("engine.costs.measurements.MOST_SET_ASIDE", 1 << 30)
    monkeypatch.setattr(measurements, "profile", measured(monkeypatch, Machine(), 29e9))
    tries: list[int] = []

    def disturbed(_target: object) -> Iterator[None]:
        tries.append(1)
        measurements._attempts += 1
        yield

    monkeypatch.setattr(measurements, "_calibrate", disturbed)
    assert not measurements.awaits_quiet
    look(measurements, target, 100)
    assert len(tries) == 1  # the first one at once
    assert measurements.awaits_quiet
    found.others = 0
    look(measurements, target, 70)
    assert len(tries) == 2
    look(measurements, target, 500)
    assert len(tries) == 3
    assert not measurements.awaits_quiet


def test_idle_time_goes_on_while_a_quiet_minute_is_awaited(engine, quick, monkeypatch):
    ask(engine, QUESTION, max_tokens=2)
    chat = engine._loaded()
    monkeypatch.setattr(chat.measured, "measure", lambda _target: iter(()))
    monkeypatch.setattr(type(chat.sources.ngrams), "count", lambda *_: iter(()))
    monkeypatch.setattr(chat.measured, "profile", measured(monkeypatch, Machine(**NOISY), 19e9))
    assert engine.idle()
    monkeypatch.setattr(chat.measured, "profile", measured(monkeypatch, Machine(), 29e9))
    assert not engine.idle()
