"""One set-up of an environment at a time: a second one waits until the first has ended, however it ends.

The lock is the system's, on an empty file beside the environment: it is let go with the process that holds it, so that
no interrupted set-up ever stands in the way. Standard library only.
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

    def _take(file: IO[bytes]) -> bool:
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _take(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


LOOK_SECONDS = 0.2
LOCK = VENV.with_name(VENV.name + ".lock")


@contextmanager
def alone(path: Path = LOCK) -> Iterator[None]:
    """Inside, no other set-up of this environment is under way."""
    file = _opened(path)
    if file is None:
        yield
        return
    with file:
        _wait_for(file)
        yield


def _opened(path: Path) -> IO[bytes] | None:
    """None where nothing can be written: then nothing can be set up either, and what is ready can be used."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("ab")
    except OSError:
        return None


def _wait_for(file: IO[bytes]) -> None:
    """A file system without locks is no reason to set nothing up."""
    told = False
    try:
        while not _take(file):
            if not told:
                say("Another set-up runs in this folder: waiting for it.")
            told = True
            time.sleep(LOOK_SECONDS)
    except OSError as error:
        say(f"two set-ups at once would disturb each other here: the folder has no locks ({error.strerror})")
