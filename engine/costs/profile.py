"""The measured profile of this machine, kept with its date until the hardware changes. Knows no model."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from common.files import make_private_folder
from common.folders import cache_folder
from common.store import Store
from engine import machine
from engine.costs import speeds

log = logging.getLogger("engine.costs.profile")

RAM_SECONDS, FLOPS_SECONDS, DISK_SECONDS = 0.8, 0.6, 0.8
ROUNDS = 2  # spread out in time: another program's moment of work spoils one at most


@dataclass(frozen=True, slots=True)
class Profile:
    """Bytes, bytes per second, operations per second, counts. Disk speeds are None where nothing could be written.

    `ram_available_bytes` is of the moment when the profile was asked for; everything else is as of `measured_at`.
    `provisional`: other programs computed meanwhile, so that speeds may be too low by any amount."""

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

    def __post_init__(self) -> None:
        disk = (rate for rate in (self.disk_read_bytes_per_s, self.disk_write_bytes_per_s) if rate is not None)
        rates = [self.read_bandwidth_bytes_per_s, self.flops_f32_per_s, *disk, *self.read_bandwidth_by_threads.values()]
        if not all(rate > 0 and math.isfinite(rate) for rate in rates):
            raise ValueError("a speed that is not positive")
        if min(self.ram_total_bytes, self.physical_cores, self.threads) < 1:
            raise ValueError("a machine without memory or processors")

    def as_json(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


# By the machine's fingerprint: a disk that moves between computers keeps a profile of each.
PROFILES = Store("profile", 3, Profile, most_entries=16, former=("profile.json",))


def machine_profile(fresh: bool = False) -> Profile:
    """The kept profile, or a new one (2 s) if there is none of this machine or `fresh` is wished; never fails.

    What was measured beside other programs never replaces what was measured in quiet."""
    kept = kept_profile()
    if kept and not fresh:
        return kept
    profile = measure(cache_folder())
    if kept and profile.provisional:
        if not kept.provisional:
            log.warning("Other programs were busy: what was measured of this machine before stays.")
            return kept
        profile = best_of(kept, profile)
    try:
        PROFILES.put(profile, machine.fingerprint())
    except OSError as error:
        reason = f"{PROFILES.folder} ({error.strerror})"
        log.warning("The machine's profile cannot be kept in %s: it will be measured again.", reason)
    return profile


def kept_profile() -> Profile | None:
    """The kept profile of this machine with the memory available now, None if there is none."""
    kept = PROFILES.get(machine.fingerprint())
    return replace(kept, ram_available_bytes=machine.memory().available) if kept else None


def measure(folder: Path) -> Profile:
    """Measure everything now; `folder` is where the disk is measured."""
    started = time.perf_counter()
    memory, cores, cache = machine.memory(), machine.physical_cores(), machine.last_level_cache()
    counts = speeds.thread_counts(min(cores, machine.usable_cores()))
    size = speeds.array_bytes(cache, memory.available)
    bandwidth, flops = dict.fromkeys(counts, 0.0), 0.0
    before = speeds.reading()
    for _ in range(ROUNDS):
        found = speeds.read_bandwidth(counts, size, RAM_SECONDS / ROUNDS)
        bandwidth = {count: max(bandwidth[count], found[count]) for count in counts}
        flops = max(flops, speeds.flops_f32(cores, FLOPS_SECONDS / ROUNDS))
    provisional = not speeds.is_quiet(before, speeds.reading(), computing=True)
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
    )


def best_of(older: Profile, newer: Profile) -> Profile:
    """Of two provisional ones of the same machine: other programs only ever make a speed lower."""
    bandwidth = {
        count: max(speed, older.read_bandwidth_by_threads.get(count, 0.0))
        for count, speed in newer.read_bandwidth_by_threads.items()
    }
    return replace(
        newer,
        read_bandwidth_by_threads=bandwidth,
        read_bandwidth_bytes_per_s=max(bandwidth.values()),
        flops_f32_per_s=max(older.flops_f32_per_s, newer.flops_f32_per_s),
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
