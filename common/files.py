"""Files that are whole or absent, and private to the user. Knows nothing of what is in them."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

PIECE = 1 << 20  # bytes read at once
TEMPORARY = ".chickadee-"  # begins the name of a file or folder that is not whole yet
# A pipe that is put where a file was must not make us wait; with a regular file it changes nothing.
NEVER_WAIT = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


class NotAFile(OSError):
    """There is something of that name, but no file: a pipe, a device, a socket. Reading it could wait for ever."""

    def __init__(self, path: Path) -> None:
        super().__init__(errno.EINVAL, "It is not a file", str(path))


def never_waiting(path: str, flags: int) -> int:
    """An opener for `open`: what is a pipe where a file should be does not make us wait. Files are as ever."""
    return os.open(path, flags | NEVER_WAIT, 0o666)


def open_file(path: Path) -> BinaryIO:
    """Open a regular file for reading, without a buffer. Never waits.

    Raises OSError: NotAFile, IsADirectoryError, and for a name that no file can have FileNotFoundError."""
    try:
        _check_kind(path, path.stat())  # first: to open some devices is to use them
        file = open(path, "rb", buffering=0, opener=never_waiting)  # noqa: SIM115
    except ValueError as error:  # a zero byte, or letters that the file system cannot say
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
    """What is in a file that should be small: its first `most` bytes. Raises OSError, as `open_file` does."""
    with open_file(path) as file:
        return read_up_to(file, most)


def read_up_to(file: BinaryIO, count: int) -> bytes:
    """So many bytes, fewer only where the file ends. Raises OSError."""
    pieces = []
    while count > 0 and (piece := file.read(min(count, PIECE))):  # None: of a kernel's file that would wait
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def make_private_folder(folder: Path) -> None:
    """Create the folder and its missing parents, readable by the user only; raises OSError."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@contextlib.contextmanager
def replacing(path: Path, mode: int = 0o600) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` when the block ends: a crash leaves the old one or the new one.

    The folder must exist. Until then it has a name in it that nobody can guess and nobody has. Raises OSError; what the
    block raises leaves the old file and nothing else."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY)  # mkstemp's mode is 0600
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise
    sync_folder(path.parent)


def write_atomically(path: Path, content: bytes) -> None:
    """Replace the file at `path` by `content`, mode 0600: a crash leaves the old file or the new one, never a part.

    The folder is created if it is missing. Raises OSError; then no temporary file is left."""
    make_private_folder(path.parent)
    with replacing(path) as file:
        file.write(content)


def sync_folder(folder: Path) -> None:
    """Make a rename in the folder survive a power cut, where the system can do that. Raises nothing: it is done."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):  # e.g. a folder that may be written but not listed
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_file(path: Path) -> bool:
    """Is there a file? No where the system will not say, for which `Path.is_file` raises: a folder without rights, a
    name too long."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Is there a folder? As `is_file`."""
    return os.path.isdir(path)  # noqa: PTH112
