"""Remembers that a library crashed with a model, so that the next load is spared it. Knows neither.

While a mark is watched, Python's faulthandler has a file in the cache folder open: a fatal signal (SIGSEGV, SIGABRT,
SIGILL, SIGBUS, SIGFPE) makes it write there as its last deed. A process that was killed, or a computer that lost its
power, leaves the file empty, and one that ended orderly none.
"""

from __future__ import annotations

import faulthandler
import logging
import os
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from common.files import make_private_folder
from common.folders import cache_folder
from common.store import digest, evict

log = logging.getLogger("engine.crash_mark")

MOST_KEPT, MOST_BYTES = 100, 4 << 20  # crashes; what Python says of one takes some 2 KB


@dataclass(frozen=True, slots=True)
class CrashMark:
    """`library`: its name and version, so that another version is tried again; `model`: its file's identity."""

    library: str
    model: str

    @property
    def is_set(self) -> bool:
        """Did a process crash with this pair?"""
        return bool(self._set())

    def clear(self) -> None:
        """Let it be tried again."""
        for path in self._set():
            path.unlink(missing_ok=True)

    @property
    def name(self) -> str:
        """What the names of its files begin with, one for each process."""
        return digest(self.library, self.model)

    def _set(self) -> list[Path]:
        return [path for path in folder().glob(f"{self.name}-*") if path.stat().st_size]


class CrashWatch:
    """This process's: a crash sets the mark that is watched."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._enabled_before = False

    def watch(self, mark: CrashMark | None) -> None:
        """Watch this mark instead of another, None: no more. Where nothing can be written a crash goes unnoticed."""
        before, self._file = self._file, None
        if mark:
            self._file = open_file(mark)
        if self._file:
            self._enabled_before |= not before and faulthandler.is_enabled()
            faulthandler.enable(self._file, all_threads=False)
        elif before:
            faulthandler.disable()
            if self._enabled_before:
                faulthandler.enable()
        if before:
            before.close()
            if not self._file or self._file.name != before.name:
                Path(before.name).unlink(missing_ok=True)


def folder() -> Path:
    """Not a `Store`: what a dying process writes has no checksum. Its names and limits are a store's."""
    return cache_folder() / "crashes"


def open_file(mark: CrashMark) -> IO[bytes] | None:
    """A file for each process: one that ends must not delete what another one may still write to."""
    path = folder() / f"{mark.name}-{os.getpid()}"
    try:
        make_private_folder(path.parent)
        evict(folder(), MOST_KEPT, MOST_BYTES, is_left)
        return path.open("wb", buffering=0)
    except OSError as error:
        log.warning("A crash of the engine's library would go unnoticed: %s cannot be written.", path.parent)
        log.info("%s", error)
        return None


def is_left(name: str, size: int) -> bool:
    """Is it the empty file of a process that was killed, which tells nothing?"""
    owner = name.rpartition("-")[2]
    return not size and owner.isdigit() and not psutil.pid_exists(int(owner))
