"""Speeds of memory, arithmetic and disk, found by timing some work, and whether other programs disturbed the timing.

Other programs only ever make a run slower, so the best of several runs counts.
"""

from __future__ import annotations

import contextlib
import importlib
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
SMALLEST_ARRAY, LARGEST_ARRAY = 64 * MIB, 512 * MIB
CACHES = (
    16  # last-level caches in the array that is read: with 4 of them a processor of 32 MiB measured 56 GB/s, not 47
)
CHUNK = 4 * MIB
FEWEST_RUNS = 3
BUSY = (
    "user",
    "nice",
    "system",
    "irq",
    "softirq",
)  # fields of psutil's times; Linux counts guest time as user time, too
# Cores that other programs may use on a quiet machine, as a desktop or services always do: fixed, and per core.
OTHERS, OTHERS_PER_CORE = 0.25, 0.05
OWN = 0.85  # share of a core that a computing process gets on a quiet machine
MINUTE = 60.0  # seconds
MIN_INTERVAL = 0.5  # seconds between two samples, because the system counts in hundredths


def best_seconds(work: Callable[[], object], budget: float) -> float:
    """Return the shortest run of `work` in seconds.

    Runs `work` at least FEWEST_RUNS times, and as often as fits into `budget` seconds.
    """
    seconds, end = list[float](), time.perf_counter() + budget
    while len(seconds) < FEWEST_RUNS or time.perf_counter() < end:
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def array_bytes(last_level_cache: int, available: int) -> int:
    """Return the size of the array to read: CACHES × the last-level cache, so that little of it is cached.

    The array never takes more than an eighth of the available memory, but at least 1 MiB.
    """
    wanted = min(max(CACHES * last_level_cache, SMALLEST_ARRAY), LARGEST_ARRAY)
    return max(MIB, min(wanted, available // 8))


def read_bandwidth(threads: list[int], size: int, budget: float) -> dict[int, float]:
    """Return the bytes per second that each number of threads reads together from an array of `size` bytes.

    The work is an integer sum, which only loads and adds in vector registers and lets other Python threads run. `max`
    reads 10 % slower, and `dot` starts threads itself.
    """
    data = np.ones(size // 8, np.int64)
    speeds = {}
    for count in threads:
        parts = np.array_split(data, count)
        with ThreadPoolExecutor(count) as pool:
            seconds = best_seconds(lambda parts=parts, pool=pool: list(pool.map(np.sum, parts)), budget / len(threads))  # type: ignore[misc]
        speeds[count] = data.nbytes / seconds
    return speeds


def thread_counts(most: int) -> list[int]:
    """Return the thread counts to time: 1 to `most`, or the powers of two and `most` if there are more than 8."""
    if most <= 8:
        return list(range(1, most + 1))
    return [*(2**i for i in range(most.bit_length()) if 2**i < most), most]


def flops_f32(cores: int, budget: float) -> float:
    """Return peak float32 operations per second on all cores, from a large matrix product.

    numpy's library starts the threads itself.
    """
    n = 1024 if cores <= 8 else 2048
    a = np.ones((n, n), np.float32)
    out = np.empty_like(a)
    return 2 * n**3 / best_seconds(lambda: np.matmul(a, a, out=out), budget)


def disk_speeds(folder: Path, budget: float, size: int = 64 * MIB) -> tuple[float, float]:
    """Return bytes per second of sequential reading and writing in `folder`. Raises OSError if it cannot be written.

    The file has no name or is deleted when it is closed, so that nothing stays behind. Writing ends with the disk's
    confirmation. Before reading, the system is asked to drop its cached pages; where the system cannot, or where the
    host of a virtual disk keeps the file in memory, the speed of that cache is measured.
    """
    block = os.urandom(CHUNK)  # random bytes, because some file systems compress
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
        drop_cached_pages(file.fileno())
        file.seek(0)
        buffer = bytearray(CHUNK)
        done, started = 0, time.perf_counter()
        while time.perf_counter() - started < budget / 2 and (count := file.readinto(buffer)):
            done += count
        read_seconds = time.perf_counter() - started
    return max(done, 1) / read_seconds, written / write_seconds


def drop_cached_pages(descriptor: int, start: int = 0, length: int = 0) -> None:
    """Ask the system to drop its cached pages of the file, so that the next read comes from the disk.

    `start`, `length`: the part of the file in bytes; a length of 0 reaches to its end.
    """
    if hasattr(os, "posix_fadvise"):
        os.posix_fadvise(descriptor, start, length, os.POSIX_FADV_DONTNEED)
        return
    with contextlib.suppress(ImportError, AttributeError, OSError):
        fcntl = importlib.import_module("fcntl")
        fcntl.fcntl(descriptor, fcntl.F_NOCACHE, 1)  # macOS


@dataclass(frozen=True, slots=True)
class ProcessorTimes:
    """Clocks at one moment, in seconds: wall clock, and processor time used so far.

    `own`: processor time of this process; `busy`: of all programs together; `stolen`: time that a virtual machine's
    host took for others.
    """

    wall: float
    own: float
    busy: float
    stolen: float


def processor_times() -> ProcessorTimes:
    """Read the clocks now."""
    times = psutil.cpu_times()
    busy = sum(float(getattr(times, name, 0.0)) for name in BUSY)
    return ProcessorTimes(time.monotonic(), time.process_time(), busy, float(getattr(times, "steal", 0.0)))


def is_quiet(before: ProcessorTimes, after: ProcessorTimes, computing: bool = False) -> bool:
    """Return whether other programs left the processor alone between two samples.

    `computing`: this process computed all the time, so it must have got most of a core. Speeds measured beside other
    programs are too low by an unknown amount: profiles of 19 GB/s and 35 GFLOP/s were stored for weeks on a machine
    that reaches 29 and 161.
    """
    wall, own = after.wall - before.wall, after.own - before.own
    others = after.busy - before.busy - own + after.stolen - before.stolen
    alone = others <= (OTHERS + OTHERS_PER_CORE * machine.logical_cores()) * wall
    return alone and (not computing or own >= OWN * wall)


class QuietMinuteDetector:
    """Detector of a minute in which other programs left the processor alone.

    The time between two calls of `has_passed` counts as quiet or busy as a whole.
    """

    def __init__(self, read: Callable[[], ProcessorTimes] = processor_times) -> None:
        self._read = read
        self.restart()

    def restart(self) -> None:
        """Start waiting for a new quiet minute."""
        self._last = self._read()
        self._since = self._last.wall

    def has_passed(self) -> bool:
        """Read the processor's clocks, and return whether other programs left it alone during the last minute.

        The minute begins anew with `restart`, and whenever the time since the previous call was busy.
        """
        now = self._read()
        if now.wall - self._last.wall >= MIN_INTERVAL:
            if not is_quiet(self._last, now):
                self._since = now.wall
            self._last = now
        return self._last.wall - self._since >= MINUTE
