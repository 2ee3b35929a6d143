"""The machine's measured profile, stored with its date until the hardware changes. Knows no model."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from common.files import make_private_folder
from common.folders import cache_folder
from common.store import Store
from engine import machine
from engine.costs import speeds

log = logging.getLogger("engine.costs.profile")

RAM_SECONDS, FLOPS_SECONDS, PRODUCT_SECONDS, DISK_SECONDS = 0.8, 0.6, 0.4, 0.8
# Opens a product with packed weights for a number of threads: the function that computes it, and its operations.
Product = Callable[[int], AbstractContextManager[tuple[Callable[[], object], int]]]
ROUNDS = 2  # two rounds apart in time, so that a short burst of another program disturbs at most one


@dataclass(frozen=True, slots=True)
class Profile:
    """Size and speed of this machine: bytes, bytes per second, operations per second, counts.

    Disk speeds are None where nothing could be written. `ram_available_bytes` is of the moment when the profile was
    requested; everything else was measured at `measured_at` (ISO 8601, UTC). `provisional`: other programs were busy,
    so the speeds may be too low by any amount. `product_flops_per_s`: of a product with packed weights; 0 where none
    was timed.
    """

    ram_total_bytes: int
    ram_available_bytes: int
    read_bandwidth_bytes_per_s: float
    flops_f32_per_s: float
    disk_read_bytes_per_s: float | None
    disk_write_bytes_per_s: float | None
    physical_cores: int
    performance_cores: int
    logical_cores: int
    threads: int
    cpu: str
    last_level_cache_bytes: int
    read_bandwidth_by_threads: dict[int, float]
    measured_at: str
    measuring_seconds: float
    provisional: bool = False
    product_flops_per_s: float = 0.0

    def __post_init__(self) -> None:
        disk = (rate for rate in (self.disk_read_bytes_per_s, self.disk_write_bytes_per_s) if rate is not None)
        rates = [self.read_bandwidth_bytes_per_s, self.flops_f32_per_s, *disk, *self.read_bandwidth_by_threads.values()]
        if not all(rate > 0 and math.isfinite(rate) for rate in rates):
            raise ValueError("a speed that is not positive")
        if min(self.ram_total_bytes, self.physical_cores, self.threads) < 1:
            raise ValueError("a machine without memory or processors")


# Stored by the machine's fingerprint: a disk that moves between computers holds a profile of each.
PROFILES = Store("profile", 5, Profile, most_entries=16, former=("profile.json",))


def machine_profile(fresh: bool = False, product: Product | None = None) -> Profile:
    """Return the stored profile of this machine, or measure a new one (2 s) if there is none or `fresh` is set.

    `product` is timed too; it needs a library.

    A profile that other programs disturbed never replaces an undisturbed one. Disk errors are logged, not raised.
    """
    kept = stored_profile()
    if kept and not fresh:
        return kept
    profile = measure(cache_folder(), product)
    if kept and profile.provisional:
        if not kept.provisional:
            log.warning("Other programs were busy: what was measured of this machine before stays.")
            return kept
        profile = faster_of(kept, profile)
    try:
        PROFILES.put(profile, machine.fingerprint())
    except OSError as error:
        reason = f"{PROFILES.folder} ({error.strerror})"
        log.warning("The machine's profile cannot be kept in %s: it will be measured again.", reason)
    return profile


def stored_profile() -> Profile | None:
    """Return the stored profile of this machine with the memory available now, or None if there is none."""
    kept = PROFILES.get(machine.fingerprint())
    return replace(kept, ram_available_bytes=machine.memory().available) if kept else None


def measure(folder: Path, product: Product | None = None) -> Profile:
    """Measure everything now. `folder`: where the disk's speed is measured."""
    started = time.perf_counter()
    memory, cores, cache = machine.memory(), machine.physical_cores(), machine.last_level_cache()
    counts = speeds.thread_counts(min(cores, machine.usable_cores()))
    size = speeds.array_bytes(cache, memory.available)
    bandwidth, flops, packed = dict.fromkeys(counts, 0.0), 0.0, 0.0
    before = speeds.processor_times()
    for _ in range(ROUNDS):
        speed = speeds.read_bandwidth(counts, size, RAM_SECONDS / ROUNDS)
        bandwidth = {count: max(bandwidth[count], speed[count]) for count in counts}
        flops = max(flops, speeds.flops_f32(cores, FLOPS_SECONDS / ROUNDS))
        if product:
            with product(machine.default_threads()) as (compute, operations):
                packed = max(packed, operations / speeds.best_seconds(compute, PRODUCT_SECONDS / ROUNDS))
    provisional = not speeds.is_quiet(before, speeds.processor_times(), computing=True)
    disk_read, disk_write = _disk(folder)
    return Profile(
        ram_total_bytes=memory.total,
        ram_available_bytes=memory.available,
        read_bandwidth_bytes_per_s=max(bandwidth.values()),
        flops_f32_per_s=flops,
        disk_read_bytes_per_s=disk_read,
        disk_write_bytes_per_s=disk_write,
        physical_cores=cores,
        performance_cores=machine.performance_cores(),
        logical_cores=machine.logical_cores(),
        threads=machine.default_threads(),
        cpu=machine.cpu_model(),
        last_level_cache_bytes=cache,
        read_bandwidth_by_threads=bandwidth,
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        measuring_seconds=round(time.perf_counter() - started, 3),
        provisional=provisional,
        product_flops_per_s=packed,
    )


def faster_of(older: Profile, newer: Profile) -> Profile:
    """Return the faster of two provisional profiles of this machine: background load can only lower a speed."""
    bandwidth = {
        count: max(speed, older.read_bandwidth_by_threads.get(count, 0.0))
        for count, speed in newer.read_bandwidth_by_threads.items()
    }
    return replace(
        newer,
        read_bandwidth_by_threads=bandwidth,
        read_bandwidth_bytes_per_s=max(bandwidth.values()),
        flops_f32_per_s=max(older.flops_f32_per_s, newer.flops_f32_per_s),
        product_flops_per_s=max(older.product_flops_per_s, newer.product_flops_per_s),
        disk_read_bytes_per_s=max(older.disk_read_bytes_per_s or 0, newer.disk_read_bytes_per_s or 0) or None,
        disk_write_bytes_per_s=max(older.disk_write_bytes_per_s or 0, newer.disk_write_bytes_per_s or 0) or None,
    )


def _disk(folder: Path) -> tuple[float | None, float | None]:
    try:
        make_private_folder(folder)
        return speeds.disk_speeds(folder, DISK_SECONDS)
    except OSError as error:
        log.warning("The disk's speed cannot be measured: %s cannot be written (%s).", folder, error.strerror)
        return None, None
