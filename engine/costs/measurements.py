"""Measurements of the loaded model and this machine: stored, made in idle time, and learned from real passes.

Nothing is measured unless it is requested or the engine is idle. Until then decisions rest on the timings of a similar
model on another computer, and on the first real passes.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import msgspec

from common.failures import Failure
from common.folders import cache_folder
from common.planning import KVType
from common.store import Store
from engine.costs.calibration import Calibration
from engine.costs.cost_model import CostModel, Timings, nt, td, timings_with_threads, tl
from engine.costs.profile import Profile, machine_profile, stored_profile
from engine.costs.speeds import QuietMinuteDetector
from engine.costs.threads import fewer_threads, power_saving_counts
from engine.machine import Fingerprint, fingerprint, library_version, thread_candidates
from engine.run_subprocess import run_engine_command
from engine.runtime.contexts import ThreadCounts
from engine.runtime.interface import RollbackRuntime, Runtime
from models.shapes import Shapes

log = logging.getLogger("engine.costs")

SLOW_DISK = 200e6  # bytes per second, assumed until the disk is measured: an old SATA disk
SMALL_SNAPSHOT = 64 << 20  # bytes: larger KV caches are copied for a calibration only in a quiet minute
SNAPSHOT_SECONDS = 4.0  # of the disk's time: KV caches that take longer to write are not copied
MAX_ATTEMPTS = 3  # disturbed calibrations, after which no other one is tried
OBSERVE_GROUP = 8  # real passes that are processed together
REFRESH_AFTER = 500  # real passes after which the corrected timings are stored


@dataclass(frozen=True, slots=True)
class CalibrationKey:
    """Conditions under which timings are valid.

    `model`: `models.identity.file_identity`. `threads`: number of threads that the user chose; 0: those that are
    fastest, which the timings name. `build`: the library's build string. `way`: another way to compute
    attention or to keep keys and values than the usual one (`suffix` of `KVMode`, `flash_attention_suffix`).
    """

    model: str
    threads: int
    kv_type: KVType
    build: str
    machine: Fingerprint
    way: str = ""

    @property
    def address(self) -> tuple[str, int, KVType, str]:
        """Key of the store: a calibration by a new build or on a new machine replaces the old one."""
        return self.model, self.threads, self.kv_type, self.build.partition(" ")[0] + self.way


class StoredCalibration(msgspec.Struct, frozen=True):
    """Stored calibration with the time of its end (ISO 8601, UTC).

    `by_part`: only some of the model's layers were timed, which is enough to compare libraries.
    """

    key: CalibrationKey
    timings: Timings
    measured_at: str
    by_part: bool = False


# One calibration per model, settings and library; it is replaced when build or machine change.
CALIBRATIONS = Store("calibration", 3, StoredCalibration)


def stored_calibration(key: CalibrationKey, by_part: bool = False) -> StoredCalibration | None:
    """Return the calibration stored for exactly this key, or None if there is none or it is invalid here (logged).

    `by_part`: a calibration of some layers is enough.
    """
    stored = CALIBRATIONS.get(*key.address)
    if stored and stored.by_part and not by_part:
        return None
    if stored and stored.key != key:
        log.warning("The model's kept calibration is of another machine or library: it is measured again.")
        return None
    return stored


def timings_of_package(package: str, model: str, threads: int, kv_type: KVType, way: str = "") -> Timings | None:
    """Return the timings stored for a library that is not loaded, or None if they are of another version or machine.

    The library's build string is unknown until it is loaded, so its package version is compared. `threads` and `way`
    are those of the `CalibrationKey`.
    """
    stored = CALIBRATIONS.get(model, threads, kv_type, package + way)
    if stored is None or stored.key.machine != fingerprint():
        return None
    version = library_version(package)
    words = stored.key.build.replace(";", " ").split()
    return stored.timings if version == "packaged" or words[1:2] == [version] else None


def store_calibration(key: CalibrationKey, timings: Timings, by_part: bool = False) -> None:
    """Store a calibration; a folder that cannot be written is logged.

    A disturbed calibration is not stored: with two threads that wait for each other, a busy core makes a pass up to 100
    × slower, and a wrong table would be trusted for weeks.
    """
    if timings.disturbed:
        log.info("the calibration was disturbed and is not kept")
        return
    record = StoredCalibration(key, timings, datetime.now(UTC).isoformat(timespec="seconds"), by_part)
    try:
        CALIBRATIONS.put(record, *key.address)
    except OSError as error:
        reason = f"{CALIBRATIONS.folder} ({error.strerror})"
        log.warning("The model's calibration cannot be kept in %s: it will be measured again.", reason)


class CostMeasurements:
    """Measurements of the loaded model with this `key`, and of this machine.

    `threads`: number of threads that the model uses before it was timed. `shapes`: None if the file's header does not
    give them. `prior`: estimated timings, used until the model was timed.

    While power is saved (`save_power`), `cost_model` and `thread_counts` are those of fewer threads.
    """

    def __init__(self, key: CalibrationKey, threads: int, shapes: Shapes | None, prior: Timings | None = None) -> None:
        self.key = key
        self.threads = threads
        self.shapes = shapes
        self.profile: Profile | None = stored_profile()
        stored = stored_calibration(key)
        self._saves_power = False
        self._with_usual_threads: CostModel | None = None
        self._with_fewer_threads: CostModel | None = None
        if stored:
            self.cost_model = CostModel(stored.timings)
        elif prior:
            self.cost_model = CostModel(prior, provisional=True)
        self._observed = 0
        self._passes: list[tuple[int, int, float, int]] = []
        self._attempts = 0  # calibrations without a result
        self._calibration: Calibration | None = None  # begun in an earlier pause
        self._cache_is_large = False  # so that a calibration waits for a quiet minute
        self._profile_attempts = 0  # finished measurements of the machine, stored or not
        self.quiet_minute = QuietMinuteDetector()

    @property
    def cost_model(self) -> CostModel | None:
        """Costs of passes with the numbers of threads in use; None before anything is known."""
        return (self._saves_power and self._with_fewer_threads) or self._with_usual_threads

    @cost_model.setter
    def cost_model(self, costs: CostModel | None) -> None:
        """Use these costs with the usual numbers of threads, and what follows from them with fewer."""
        self._with_usual_threads, self._with_fewer_threads = costs, None
        timings = costs.timings if self.calibrated and costs else None
        if timings and timings.thread_costs:
            usual = ThreadCounts(timings.decode_threads, timings.prompt_threads)
            saving = power_saving_counts(timings.thread_costs, usual)
            fewer = timings_with_threads(timings, saving.decode) if saving != usual else None
            # Estimated, so real passes should soon outweigh it, as they do in the case of another computer's timings.
            self._with_fewer_threads = CostModel(fewer, provisional=True) if fewer else None

    def save_power(self, on: bool) -> None:
        """Take the costs and numbers of threads that save power from now on, or the usual ones."""
        if on != self._saves_power:
            self._learn_from_passes()  # they ran with the numbers so far
            self._saves_power = on

    @property
    def calibrated(self) -> bool:
        """Whether this model's passes were timed on this machine."""
        return self._with_usual_threads is not None and not self._with_usual_threads.provisional

    @property
    def disk_bytes_per_s(self) -> float:
        """Reading speed of the disk in bytes per second; SLOW_DISK before it was measured."""
        return (self.profile and self.profile.disk_read_bytes_per_s) or SLOW_DISK

    def pass_seconds(self, inputs: int, depth: int) -> float | None:
        """Return the seconds of a pass of `inputs` tokens with logits for the last one.

        Returns None before this model was timed on this machine: estimates from another computer are not used.
        """
        return self.cost_model.pass_seconds(inputs, depth, rows=1) if self.cost_model and self.calibrated else None

    def peaks(self) -> tuple[float, Callable[[int], float], Callable[[int], float]] | None:
        """Return `nt`, `td` and `tl` of the published rule of partial-fixed KV caching for this model.

        Returns None if its shapes are unknown. Measures the machine first if that was not done yet (2 s).
        """
        if self.shapes is None:
            return None
        if self.profile is None:
            self.profile = machine_profile()
        profile, shapes = self.profile, self.shapes
        load = partial(tl, profile, shapes, kv_type=self.key.kv_type)
        return nt(profile, shapes), partial(td, profile, shapes), load

    def observe(self, tokens: int, depth: int, seconds: float, rows: int) -> None:
        """Learn from a real pass of `tokens` tokens after `depth` cached ones, which took `seconds` by itself.

        `rows`: number of tokens whose logits were computed. Passes are processed in groups, because between two passes
        none of this code is in the processor's caches.
        """
        self._passes.append((tokens, depth, seconds, rows))
        if len(self._passes) >= (OBSERVE_GROUP if self.calibrated else 1):
            self._learn_from_passes()

    def _learn_from_passes(self) -> None:
        for each in self._passes:
            if self.cost_model:
                self.cost_model.observe(*each)
                self._observed += self.cost_model is self._with_usual_threads
        self._passes.clear()

    def measure(self, target: Runtime) -> Iterator[None]:
        """Measure in idle time what is still unknown; afterwards the target's cache is as before. Raises Stopped.

        A measurement that other programs disturbed is repeated after a quiet minute.
        """
        is_quiet = self.awaits_quiet and self.quiet_minute.has_passed()
        if self._may_measure_profile(is_quiet):
            for _ in measure_profile_in_subprocess():
                yield
            self.profile = stored_profile()
            self._profile_attempts += 1
            self.quiet_minute.restart()
        if not self.calibrated and self._may_calibrate(is_quiet) and self._may_copy(target.state_bytes, is_quiet):
            self.quiet_minute.restart()
            try:
                yield from self._calibrate(target)
            except Failure as failure:
                log.info("no calibration: %s", failure)
                self._attempts = MAX_ATTEMPTS
        elif self._with_usual_threads and self.calibrated and self._observed >= REFRESH_AFTER:
            self._observed = 0
            store_calibration(self.key, self._with_usual_threads.refreshed())

    @property
    def thread_counts(self) -> ThreadCounts:
        """Numbers of threads to use: those that were found to be best; before, or if the user chose one, `threads`."""
        timings = self.cost_model.timings if self.calibrated and self.cost_model else None
        if timings is None or not timings.decode_threads:
            return ThreadCounts(self.threads, self.threads)
        return ThreadCounts(timings.decode_threads, timings.prompt_threads)

    @property
    def awaits_quiet(self) -> bool:
        """Whether a disturbed measurement waits for a quiet minute; until then, call `measure` repeatedly."""
        waits = not self.calibrated and self._attempts < MAX_ATTEMPTS and (self._attempts > 0 or self._cache_is_large)
        return waits or (self.profile is not None and self.profile.provisional)

    def _may_measure_profile(self, is_quiet: bool) -> bool:
        if self.profile is None:  # a full disk keeps none, and measuring takes two seconds
            return self._profile_attempts < MAX_ATTEMPTS
        return self.profile.provisional and is_quiet

    def _may_calibrate(self, is_quiet: bool) -> bool:
        return self._attempts == 0 or (is_quiet and self._attempts < MAX_ATTEMPTS)

    def _may_copy(self, size: int, is_quiet: bool) -> bool:
        """Return whether a KV cache of `size` bytes may be copied so that a calibration can use its room.

        A large copy is a file. Writing it again and again between a user's messages would wear the disk, and on a full
        disk it would lie in memory.
        """
        affordable = size <= SNAPSHOT_SECONDS * self.disk_bytes_per_s
        self._cache_is_large = size > SMALL_SNAPSHOT and affordable
        return size <= SMALL_SNAPSHOT or (is_quiet and affordable and free_disk_bytes() > 2 * size)

    def calibrate(self, target: Runtime) -> None:
        """Time the model's passes now.

        Raises Stopped, and Failure if the model cannot be timed or other programs disturbed the timing.
        """
        for _ in self._calibrate(target):
            pass
        if not self.calibrated:
            raise Failure("disturbed.by_programs")

    def _calibrate(self, target: Runtime) -> Iterator[None]:
        assert isinstance(target, RollbackRuntime), target
        restore = target.snapshot()
        try:
            yield from self._time_passes(target)
        finally:
            restore()
            target.resize(target.n_ctx)  # a context of ik_llama.cpp keeps room for the most logits of any pass

    def _time_passes(self, target: Runtime) -> Iterator[None]:
        if self._calibration is None:
            self._calibration = new_calibration(target, self.key.threads, self.threads)
        for timings in self._calibration.run():
            if timings is None:
                yield
            elif timings.disturbed:
                self._attempts += 1
                log.info("calibration %d was disturbed by other programs", self._attempts)
            else:
                store_calibration(self.key, timings)
                self.cost_model, self._calibration = CostModel(timings), None
                log.info("calibrated: c(8) = %.2f, nt = %d", self.cost_model.c(8), self.cost_model.nt_measured)


def new_calibration(target: Runtime, chosen: int, threads: int) -> Calibration:
    """Return a calibration that also finds the best numbers of threads, unless the user has `chosen` one (0: not).

    `threads` is the number that the target uses so far.
    """
    if chosen:
        return Calibration(target, threads)
    others = {*thread_candidates(), *fewer_threads(threads)} - {threads}
    return Calibration(target, threads, others=sorted(others))


def free_disk_bytes() -> int:
    """Return the bytes that are free on the disk of the cache folder; 0 if the folder does not exist."""
    try:
        return shutil.disk_usage(cache_folder()).free
    except OSError:
        return 0


def measure_profile_in_subprocess() -> Iterator[int | None]:
    """Measure and store the machine's profile in another process, because no memory plan includes its large arrays."""
    return run_engine_command("profile", "--json", "--fresh")
