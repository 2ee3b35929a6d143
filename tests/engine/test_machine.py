"""The machine's processors and their features."""

from __future__ import annotations

import os
import platform
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


@pytest.mark.parametrize(
    ("name", "performance", "hyper_threads", "logical", "physical", "threads"),
    [
        ("i5-1235U", "0-3", 2, 12, 10, 2),
        ("i5-1240P", "0-7", 2, 16, 12, 4),
        ("i7-12700H", "0-11", 2, 20, 14, 6),
        ("i7-13700H", "0-11", 2, 20, 14, 6),
        ("Core Ultra 5 226V", "0-3", 1, 8, 8, 4),
        ("Ryzen 7840U", "", 2, 16, 8, 8),
        ("Celeron N4020", "", 1, 2, 2, 2),
        ("Snapdragon X", "", 1, 10, 10, 10),
    ],
)
def test_a_thread_for_each_performance_core(
    monkeypatch, cgroups, tmp_path, name, performance, hyper_threads, logical, physical, threads
):
    """Linux's files as these processors have them: hyper-threads of a core are neighbours, slow cores have none."""
    for cpu in machine.parse_cpu_list(performance):
        topology = tmp_path / f"cpu{cpu}" / "topology"
        topology.mkdir(parents=True)
        first = cpu - cpu % hyper_threads
        siblings = f"{first}-{first + 1}" if hyper_threads == 2 else str(cpu)
        (topology / "thread_siblings_list").write_text(siblings + "\n")
    if performance:
        (tmp_path / "cpus").write_text(performance + "\n")
    monkeypatch.setattr(machine, "PERFORMANCE_CORES", tmp_path / "cpus")
    monkeypatch.setattr(machine, "PROCESSORS", tmp_path)
    counts = {True: logical, False: physical}
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: counts[logical])
    monkeypatch.setattr(os, "cpu_count", lambda: logical)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(logical)), raising=False)
    assert machine.default_threads() == threads


@pytest.mark.skipif(platform.machine().lower() not in ("x86_64", "amd64"), reason="kinds of x86-64")
def test_a_processor_is_of_every_kind_before_its_own():
    kinds, known = machine.processor_kinds(), list(machine.KINDS)
    assert kinds[-1] == "sse42"
    assert machine.KINDS[kinds[0]] <= machine.processor_features()
    assert [kind for kind in known if kind in kinds] == kinds


@pytest.mark.skipif(sys.platform == "win32", reason="Linux' list")
def test_a_processor_can_be_taken_for_an_older_one(monkeypatch, tmp_path):
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nflags\t\t: fpu sse4_2 popcnt avx2 fma avx_vnni avx512f\n")
    monkeypatch.setattr(machine, "CPU_INFO", tmp_path / "cpuinfo")
    for name, expected in (
        ("", {"fpu", "sse4_2", "popcnt", "avx2", "fma", "avx_vnni", "avx512f"}),
        ("alderlake", {"sse4_2", "popcnt", "avx2", "fma", "avx_vnni"}),
        ("haswell", {"sse4_2", "popcnt", "avx2", "fma"}),
        ("sse42", {"sse4_2", "popcnt"}),
    ):
        monkeypatch.setenv(machine.PROCESSOR_VARIABLE, name)
        assert machine.processor_features() == expected
    monkeypatch.setenv(machine.PROCESSOR_VARIABLE, "abacus")
    with pytest.raises(Failure, match=r"abacus is not known: choose one of sse42, haswell, alderlake"):
        machine.processor_features()


def test_older_kernels_are_the_packaged_llama_cpps():
    """Only the packaged llama.cpp has kernels for each kind of processor."""
    process = subprocess.run(
        [sys.executable, "-c", "from engine.runtime.llama.library import kernels; print(kernels())"],
        env={**os.environ, machine.PROCESSOR_VARIABLE: "haswell"},
        capture_output=True,
        text=True,
    )
    assert process.stdout.strip() == "haswell" or "no kernels of its own for haswell" in process.stderr


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
    stat = "anon 3\ninactive_file 150\nactive_file 50\n"
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
    assert machine.last_level_cache() == machine.DEFAULT_CACHE_BYTES


@pytest.fixture
def four_cores(monkeypatch):
    monkeypatch.setattr(machine, "PERFORMANCE_CORES", machine.PROCESSORS / "none")
    monkeypatch.setattr(psutil, "cpu_count", lambda logical=True: 4)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1, 2, 3}, raising=False)


@pytest.mark.parametrize(
    ("outer", "inner", "threads"),
    [
        ("max 100000\n", "max 100000\n", 4),
        ("max 100000\n", "200000 100000\n", 2),
        ("150000 100000\n", "max 100000\n", 1),
        ("50000 100000\n", "300000 100000\n", 1),
        ("900000 100000\n", "nonsense", 4),
    ],
)
def test_threads_follow_the_processor_time_that_a_cgroup_allows(cgroups, four_cores, outer, inner, threads):
    (cgroups / "self").write_text("0::/user/app\n")
    make_cgroup(cgroups / "cgroup", "user", {"cpu.max": outer})
    make_cgroup(cgroups / "cgroup", "user/app", {"cpu.max": inner})
    assert machine.default_threads() == machine.usable_cores() == threads
    assert max(machine.thread_candidates()) == threads


@pytest.mark.parametrize(("quota", "threads"), [("-1\n", 4), ("200000\n", 2), ("1000\n", 1)])
def test_threads_follow_a_containers_limit_of_version_1(cgroups, four_cores, quota, threads):
    (cgroups / "self").write_text("5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n")
    make_cgroup(cgroups / "cgroup", "cpu", {"cpu.cfs_quota_us": quota, "cpu.cfs_period_us": "100000\n"})
    assert machine.default_threads() == machine.usable_cores() == threads
