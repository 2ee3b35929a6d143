"""What calibrations found, kept per model file, settings, library and machine. Times nothing."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec

from common.store import Store
from engine.costs.cost_model import Timings
from engine.machine import Fingerprint, fingerprint, library_version
from models.shapes import KVType

log = logging.getLogger("engine.calibrated")


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
    """A calibration as it is kept, with the moment of its end (ISO 8601, UTC)."""

    key: Key
    timings: Timings
    measured_at: str


# A calibration for each model, settings and library, replaced when build or machine change.
CALIBRATIONS = Store("calibration", 2, Kept)


def kept(key: Key) -> Kept | None:
    """The calibration kept for exactly this key; None if there is none, or it is of no use here (noted in the log)."""
    found = CALIBRATIONS.get(*key.address)
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


def keep(key: Key, timings: Timings) -> None:
    """Keep a calibration; a folder that cannot be written is noted in the log, no failure.

    A disturbed one is not kept: with two threads that wait for each other, a busy core makes a pass up to 100 × slower,
    and a wrong table would be believed for weeks."""
    if timings.disturbed:
        log.info("the calibration was disturbed and is not kept")
        return
    record = Kept(key, timings, datetime.now(UTC).isoformat(timespec="seconds"))
    try:
        CALIBRATIONS.put(record, *key.address)
    except OSError as error:
        reason = f"{CALIBRATIONS.folder} ({error.strerror})"
        log.warning("The model's calibration cannot be kept in %s: it will be measured again.", reason)
