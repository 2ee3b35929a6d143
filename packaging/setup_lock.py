"""Lock that lets only one set-up of an environment run at a time: a second one waits until the first has ended.

The operating system keeps the lock, on an empty file beside the environment. It is released when its process ends, so
an interrupted set-up never blocks a later one. Standard library only.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from steps import VENV, say

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


RETRY_SECONDS = 0.2
LOCK = VENV.with_name(VENV.name + ".lock")


@contextmanager
def setup_lock(path: Path = LOCK) -> Iterator[None]:
    """Wait until no other set-up of this environment runs, and hold the lock within the block."""
    file = _open_lock_file(path)
    if file is None:
        yield
        return
    with file:
        _wait_for(file)
        yield


def _open_lock_file(path: Path) -> IO[bytes] | None:
    """Open the lock file; return None in a read-only folder, where a set-up can be used but none made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("ab")
    except OSError:
        return None


def _wait_for(file: IO[bytes]) -> None:
    """Wait for the lock; go on without it on a file system that has no locks."""
    announced = False
    try:
        while not _try_lock(file):
            if not announced:
                say("Another set-up runs in this folder: waiting for it.")
            announced = True
            time.sleep(RETRY_SECONDS)
    except OSError as error:
        say(f"two set-ups at once would disturb each other here: the folder has no locks ({error.strerror})")
