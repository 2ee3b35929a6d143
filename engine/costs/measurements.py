"""What is measured of this machine and of the loaded model: kept, measured in idle time, learned from real passes.

Nothing is measured unless it is asked for or the engine is idle. Until then decisions rest on what a like model costs
on another computer, and on the first real passes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Protocol

import msgspec

from common.failures import Failure
from common.store import Store
from engine.costs.calibration import Calibration, Progress
from engine.costs.cost_model import CostModel, Timings, nt, td, tl
from engine.costs.profile import Profile, kept_profile, machine_profile
from engine.costs.speeds import QuietMinute
from engine.machine import Fingerprint, fingerprint, library_version
from engine.run_subprocess import run_apart
from engine.runtime.interface import RollbackRuntime, Runtime
from models.shapes import KVType, Shapes

log = logging.getLogger("engine.costs")

SLOW_DISK = 200e6  # bytes per second, assumed until the disk is measured: an old SATA disk
MOST_SET_ASIDE = 64 << 20  # bytes of keys and values that are copied for a calibration in idle time
MOST_ATTEMPTS = 3  # calibrations on a machine that is always busy
LEARN_TOGETHER = 8  # real passes
REFRESH_AFTER = 500  # real passes after which what was learned from them is kept


@dataclass(frozen=True, slots=True)
class Key:
    """What timings are valid for. `model`: `models.identity.file_identity`; `build`: the library's build string."""

    model: str
    threads: int
    kv_type: KVType
    build: str
    machine: Fingerprint

    @property
    def address(self) -> tuple[str, int, KVType, str]:
        """Under what they are kept: what another build or machine replaces is not part of it."""
        return self.model, self.threads, self.kv_type, self.build.partition(" ")[0]


class Kept(msgspec.Struct, frozen=True):
    """A calibration as it is kept, with the moment of its end (ISO 8601, UTC). `by_part`: some of the model's layers
    were timed, which is good enough to compare libraries."""

    key: Key
    timings: Timings
    measured_at: str
    by_part: bool = False


# A calibration for each model, settings and library, replaced when build or machine change.
CALIBRATIONS = Store("calibration", 2, Kept)


def kept(key: Key, by_part: bool = False) -> Kept | None:
    """The calibration kept for exactly this key; None if there is none, or it is of no use here (noted in the log).

    `by_part`: one of some layers will do."""
    found = CALIBRATIONS.get(*key.address)
    if found and found.by_part and not by_part:
        return None
    if found and found.key != key:
        log.warning("The model's kept calibration is of another machine or library: it is measured again.")
        return None
    return found


def timings_with(package: str, model: str, threads: int, kv_type: KVType) -> Timings | None:
    """What is kept for a library of this machine that need not be loaded; so its version is compared, not its build."""
    found = CALIBRATIONS.get(model, threads, kv_type, package)
    if found is None or found.key.machine != fingerprint():
        return None
    version = library_version(package)
    words = found.key.build.replace(";", " ").split()
    return found.timings if version == "packaged" or words[1:2] == [version] else None


def keep(key: Key, timings: Timings, by_part: bool = False) -> None:
    """Keep a calibration; a folder that cannot be written is noted in the log, no failure.

    A disturbed one is not kept: with two threads that wait for each other, a busy core makes a pass up to 100 × slower,
    and a wrong table would be believed for weeks."""
    if timings.disturbed:
        log.info("the calibration was disturbed and is not kept")
        return
    record = Kept(key, timings, datetime.now(UTC).isoformat(timespec="seconds"), by_part)
    try:
        CALIBRATIONS.put(record, *key.address)
    except OSError as error:
        reason = f"{CALIBRATIONS.folder} ({error.strerror})"
        log.warning("The model's calibration cannot be kept in %s: it will be measured again.", reason)


class TimedPass(Protocol):
    """A pass that was timed: `inputs` tokens and `drafted` ones after `depth` cached ones, logits for `rows` ones."""

    @property
    def inputs(self) -> int:
        """Tokens that run without a draft."""

    @property
    def drafted(self) -> int:
        """Tokens of the draft behind them."""

    @property
    def depth(self) -> int:
        """Tokens in the KV cache before."""

    @property
    def rows(self) -> int:
        """Tokens whose logits were computed."""

    @property
    def seconds(self) -> float:
        """The pass alone."""


@dataclass(frozen=True, slots=True)
class Peaks:
    """What the published rule of partial-fixed KV caching compares, in its own names (`engine.costs.cost_model`)."""

    nt: float
    td: Callable[[int], float]
    tl: Callable[[int], float]


class Measurements:
    """Of the loaded model of this `key`; `shapes` are None where the file's header does not tell them. `prior`: what
    its passes may cost, for as long as they were not timed."""

    def __init__(self, key: Key, shapes: Shapes | None, prior: Timings | None = None) -> None:
        self.key = key
        self.shapes = shapes
        self.profile: Profile | None = kept_profile()
        found = kept(key)
        self.cost_model: CostModel | None = None
        if found:
            self.cost_model = CostModel(found.timings)
        elif prior:
            self.cost_model = CostModel(prior, provisional=True)
        self._observed = 0
        self._passes: list[TimedPass] = []
        self._attempts = 0  # calibrations that came to nothing
        self.quiet = QuietMinute()

    @property
    def calibrated(self) -> bool:
        """Were this model's passes timed on this machine?"""
        return self.cost_model is not None and not self.cost_model.provisional

    @property
    def disk_bytes_per_s(self) -> float:
        """How fast a saved chat comes from the disk."""
        return (self.profile and self.profile.disk_read_bytes_per_s) or SLOW_DISK

    def pass_seconds(self, inputs: int, depth: int) -> float | None:
        """Seconds of a pass of so many tokens, logits for the last one; None if nothing was measured yet."""
        return self.cost_model.pass_seconds(inputs, depth, rows=1) if self.cost_model and self.calibrated else None

    def prefill_seconds(self, tokens: int) -> float | None:
        """Seconds to read `tokens` from nothing, None if nothing was measured yet."""
        return self.cost_model.prefill_seconds(tokens) if self.cost_model else None

    def peaks(self) -> Peaks | None:
        """Of this machine, which is measured now if it was not yet (2 s), for this model; None without shapes."""
        if self.shapes is None:
            return None
        if self.profile is None:
            self.profile = machine_profile()
        profile, shapes = self.profile, self.shapes
        return Peaks(
            nt=nt(profile, shapes),
            td=partial(td, profile, shapes),
            tl=lambda fixed: tl(profile, shapes, fixed, self.key.kv_type),
        )

    def observe(self, passed: TimedPass) -> None:
        """Learn from a real step: from several at once, since between two passes all of this code is cold."""
        self._passes.append(passed)
        if len(self._passes) < (LEARN_TOGETHER if self.calibrated else 1):
            return
        for each in self._passes:
            if self.cost_model:
                self.cost_model.observe(each.inputs + each.drafted, each.depth, each.seconds, rows=each.rows)
                self._observed += 1
        self._passes.clear()

    def measure(self, target: Runtime) -> Iterator[None]:
        """Measure what is not known yet, in idle time; the target's cache is as before afterwards. Raises Stopped.

        What other programs disturbed is measured again when they have been quiet for a minute."""
        again = self.awaits_quiet and self.quiet.came()
        if self.profile is None or (self.profile.provisional and again):
            for _ in measured_apart():
                yield
            self.profile = kept_profile()
            self.quiet.begin()
        if not self.calibrated and self._may_calibrate(again) and target.state_bytes <= MOST_SET_ASIDE:
            self.quiet.begin()
            try:
                yield from self._calibrate(target)
            except Failure as failure:
                log.info("no calibration: %s", failure)
                self._attempts = MOST_ATTEMPTS
        elif self.cost_model and self.calibrated and self._observed >= REFRESH_AFTER:
            self._observed = 0
            keep(self.key, self.cost_model.refreshed())

    @property
    def awaits_quiet(self) -> bool:
        """Is there something to measure again when other programs are quiet? `measure` is to be called until then."""
        disturbed = not self.calibrated and 0 < self._attempts < MOST_ATTEMPTS
        return disturbed or (self.profile is not None and self.profile.provisional)

    def _may_calibrate(self, again: bool) -> bool:
        return self._attempts == 0 or (again and self._attempts < MOST_ATTEMPTS)

    def calibrate(self, target: Runtime) -> None:
        """Time the model's passes now. Raises Failure where that cannot be done, and Stopped."""
        for _ in self._calibrate(target):
            pass
        if not self.calibrated:
            raise Failure("disturbed.by_programs")

    def _calibrate(self, target: Runtime) -> Iterator[None]:
        assert isinstance(target, RollbackRuntime), target
        put_back = target.snapshot()
        try:
            yield from self._time_passes(target)
        finally:
            put_back()

    def _time_passes(self, target: Runtime) -> Iterator[None]:
        for event in Calibration(target, self.key.threads).run():
            if isinstance(event, Timings) and event.disturbed:
                self._attempts += 1
                log.info("calibration %d was disturbed by other programs", self._attempts)
            elif isinstance(event, Timings):
                keep(self.key, event)
                self.cost_model = CostModel(event)
                log.info("calibrated: c(8) = %.2f, nt = %d", self.cost_model.c(8), self.cost_model.nt_measured)
            elif isinstance(event, Progress):
                yield


def measured_apart() -> Iterator[int | None]:
    """Measure and keep the machine's profile in a process of its own, whose large arrays no plan lists."""
    return run_apart("profile", "--json", "--fresh")
