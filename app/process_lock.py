"""A lock that at most one process holds, and that the system releases however its owner ends."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

log = logging.getLogger(__name__)

if sys.platform == "win32":
    from PySide6.QtCore import QLockFile

    class ProcessLock:
        """QLockFile keeps its file open for itself alone there, so that only a dead owner's can be deleted."""

        def __init__(self, path: Path) -> None:
            self._path = path
            self._file = QLockFile(str(path))
            self._file.setStaleLockTime(0)

        def take(self) -> bool:
            """Is it ours now? Raises OSError where the file cannot be made."""
            if self._file.tryLock(0):
                return True
            if self._file.error() != QLockFile.LockError.LockFailedError:
                raise OSError(f"{self._path}: {self._file.error().name}")
            return False

        def release(self) -> None:
            self._file.unlock()

else:
    import fcntl

    class ProcessLock:
        """The kernel's own lock on a file that stays. QLockFile deletes its file, and a dead owner's: of several that
        find one at the same time, two could each delete what they took for it, and both were first."""

        def __init__(self, path: Path) -> None:
            self._path = path
            self._file: int | None = None

        def take(self) -> bool:
            """Is it ours now? Raises OSError where the file cannot be made."""
            if self._file is not None:
                return True
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                return False
            except OSError as error:  # a file system without locks: better two windows than none
                log.warning("%s cannot be locked: %s", self._path, error)
            if not self._is_there(file):  # deleted between both: others lock another file of that name
                os.close(file)
                return False
            self._file = file
            return True

        def release(self) -> None:
            """Somebody else's now; the file stays, for what is deleted could be locked once more."""
            if self._file is not None:
                os.close(self._file)
                self._file = None

        def _is_there(self, file: int) -> bool:
            try:
                return os.path.samestat(os.fstat(file), self._path.stat())
            except FileNotFoundError:
                return False
