"""How fast memory, arithmetic and disk are, by doing some of each, and how quiet the machine was meanwhile.

Other programs only ever make a run slower, so that the best of several runs is the one to believe.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil

from engine import machine

MIB = 1 << 20
SMALLEST_ARRAY, LARGEST_ARRAY = 64 * MIB, 256 * MIB
CHUNK = 4 * MIB
BUSY = ("user", "nice", "system", "irq", "softirq")  # of psutil's times; Linux counts a guest's as its user's
OTHERS, OTHERS_OF_EACH = 0.25, 0.05  # cores: a desktop takes so much all the time, a large machine's services more
OWN = 0.85  # of a core that computing in one thread or more gets where nobody else wants it
MINUTE = 60.0  # seconds
SHORTEST = 0.5  # seconds: the system counts in hundredths


def best_seconds(work: Callable[[], object], budget: float, least: int = 3) -> float:
    """Shortest run of `work` among those that fit into `budget` seconds, at least `least`."""
    best, end = float("inf"), time.perf_counter() + budget
    for run in itertools.count(1):
        started = time.perf_counter()
        work()
        now = time.perf_counter()
        best = min(best, now - started)
        if run >= least and now >= end:
            return best
    raise AssertionError("unreachable")


def array_bytes(last_level_cache: int, available: int) -> int:
    """Size of the array to read: 4 × the cache, so that little of it is found there, but never much of the memory."""
    wanted = min(max(4 * last_level_cache, SMALLEST_ARRAY), LARGEST_ARRAY)
    return max(MIB, min(wanted, available // 8))


def read_bandwidth(threads: list[int], size: int, budget: float) -> dict[int, float]:
    """Bytes per second that so many threads read together from an array of `size` bytes.

    A sum over integers only loads and adds, in vector registers; numpy lets other threads run meanwhile. `max` reads
    10 % slower, `dot` threads itself."""
    data = np.ones(size // 8, np.int64)
    speeds = {}
    for count in threads:
        parts = np.array_split(data, count)
        with ThreadPoolExecutor(count) as pool:
            seconds = best_seconds(lambda parts=parts, pool=pool: list(pool.map(np.sum, parts)), budget / len(threads))  # type: ignore[misc]
        speeds[count] = data.nbytes / seconds
    return speeds


def thread_counts(most: int) -> list[int]:
    """1 to `most`; of many only the powers of two and `most`."""
    if most <= 8:
        return list(range(1, most + 1))
    return [*(2**i for i in range(most.bit_length()) if 2**i < most), most]


def flops_f32(cores: int, budget: float) -> float:
    """Peak float32 operations per second: a large matrix product, on all cores (numpy's library threads itself)."""
    n = 1024 if cores <= 8 else 2048
    a = np.ones((n, n), np.float32)
    out = np.empty_like(a)
    return 2 * n**3 / best_seconds(lambda: np.matmul(a, a, out=out), budget)


def disk_speeds(folder: Path, budget: float, size: int = 64 * MIB) -> tuple[float, float]:
    """Bytes per second of sequential reading and writing in `folder`. Raises OSError where nothing can be written.

    The file has no name or is deleted when it is closed, so that nothing stays behind. Writing ends with the disk's
    confirmation. For reading the system is asked to forget what it keeps in memory; where it cannot, or where a
    virtual disk's host keeps the file, that is what is measured."""
    block = os.urandom(CHUNK)  # random: some file systems compress
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        started = time.perf_counter()
        written = 0
        while written < size and (written < 4 * CHUNK or time.perf_counter() - started < budget / 2):
            file.write(block)
            written += CHUNK
            if written % (4 * CHUNK) == 0:
                os.fsync(file.fileno())
        os.fsync(file.fileno())
        write_seconds = time.perf_counter() - started
        forget_pages(file.fileno())
        file.seek(0)
        buffer = bytearray(CHUNK)
        done, started = 0, time.perf_counter()
        while time.perf_counter() - started < budget / 2 and (count := file.readinto(buffer)):
            done += count
        read_seconds = time.perf_counter() - started
    return max(done, 1) / read_seconds, written / write_seconds


def forget_pages(descriptor: int) -> None:
    """Ask the system to read the file from the disk next time."""
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return
    with contextlib.suppress(ImportError, AttributeError, OSError):
        fcntl = importlib.import_module("fcntl")
        fcntl.fcntl(descriptor, fcntl.F_NOCACHE, 1)  # macOS


@dataclass(frozen=True, slots=True)
class Reading:
    """Seconds: of the wall clock, and of processor time so far: this process's, of all programs together, and what a
    virtual machine's host took."""

    wall: float
    own: float
    busy: float
    stolen: float


def reading() -> Reading:
    """As of now."""
    times = psutil.cpu_times()
    busy = sum(float(getattr(times, name, 0.0)) for name in BUSY)
    return Reading(time.monotonic(), time.process_time(), busy, float(getattr(times, "steal", 0.0)))


def is_quiet(before: Reading, after: Reading, computing: bool = False) -> bool:
    """Did others leave the machine alone between two readings? `computing`: this process computed all the while.

    Speeds measured beside other programs are too low by an unknown amount: profiles of 19 GB/s and 35 GFLOP/s were kept
    for weeks where there are 29 and 161."""
    wall, own = after.wall - before.wall, after.own - before.own
    others = after.busy - before.busy - own + after.stolen - before.stolen
    alone = others <= (OTHERS + OTHERS_OF_EACH * machine.logical_cores()) * wall
    return alone and (not computing or own >= OWN * wall)


class QuietMinute:
    """Waits for one, looked at now and then: what was between two looks counts as a whole."""

    def __init__(self, read: Callable[[], Reading] = reading) -> None:
        self._read = read
        self.begin()

    def begin(self) -> None:
        """The minute begins now."""
        self._last = self._read()
        self._since = self._last.wall

    def came(self) -> bool:
        """Has it been quiet for a minute up to now?"""
        now = self._read()
        if now.wall - self._last.wall >= SHORTEST:
            if not is_quiet(self._last, now):
                self._since = now.wall
            self._last = now
        return self._last.wall - self._since >= MINUTE
