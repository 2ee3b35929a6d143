"""What calibrations found, kept per model file, settings, library and machine. Times nothing."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from common.files import write_atomically
from common.folders import cache_folder
from engine.costs.cost_model import Timings
from engine.machine import Fingerprint, fingerprint, library_version
from models.shapes import KVType

log = logging.getLogger("engine.calibrated")

VERSION = 1


@dataclass(frozen=True, slots=True)
class Key:
    """What timings are valid for. `model`: `models.identity.file_identity`; `build`: the library's build string."""

    model: str
    threads: int
    kv_type: KVType
    build: str
    machine: Fingerprint

    @property
    def path(self) -> Path:
        """Where they are kept: a file per model, settings and library, replaced when build or machine change."""
        return path_of(self.model, self.threads, self.kv_type, self.build.partition(" ")[0])


def path_of(model: str, threads: int, kv_type: KVType, package: str) -> Path:
    """`package`: the library's, which is the first word of its build string."""
    name = hashlib.sha256(f"{model} {threads} {kv_type} {package}".encode()).hexdigest()[:32]
    return cache_folder() / "calibration" / f"{name}.json"


class Kept(msgspec.Struct, frozen=True):
    """A calibration in its file."""

    version: int
    key: Key
    timings: Timings
    measured_at: str


def kept(key: Key) -> Kept | None:
    """The calibration kept for exactly this key; None if there is none, or it is of no use here (noted in the log)."""
    found = _read(key.path)
    if found and found.key != key:
        log.warning("The model's kept calibration is of another machine or library: it is measured again.")
        return None
    return found


def timings_with(package: str, model: str, threads: int, kv_type: KVType) -> Timings | None:
    """What is kept for a library of this machine that need not be loaded; so its version is compared, not its build."""
    found = _read(path_of(model, threads, kv_type, package))
    if found is None or found.key.machine != fingerprint():
        return None
    version = library_version(package)
    words = found.key.build.replace(";", " ").split()
    return found.timings if version == "packaged" or words[1:2] == [version] else None


def _read(path: Path) -> Kept | None:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Kept)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        log.warning("The model's kept calibration is damaged: it is measured again.")
        log.info("%s: %s", path, error)
        return None
    return found if found.version == VERSION else None


def keep(key: Key, timings: Timings) -> None:
    """Keep a calibration; a folder that cannot be written is noted in the log, no failure.

    A disturbed one is not kept: with two threads that wait for each other, a busy core makes a pass up to 100 × slower,
    and a wrong table would be believed for weeks."""
    if timings.disturbed:
        log.info("the calibration was disturbed and is not kept")
        return
    record = Kept(VERSION, key, timings, datetime.now(UTC).isoformat(timespec="seconds"))
    try:
        write_atomically(key.path, msgspec.json.encode(record))
    except OSError as error:
        reason = f"{key.path.parent} ({error.strerror})"
        log.warning("The model's calibration cannot be kept in %s: it will be measured again.", reason)
