"""The machine's profile: measured, stored, and never used on another machine."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import subprocess
import sys
from collections.abc import Iterator

import msgspec
import pytest

from common.store import Store
from engine import machine
from engine.__main__ import main
from engine.costs import profile
from engine.costs.profile import PROFILES, Profile, machine_profile, stored_profile
from tests.engine.costs.simulated_machine import NOISY, SimulatedMachine, measure_profile

FIELDS = {
    "ram_total_bytes",
    "ram_available_bytes",
    "read_bandwidth_bytes_per_s",
    "flops_f32_per_s",
    "disk_read_bytes_per_s",
    "disk_write_bytes_per_s",
    "physical_cores",
    "threads",
}


def test_measured_once_then_kept(short_measurements, caplog):
    first = machine_profile()
    again = machine_profile()
    assert dataclasses.replace(again, ram_available_bytes=0) == dataclasses.replace(first, ram_available_bytes=0)
    assert first.read_bandwidth_bytes_per_s == max(first.read_bandwidth_by_threads.values())
    assert first.disk_read_bytes_per_s
    assert first.disk_write_bytes_per_s
    assert 0 < first.ram_available_bytes <= first.ram_total_bytes
    assert [path.name for path in short_measurements.iterdir()] == ["profile"]
    assert not caplog.records


def test_a_damaged_file_is_measured_again(short_measurements, caplog):
    machine_profile()
    path = PROFILES.path(machine.fingerprint())
    path.write_bytes(b'{"version": 1, "profile": "bird"}')
    assert machine_profile().flops_f32_per_s > 0
    assert "made again" in caplog.text
    assert PROFILES.get(machine.fingerprint())


def test_a_speed_of_zero_is_damage(short_measurements, caplog):
    measured = machine_profile()
    stored = dataclasses.asdict(measured) | {"flops_f32_per_s": 0}
    Store(PROFILES.name, PROFILES.version, dict[str, object]).put(stored, machine.fingerprint())
    assert machine_profile().flops_f32_per_s > 0
    assert "made again" in caplog.text


def test_another_machines_profile_is_not_this_ones(short_measurements, monkeypatch):
    cpu = machine_profile().cpu
    with monkeypatch.context() as patched:
        patched.setattr(machine, "cpu_model", lambda: "Sparrow 9")
        assert machine_profile().cpu == "Sparrow 9"
    kept = stored_profile()
    assert kept
    assert kept.cpu == cpu


def test_what_older_versions_kept_is_removed(short_measurements):
    short_measurements.mkdir()
    (short_measurements / "profile.json").write_text("{}")
    machine_profile()
    assert [path.name for path in short_measurements.iterdir()] == ["profile"]


def test_without_a_folder_to_write_to(short_measurements, caplog):
    short_measurements.write_text("a file where the folder should be")
    measured = machine_profile()
    assert measured.disk_write_bytes_per_s is None
    assert "cannot be kept" in caplog.text
    assert short_measurements.is_file()


def test_the_command(short_measurements, capsys):
    assert main(["profile", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert set(shown) >= FIELDS
    assert shown["product_flops_per_s"] > 0
    assert main(["profile"]) == 0
    assert "GFLOP/s" in capsys.readouterr().out


def test_json_round_trip(short_measurements):
    measured = machine_profile()
    assert msgspec.json.decode(msgspec.json.encode(measured), type=Profile) == measured


@pytest.mark.usefixtures("two_cores")
def test_a_provisional_profile_never_replaces_a_sound_one(short_measurements, monkeypatch, caplog):
    sound = measure_profile(monkeypatch, SimulatedMachine(), 29e9)
    assert not sound.provisional
    returned = measure_profile(monkeypatch, SimulatedMachine(**NOISY), 19e9)
    assert returned.read_bandwidth_bytes_per_s == 29e9
    assert "what was measured of this machine before stays" in caplog.text
    kept = stored_profile()
    assert kept
    assert (kept.read_bandwidth_bytes_per_s, kept.flops_f32_per_s, kept.provisional) == (29e9, 145e9, False)


@pytest.mark.usefixtures("two_cores")
def test_a_sound_one_replaces_whatever_was_there(short_measurements, monkeypatch):
    assert measure_profile(monkeypatch, SimulatedMachine(**NOISY), 30e9).provisional
    assert measure_profile(monkeypatch, SimulatedMachine(), 29e9).read_bandwidth_bytes_per_s == 29e9
    measure_profile(monkeypatch, SimulatedMachine(), 28e9)
    kept = stored_profile()
    assert kept
    assert (kept.read_bandwidth_bytes_per_s, kept.provisional) == (28e9, False)


@pytest.mark.usefixtures("two_cores")
def test_of_two_provisional_ones_the_best_is_kept(short_measurements, monkeypatch):
    for bandwidth in (19e9, 22e9, 15e9):
        measure_profile(monkeypatch, SimulatedMachine(**NOISY), bandwidth)
    kept = stored_profile()
    assert kept
    assert (kept.read_bandwidth_bytes_per_s, kept.flops_f32_per_s, kept.provisional) == (22e9, 110e9, True)
    assert set(kept.read_bandwidth_by_threads.values()) == {22e9}


@pytest.mark.usefixtures("two_cores")
def test_the_command_says_so(short_measurements, monkeypatch, capsys):
    measure_profile(monkeypatch, SimulatedMachine(**NOISY), 19e9)
    assert main(["profile"]) == 0
    assert "other programs were busy" in capsys.readouterr().out
    assert main(["profile", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["provisional"] is True
    measure_profile(monkeypatch, SimulatedMachine(), 29e9)
    assert main(["profile"]) == 0
    assert "other programs" not in capsys.readouterr().out


@contextlib.contextmanager
def busy(processes: int) -> Iterator[None]:
    """Run programs that compute until the end of the block."""
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


@pytest.mark.usefixtures("two_cores")
def test_beside_real_programs_it_is_provisional(short_measurements, monkeypatch, tmp_path):
    monkeypatch.setattr(profile, "RAM_SECONDS", 0.4)  # the system counts in hundredths of a second
    with busy(2 * machine.usable_cores()):
        assert profile.measure(tmp_path).provisional
