"""What this computer has, asked of the system: processors, memory, and which processes live. Measures nothing."""

from __future__ import annotations

import ctypes
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

PERFORMANCE_CORES = Path("/sys/devices/cpu_core/cpus")  # Linux lists them here on processors with two kinds of cores
CPU_INFO = Path("/proc/cpuinfo")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
CGROUPS, OWN_CGROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
USUAL_CACHE = 32 << 20  # bytes: last-level cache where the system does not tell; larger than most laptops have
# `CHICKADEE_PROCESSOR=haswell`: compute as such an older processor would, with its kernels of llama.cpp. For tests.
PRETENDED = "CHICKADEE_PROCESSOR"
SSE42 = frozenset(("sse4_1", "sse4_2", "ssse3", "popcnt"))
OLDER = {"sse42": SSE42, "haswell": SSE42 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma"}}  # what each of them has
AVX2 = frozenset(("avx2", "fma", "f16c"))
# Kinds of processors whose passes differ in more than speed, the fastest first, and what each has.
KINDS = {
    "avx512_vnni": AVX2 | {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni"},
    "avx_vnni": AVX2 | {"avx_vnni"},
    "avx2": AVX2,
    "sse42": SSE42,
}
STEP = 64 << 20  # bytes: total memory differs by a little from boot to boot; the fingerprint must not


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of RAM that this process may use in all, and that are free for it now; the lower of system and cgroup."""

    total: int
    available: int


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a measurement on this machine depends on: another one's measurements are not valid here."""

    cpu: str
    physical_cores: int
    logical_cores: int
    usable_cores: int
    ram_total_bytes: int
    build: str


def fingerprint() -> Fingerprint:
    """This machine's."""
    ram = round(memory().total / STEP) * STEP
    build = ", ".join(f"{name} {library_version(name)}" for name in ("numpy", "llama-cpp-python"))
    return Fingerprint(cpu_model(), physical_cores(), logical_cores(), usable_cores(), ram, build)


def library_version(name: str) -> str:
    """Of an installed package; "packaged" where the app carries it without saying which, "missing" where it is not
    there."""
    try:
        return version(name)
    except PackageNotFoundError:  # a packaged app may carry the library without its description
        return "packaged" if getattr(sys, "frozen", False) else "missing"


def default_threads() -> int:
    """Physical performance cores this process may use: more threads than that slow llama.cpp down."""
    return max(1, min(performance_cores(), usable_cores()))


def physical_cores() -> int:
    """Cores of all processors, at least 1."""
    return psutil.cpu_count(logical=False) or os.cpu_count() or 1


def logical_cores() -> int:
    """Hardware threads of all processors, at least 1."""
    return os.cpu_count() or 1


def usable_cores() -> int:
    """Logical cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else logical_cores()


def performance_cores() -> int:
    """Physical cores without the slow ones of processors that have two kinds."""
    physical = physical_cores()
    if not PERFORMANCE_CORES.exists():
        return physical
    logical = len(parse_cpu_list(PERFORMANCE_CORES.read_text()))
    siblings = max(1, logical_cores() // physical)
    return max(1, logical // siblings) if siblings > 1 else logical


def parse_cpu_list(text: str) -> set[int]:
    """'0-3,8' → {0, 1, 2, 3, 8}: the kernel's way to write a set of processors."""
    cpus: set[int] = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        cpus.update(range(int(first), int(last or first) + 1))
    return cpus


def cpu_model() -> str:
    """The processor's name as its maker gives it, or what the system knows instead."""
    if CPU_INFO.exists():
        found = re.search(r"^model name\s*:\s*(.+)$", CPU_INFO.read_text(errors="replace"), re.MULTILINE)
        if found:
            return found.group(1).strip()
    return platform.processor() or platform.machine()


def pretended_processor() -> str:
    """Name of the older processor that this one computes as; empty where it computes as what it is."""
    name = os.environ.get(PRETENDED, "")
    if name and name not in OLDER:
        raise Failure("bad_option.processor", variable=PRETENDED, name=name, known=", ".join(OLDER))
    return name


def processor_features() -> frozenset[str]:
    """Instructions of the first processor, by Linux' names for them; empty where the system does not list them."""
    if not CPU_INFO.exists():
        return frozenset()
    for line in CPU_INFO.read_text(errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(value.split()) & OLDER.get(pretended_processor(), frozenset(value.split()))
    return frozenset()


def processor_kinds() -> list[str]:
    """Those of KINDS that this processor is of, the fastest first; none where the system does not tell."""
    features = processor_features()
    return [kind for kind, needed in KINDS.items() if features >= needed]


def last_level_cache() -> int:
    """Bytes of the largest cache of processor 0."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    sizes = [USUAL_CACHE] if not CACHES.exists() else []
    for path in CACHES.glob("index*/size"):
        found = re.fullmatch(r"(\d+)([KMG]?)\s*", path.read_text())
        if found:
            sizes.append(int(found[1]) * units.get(found[2], 1))
    return max(sizes, default=USUAL_CACHE)


def memory() -> Memory:
    """The system's, or less where a cgroup allows this process less."""
    system = psutil.virtual_memory()
    total, available = int(system.total), int(system.available)
    for limit, used in cgroup_limits():
        total, available = min(total, limit), min(available, max(0, limit - used))
    return Memory(total, available)


def cgroup_limits() -> Iterator[tuple[int, int]]:
    """Memory limit and use in bytes of each cgroup around this process that has a limit (versions 1 and 2).

    A container may see its own group as the root, or by a path that does not exist inside: all that exist count.
    Pages of files that were only read are no use: the kernel gives them back."""
    for folder, limit_name, used_name in _cgroups():
        try:
            limit = (folder / limit_name).read_text().strip()
            used = int((folder / used_name).read_text())
            found = re.search(r"^(?:total_)?inactive_file (\d+)$", (folder / "memory.stat").read_text(), re.MULTILINE)
        except (OSError, ValueError):
            continue
        if limit.isdigit() and int(limit) < 1 << 60:  # version 1 writes almost 2**63 for “no limit”
            yield int(limit), max(0, used - int(found[1] if found else 0))


def _cgroups() -> Iterator[tuple[Path, str, str]]:
    if not OWN_CGROUPS.exists():
        return
    for line in OWN_CGROUPS.read_text().splitlines():
        _number, controllers, own = line.split(":", 2)
        if controllers == "":
            root, names = CGROUPS, ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            root, names = CGROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        inner = root / own.lstrip("/")
        for folder in (inner, *inner.parents):
            if folder.is_relative_to(root):
                yield (folder, *names)


def resident_bytes() -> int:
    """Resident memory of this process."""
    return int(psutil.Process().memory_info().rss)


def give_back_memory() -> None:
    """Return what was freed to the system: glibc keeps it, and even more once a block of many megabytes was freed.

    Where the allocator cannot be asked, nothing happens."""
    trim = _malloc_trim()
    if trim:
        trim(0)


@cache
def _malloc_trim() -> Any:
    """glibc's; None elsewhere."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def writer_lives(process: int, path: Path) -> bool:
    """Is the process of that number still the one that wrote the file? Numbers are used again."""
    try:
        return psutil.Process(process).create_time() <= path.stat().st_mtime + 1
    except psutil.AccessDenied:
        return True
    except (psutil.Error, OSError, OverflowError):
        return False
