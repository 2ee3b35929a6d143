"""This computer as the system describes it: processors, memory, and which processes live. Measures nothing."""

from __future__ import annotations

import ctypes
import math
import os
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from common.failures import Failure

PROCESSORS = Path("/sys/devices/system/cpu")  # Linux: a folder for each logical processor
PERFORMANCE_CORES = Path("/sys/devices/cpu_core/cpus")  # Linux lists them here on processors with two kinds of cores
CPU_INFO = Path("/proc/cpuinfo")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
CACHED = ("active", "inactive")  # kinds of cached pages of files in a cgroup's statistics
CGROUPS, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
DEFAULT_CACHE_BYTES = 32 << 20  # bytes: last-level cache where the system does not tell; larger than most laptops have
# With `CHICKADEE_PROCESSOR=haswell` the engine computes as that older processor would, with its kernels. For tests.
PROCESSOR_VARIABLE = "CHICKADEE_PROCESSOR"
SSE42 = frozenset(("sse4_1", "sse4_2", "ssse3", "popcnt"))
OLDER_PROCESSORS = {
    "sse42": SSE42,
    "haswell": SSE42 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma"},
    "alderlake": SSE42 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "avx_vnni"},
}  # their instruction sets
# Windows tells of a few instruction sets only (PF_SSE4_2_…, PF_AVX2_INSTRUCTIONS_AVAILABLE in winnt.h); the others came
# with the same processors. So AVX-512's dot products, which decide on a kind, count as missing there.
WINDOWS_FEATURES = {38: OLDER_PROCESSORS["sse42"], 40: OLDER_PROCESSORS["haswell"]}
AVX2 = frozenset(("avx2", "fma", "f16c"))
# Kinds of processors whose passes differ in more than speed, the fastest first, with the instruction sets they need.
KINDS = {
    "avx512_vnni": AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"},
    "avx_vnni": AVX2 | {"avx_vnni"},
    "avx2": AVX2,
    "sse42": SSE42,
}
SHORT = 0.1  # share of the memory: if less is available, memory is short
MEMORY_STEP = 64 << 20  # bytes: total memory differs by a little from boot to boot; the fingerprint must not


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of RAM that this process may use in all, and that are free for it now; the lower of system and cgroup."""

    total: int
    available: int


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The facts that a measurement on this machine depends on; with other facts it is not valid here."""

    cpu: str
    physical_cores: int
    logical_cores: int
    usable_cores: int
    ram_total_bytes: int
    build: str


def fingerprint() -> Fingerprint:
    """Return this machine's fingerprint, with the total memory rounded to 64 MiB."""
    ram = round(memory().total / MEMORY_STEP) * MEMORY_STEP
    build = ", ".join(f"{name} {library_version(name)}" for name in ("numpy", "llama-cpp-python"))
    return Fingerprint(cpu_model(), physical_cores(), logical_cores(), usable_cores(), ram, build)


@cache
def library_version(name: str) -> str:
    """Return the version of an installed package, or else "packaged" or "missing".

    "packaged": the packaged app carries the library without its metadata; "missing": the library is not installed.
    """
    try:
        return version(name)
    except PackageNotFoundError:  # a packaged app may carry the library without its description
        return "packaged" if getattr(sys, "frozen", False) else "missing"


def default_threads() -> int:
    """Return how many performance cores this process may use.

    More threads can slow the passes of a model down, so they are used only where they were timed to be faster
    (`thread_candidates`).
    """
    return max(1, min(performance_cores(), usable_cores()))


def thread_candidates() -> list[int]:
    """Return the numbers of threads worth trying: performance cores, all cores, all hardware threads.

    None exceeds the logical cores that this process may run on; the same number is listed once.
    """
    return sorted({max(1, min(n, usable_cores())) for n in (performance_cores(), physical_cores(), logical_cores())})


def physical_cores() -> int:
    """Return the number of physical cores of all processors, at least 1."""
    return psutil.cpu_count(logical=False) or os.cpu_count() or 1


def logical_cores() -> int:
    """Return the number of hardware threads of all processors, at least 1."""
    return os.cpu_count() or 1


def usable_cores() -> int:
    """Return the number of logical cores that this process may keep busy, by its affinity and its cgroups."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else logical_cores()
    return max(1, int(min(allowed, cpu_quota())))


def cpu_quota() -> float:
    """Return how many cores' time the cgroups around this process allow it (versions 1 and 2); infinite if no limit.

    More threads than that would spend the time early, and all of them then stand still for the rest of each period.
    """
    quotas = [math.inf]
    for unified, folder in _cgroups("cpu"):
        names = ("cpu.max",) if unified else ("cpu.cfs_quota_us", "cpu.cfs_period_us")
        try:
            quota, period = map(int, " ".join((folder / name).read_text() for name in names).split())
        except (OSError, ValueError):  # no such file, or "max": no limit
            continue
        if quota > 0 and period > 0:  # version 1 writes -1 for “no limit”
            quotas.append(quota / period)
    return min(quotas)


def performance_cores() -> int:
    """Return the number of physical cores, without the slow ones of a processor that has two kinds of cores.

    Only Linux tells the two kinds apart; elsewhere all physical cores count.
    """
    try:
        processors = parse_cpu_list(PERFORMANCE_CORES.read_text())
    except OSError:  # one kind of cores, or another system
        return physical_cores()
    return max(1, len({_core_of(processor) for processor in processors}))


def _core_of(processor: int) -> frozenset[int]:
    """Return the logical processors that share the core of one of them: with hyper-threading two, else the one."""
    try:
        siblings = parse_cpu_list((PROCESSORS / f"cpu{processor}/topology/thread_siblings_list").read_text())
    except OSError:
        siblings = set()
    return frozenset(siblings | {processor})


def parse_cpu_list(text: str) -> set[int]:
    """Parse the kernel's notation for a set of processors: '0-3,8' → {0, 1, 2, 3, 8}."""
    cpus: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def cpu_model() -> str:
    """Return the processor's name as its maker gives it, or what the system knows instead."""
    if CPU_INFO.exists():
        name = re.search(r"^model name\s*:\s*(.+)$", CPU_INFO.read_text(errors="replace"), re.MULTILINE)
        if name:
            return name[1].strip()
    return platform.processor() or platform.machine()


def pretended_processor() -> str:
    """Return the name of the older processor that the environment asks to compute as; empty where it names none.

    Raises Failure for an unknown name.
    """
    name = os.environ.get(PROCESSOR_VARIABLE, "")
    if name and name not in OLDER_PROCESSORS:
        raise Failure("bad_option.processor", variable=PROCESSOR_VARIABLE, name=name, known=", ".join(OLDER_PROCESSORS))
    return name


def processor_features() -> frozenset[str]:
    """Return the first processor's instruction sets by their Linux names; empty where the system does not list them."""
    pretended = OLDER_PROCESSORS.get(pretended_processor())
    if sys.platform == "win32":
        present = ctypes.windll.kernel32.IsProcessorFeaturePresent
        here = frozenset[str]().union(*(sets for number, sets in WINDOWS_FEATURES.items() if present(number)))
    else:
        here = _listed_features()
    return here if pretended is None else here & pretended


def _listed_features() -> frozenset[str]:
    """Return the instruction sets that Linux lists."""
    if not CPU_INFO.exists():
        return frozenset()
    for line in CPU_INFO.read_text(errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


def processor_kinds() -> list[str]:
    """Return the KINDS whose instruction sets this processor has, the fastest first; none where they are unknown."""
    features = processor_features()
    return [kind for kind, needed in KINDS.items() if features >= needed]


def last_level_cache() -> int:
    """Return the bytes of the largest cache of processor 0, or DEFAULT_CACHE_BYTES where the system does not tell."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    sizes = [DEFAULT_CACHE_BYTES] if not CACHES.exists() else []
    for path in CACHES.glob("index*/size"):
        size = re.fullmatch(r"(\d+)([KMG]?)\s*", path.read_text())
        if size:
            sizes.append(int(size[1]) * units.get(size[2], 1))
    return max(sizes, default=DEFAULT_CACHE_BYTES)


def memory() -> Memory:
    """Return the system's memory, or less where a cgroup allows this process less."""
    system = psutil.virtual_memory()
    total, available = int(system.total), int(system.available)
    for limit, used in cgroup_limits():
        total, available = min(total, limit), min(available, max(0, limit - used))
    return Memory(total, available)


def is_memory_short() -> bool:
    """Return whether little memory is available, to this process or to others: then it frees what it can do without."""
    now = memory()
    return now.available < SHORT * now.total


def cgroup_limits() -> Iterator[tuple[int, int]]:
    """Yield memory limit and use in bytes of each cgroup around this process that has a limit (versions 1 and 2).

    A container may see its own group as the root, or by a path that does not exist inside, so every existing folder on
    the path counts. Cached pages of files are subtracted from the use, because the kernel reclaims them: also those
    that were used twice (`active_file`), as the weights of a mapped model are. The system's own number for available
    memory counts both.
    """
    for unified, folder in _cgroups("memory"):
        v2_names, v1_names = ("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")
        limit_name, used_name = v2_names if unified else v1_names
        try:
            limit = (folder / limit_name).read_text().strip()
            used = int((folder / used_name).read_text())
            text = (folder / "memory.stat").read_text()
        except (OSError, ValueError):
            continue
        if limit.isdigit() and int(limit) < 1 << 60:  # version 1 writes almost 2**63 for “no limit”
            cached = (re.search(rf"^(?:total_)?{kind}_file (\d+)$", text, re.MULTILINE) for kind in CACHED)
            yield int(limit), max(0, used - sum(int(pages[1]) for pages in cached if pages))


def _cgroups(controller: str) -> Iterator[tuple[bool, Path]]:
    """Yield each cgroup around this process that may limit `controller`: whether its version is 2, and its folder."""
    if not OWN_CGROUPS.exists():
        return
    for line in OWN_CGROUPS.read_text().splitlines():
        _number, controllers, own = line.split(":", 2)
        if controllers == "":
            unified, root = True, CGROUPS
        elif controller in controllers.split(","):
            unified, root = False, CGROUPS / controller
        else:
            continue
        inner = root / own.lstrip("/")
        for folder in (inner, *inner.parents):
            if folder.is_relative_to(root):
                yield unified, folder


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes."""
    return int(psutil.Process().memory_info().rss)


def return_freed_memory() -> None:
    """Return freed memory from glibc's allocator to the system; do nothing with another allocator.

    glibc keeps freed memory, and keeps even more of it once a block of many megabytes was freed.
    """
    trim = _malloc_trim()
    if trim:
        trim(0)


@cache
def _malloc_trim() -> Any:
    """Return glibc's `malloc_trim`; None with another C library."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def lower_priority(niceness: int) -> None:
    """Lower this process's priority, so that another process gets a core that both want.

    Call this before the process has threads: on Linux each thread has its own niceness, inherited from the thread that
    made it.
    """
    if sys.platform == "win32":
        psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
    else:
        os.nice(niceness)
