"""Files of a cache's folder: which ones their writers left unfinished, and which go first where room is needed.

A temporary file has its writer's process id in its name (`temporary_prefix` in `common/files.py`), so what a killed
program left goes at once, and what another one is still writing stays.
"""

from __future__ import annotations

import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from common.files import TEMPORARY

log = logging.getLogger(__name__)

OWNER = re.compile(rf"{re.escape(TEMPORARY)}(\d+)-")
WRITE_SECONDS = 60  # in which a writer without a process id in its files' names has finished


def files_in(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield the regular files of a folder; none if it cannot be read."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with suppress(OSError):  # another process has removed it
                if entry.is_file(follow_symlinks=False):
                    yield Path(entry.path), entry.stat(follow_symlinks=False)


def is_being_written(path: Path, status: os.stat_result) -> bool:
    """Return whether a program may still be writing the file, or others that belong to it.

    By its writer if the file is a temporary one, else by its age.
    """
    if owner := OWNER.match(path.name):
        return writer_is_alive(int(owner[1]), path)
    return abs(time.time() - status.st_mtime) < WRITE_SECONDS


def delete_leftovers(folder: Path) -> None:
    """Delete the temporary files in `folder` whose writers are gone. Raises OSError."""
    for path, _status in files_in(folder):
        if (owner := OWNER.match(path.name)) and not writer_is_alive(int(owner[1]), path):
            path.unlink(missing_ok=True)


def writer_is_alive(process: int, path: Path) -> bool:
    """Return whether process number `process` is still the one that wrote the file: systems reuse the numbers."""
    try:
        return psutil.Process(process).create_time() <= path.stat().st_mtime + 1
    except psutil.AccessDenied:
        return True
    except (psutil.Error, OSError, OverflowError):
        return False


def evict(groups: Iterable[Sequence[Path]], enough: Callable[[int, int], bool]) -> None:
    """Delete groups of files in this order until `enough`, given the numbers of deleted groups and of freed bytes."""
    freed = 0
    for deleted, paths in enumerate(groups):
        if enough(deleted, freed):
            break
        freed += sum(map(delete_file, paths))


def delete_file(path: Path) -> int:
    """Delete a file and return the number of freed bytes; a failure is only logged: nothing depends on the deletion."""
    try:
        size = path.lstat().st_size
        path.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        log.warning("%s cannot be deleted: %s", path, error)
        return 0
    return size
