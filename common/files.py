"""Files that are written whole or not at all, private to the user, and opened without ever waiting."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import BinaryIO

PIECE = 1 << 20  # bytes read at once
TEMPORARY = ".chickadee-"  # beginning of the name of an unfinished file or folder
REFUSED_SECONDS, AGAIN_SECONDS = 1.0, 0.02
# Opening a pipe must not wait, should one lie where a file is expected; regular files open as usual.
NEVER_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


class NotAFile(OSError):
    """A path that is a pipe, device or socket instead of a regular file; reading one could wait for ever."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EINVAL, "It is not a file", str(path))


def nonblocking_opener(path: str, flags: int) -> int:
    """Open `path` as an `opener` of `open`, without waiting if a pipe lies there; regular files open as usual."""
    return os.open(path, flags | NEVER_WAIT, 0o666)


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading, unbuffered, and never wait.

    Raises OSError: NotAFile for pipes and devices, IsADirectoryError for a folder, FileNotFoundError also for a name
    that no file can have.
    """
    try:
        _check_kind(path, path.stat())  # before opening, because opening some devices already has an effect
        file = open(path, "rb", buffering=0, opener=nonblocking_opener)  # noqa: SIM115
    except ValueError as error:  # a zero byte, or characters that the file system cannot encode
        raise FileNotFoundError(errno.ENOENT, "No file can have such a name", str(path)) from error
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise FileNotFoundError(errno.ENOENT, "No file can have such a name", str(path)) from error
        raise
    try:
        _check_kind(path, os.fstat(file.fileno()))
    except BaseException:
        file.close()
        raise
    return file


def _check_kind(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "It is a folder", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotAFile(path)


def read_small(path: Path, most: int) -> bytes:
    """Return the first `most` bytes of a file that should be small. Raises OSError, as `open_file` does."""
    with open_file(path) as file:
        return read_up_to(file, most)


def read_up_to(file: BinaryIO, count: int) -> bytes:
    """Return `count` bytes from the file's position, or fewer if the file ends before. Raises OSError."""
    pieces = []
    while count > 0 and (piece := file.read(min(count, PIECE))):  # None: a special file of the kernel without data now
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def make_private_folder(folder: Path) -> None:
    """Create the folder and its missing parents, readable by the user only. Raises OSError."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def temporary_prefix() -> str:
    """Return how this process begins the name of an unfinished file: with its id, by which others know its writer."""
    return f"{TEMPORARY}{os.getpid()}-"


@contextlib.contextmanager
def replacing(path: Path, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Yield a temporary file to write to, and move it to `path` when the block ends.

    A crash therefore leaves the old file or the new one. The folder must exist; the temporary file lies in it under an
    unguessable, unused name. Raises OSError. If the block raises, the temporary file is deleted and the old file stays.
    """
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=temporary_prefix())  # mkstemp's mode is 0600
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        replace_file(Path(temporary), path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    sync_folder(path.parent)


def replace_file(source: Path, target: Path) -> None:
    """Rename `source` to `target`, replacing it. Raises OSError.

    Windows refuses to replace a file that another program has open, as a virus scanner or our other process does for a
    moment; so a refusal there is final only after REFUSED_SECONDS.
    """
    final = time.monotonic() + (REFUSED_SECONDS if sys.platform == "win32" else 0)
    while True:
        try:
            source.replace(target)
        except PermissionError:
            if time.monotonic() >= final:
                raise
            time.sleep(AGAIN_SECONDS)
        else:
            return


def write_atomically(path: Path, content: bytes) -> None:
    """Replace the file at `path` by `content`, mode 0600; a crash leaves the old file or the new one, never a part.

    A missing folder is created. Raises OSError, and leaves no temporary file then.
    """
    make_private_folder(path.parent)
    with replacing(path) as file:
        file.write(content)


def set_aside(path: Path) -> Path:
    """Rename the file to an unused name with today's date, so that nothing of it is lost; return the new path.

    Raises OSError.
    """
    number = 1
    while True:
        tail = f"-{number}" if number > 1 else ""
        aside = path.with_name(f"{path.stem}-{date.today().isoformat()}{tail}{path.suffix}")
        if not os.path.lexists(aside):
            path.rename(aside)
            return aside
        number += 1


def sync_folder(folder: Path) -> None:
    """Flush the folder to disk, so that a rename in it survives a power cut; ignore systems that cannot."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):  # e.g. a folder that may be written but not listed
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_file(path: Path) -> bool:
    """Return whether a file exists at `path`; False if the system refuses to say.

    `Path.is_file` raises in that case: for a folder without rights, or a name that is too long.
    """
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Return whether a folder exists at `path`; False if the system refuses to say."""
    return os.path.isdir(path)  # noqa: PTH112
