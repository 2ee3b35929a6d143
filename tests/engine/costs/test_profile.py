"""The machine's profile: measured, kept, and never trusted when it is not of this machine."""

from __future__ import annotations

import dataclasses
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.store import Store
from engine import machine
from engine.__main__ import main
from engine.costs import profile, speeds
from engine.costs.profile import PROFILES, Profile, kept_profile, machine_profile

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


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Short measurements, kept in a folder of the test's own."""
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("RAM_SECONDS", "FLOPS_SECONDS", "DISK_SECONDS"):
        monkeypatch.setattr(profile, name, 0.01)
    monkeypatch.setattr(speeds, "array_bytes", lambda cache, available: 8 * speeds.MIB)
    return tmp_path / "cache"


def test_measured_once_then_kept(quick, caplog):
    first = machine_profile()
    again = machine_profile()
    assert dataclasses.replace(again, ram_available_bytes=0) == dataclasses.replace(first, ram_available_bytes=0)
    assert first.read_bandwidth_bytes_per_s == max(first.read_bandwidth_by_threads.values())
    assert first.disk_read_bytes_per_s
    assert first.disk_write_bytes_per_s
    assert 0 < first.ram_available_bytes <= first.ram_total_bytes
    assert [path.name for path in quick.iterdir()] == ["profile"]
    assert not caplog.records


def test_a_damaged_file_is_measured_again(quick, caplog):
    machine_profile()
    path = PROFILES.path(machine.fingerprint())
    path.write_bytes(b'{"version": 1, "profile": "bird"}')
    assert machine_profile().flops_f32_per_s > 0
    assert "made again" in caplog.text
    assert PROFILES.get(machine.fingerprint())


def test_a_speed_of_zero_is_damage(quick, caplog):
    measured = machine_profile()
    stored = dataclasses.asdict(measured) | {"flops_f32_per_s": 0}
    Store(PROFILES.name, PROFILES.version, dict[str, object]).put(stored, machine.fingerprint())
    assert machine_profile().flops_f32_per_s > 0
    assert "made again" in caplog.text


def test_another_machines_profile_is_not_this_ones(quick, monkeypatch):
    cpu = machine_profile().cpu
    with monkeypatch.context() as patched:
        patched.setattr(machine, "cpu_model", lambda: "Sparrow 9")
        assert machine_profile().cpu == "Sparrow 9"
    kept = kept_profile()
    assert kept
    assert kept.cpu == cpu


def test_what_older_versions_kept_is_removed(quick):
    quick.mkdir()
    (quick / "profile.json").write_text("{}")
    machine_profile()
    assert [path.name for path in quick.iterdir()] == ["profile"]


def test_without_a_folder_to_write_to(quick, caplog):
    quick.write_text("a file where the folder should be")
    measured = machine_profile()
    assert measured.disk_write_bytes_per_s is None
    assert "cannot be kept" in caplog.text
    assert quick.is_file()


def test_the_command(quick, capsys):
    assert main(["profile", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) >= FIELDS
    assert main(["profile"]) == 0
    assert "GFLOP/s" in capsys.readouterr().out


def test_json_round_trip(quick):
    measured = machine_profile()
    assert msgspec.json.decode(msgspec.json.encode(measured), type=Profile) == measured


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


def make_cgroup(root, own: str, files: dict[str, str]) -> None:
    folder = root / own
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


@pytest.fixture
def cgroups(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "OWN_CGROUPS", tmp_path / "self")
    return tmp_path


def test_cgroup_version_2(cgroups):
    (cgroups / "self").write_text("0::/user/app\n")
    make_cgroup(cgroups / "cgroup", "user", {"memory.max": "1000\n", "memory.current": "900\n", "memory.stat": ""})
    stat = "anon 3\ninactive_file 200\n"
    make_cgroup(cgroups / "cgroup", "user/app", {"memory.max": "max", "memory.current": "9", "memory.stat": stat})
    assert list(machine.cgroup_limits()) == [(1000, 900)]
    (cgroups / "cgroup/user/app/memory.max").write_text("600")
    (cgroups / "cgroup/user/app/memory.current").write_text("500")
    assert sorted(machine.cgroup_limits()) == [(600, 300), (1000, 900)]
    assert machine.memory() == machine.Memory(total=600, available=100)


def test_cgroup_version_1_seen_from_inside_a_container(cgroups):
    (cgroups / "self").write_text("5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n")
    files = {"memory.limit_in_bytes": "700", "memory.usage_in_bytes": "500", "memory.stat": "total_inactive_file 100"}
    make_cgroup(cgroups / "cgroup", "memory", files)
    assert list(machine.cgroup_limits()) == [(700, 400)]
    (cgroups / "cgroup/memory/memory.limit_in_bytes").write_text(str(2**63 - 4096))
    assert list(machine.cgroup_limits()) == []


def test_no_cgroups(cgroups):
    assert list(machine.cgroup_limits()) == []


def test_last_level_cache(monkeypatch, tmp_path):
    monkeypatch.setattr(machine, "CACHES", tmp_path)
    for i, size in enumerate(("32K", "1024K", "16M")):
        (tmp_path / f"index{i}").mkdir()
        (tmp_path / f"index{i}" / "size").write_text(size + "\n")
    assert machine.last_level_cache() == 16 << 20
    monkeypatch.setattr(machine, "CACHES", tmp_path / "none")
    assert machine.last_level_cache() == machine.USUAL_CACHE
