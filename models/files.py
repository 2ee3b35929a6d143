"""Files that are whole or absent, and private to the user. Knows nothing of what is in them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

TEMPORARY = ".chickadee-"  # begins the name of a file or folder that is not whole yet


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
        with open(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
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
