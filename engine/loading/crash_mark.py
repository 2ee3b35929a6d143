"""Crash marks: record that a library crashed with a model, so that the next load avoids that library.

While a mark is watched, Python's faulthandler has a file in the cache folder open: a fatal signal (SIGSEGV, SIGABRT,
SIGILL, SIGBUS, SIGFPE) makes it write there before the process dies. A process that was killed, or a computer that lost
its power, leaves the file empty; a process that ended normally leaves no file.

This module knows neither libraries nor models.
"""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from common.files import make_private_folder
from common.folders import cache_folder
from common.store import digest, keep_limits

log = logging.getLogger("engine.crash_mark")

MOST_KEPT, MOST_BYTES = 100, 4 << 20  # crashes; faulthandler writes some 2 KB for one


@dataclass(frozen=True, slots=True)
class CrashMark:
    """A library and a model whose crash together is recorded.

    `library`: name and version, so that another version is tried again; `model`: identity of the model's file.
    """

    library: str
    model: str

    @property
    def is_set(self) -> bool:
        """Whether a process crashed with this library and this model."""
        return bool(self._written_files())

    def clear(self) -> None:
        """Delete the mark's files, so that the library is tried again."""
        for path in self._written_files():
            path.unlink(missing_ok=True)

    @property
    def name(self) -> str:
        """Prefix of the names of the mark's files, one file for each process."""
        return digest(self.library, self.model)

    def _written_files(self) -> list[Path]:
        return [path for path in folder().glob(f"{self.name}-*") if path.stat().st_size]


class CrashWatch:
    """A watch over one mark: a crash of this process sets the mark."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._enabled_before = False

    def watch(self, mark: CrashMark | None) -> None:
        """Watch this mark instead of the previous one; None ends watching.

        If no file can be written, a crash is not recorded.
        """
        before, self._file = self._file, None
        if mark:
            self._file = open_file(mark)
        if self._file:
            self._enabled_before |= not before and faulthandler.is_enabled()
            faulthandler.enable(self._file, all_threads=False)
        elif before:
            faulthandler.disable()
            if self._enabled_before and sys.__stderr__:  # what replaced stderr may be no file
                faulthandler.enable(sys.__stderr__)
        if before:
            before.close()
            if not self._file or self._file.name != before.name:
                with contextlib.suppress(
                    PermissionError
                ):  # Windows, while another program reads it; `keep_limits` will
                    Path(before.name).unlink(missing_ok=True)


def folder() -> Path:
    """Return the folder of the marks' files.

    The folder is no `Store`, because the text that a dying process writes has no checksum; names and limits follow a
    store's.
    """
    return cache_folder() / "crashes"


def open_file(mark: CrashMark) -> IO[bytes] | None:
    """Open this process's file of the mark; return None if the folder cannot be written.

    Each process has its own file: a process that ends must not delete a file that another one may still write to.
    """
    path = folder() / f"{mark.name}-{os.getpid()}"
    try:
        make_private_folder(path.parent)
        keep_limits(folder(), MOST_KEPT, MOST_BYTES, is_leftover)
        return path.open("wb", buffering=0)
    except OSError as error:
        log.warning("A crash of the engine's library would go unnoticed: %s cannot be written.", path.parent)
        log.info("%s", error)
        return None


def is_leftover(name: str, size: int) -> bool:
    """Return whether the file is empty and its process gone.

    Such a process was killed, which says nothing about a crash.
    """
    owner = name.rpartition("-")[2]
    return not size and owner.isdigit() and not psutil.pid_exists(int(owner))
