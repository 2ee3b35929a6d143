"""Files that are whole or absent, and private to the user. Knows nothing of what is in them."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path


def make_private_folder(folder: Path) -> None:
    """Create the folder and its missing parents, readable by the user only; raises OSError."""
    if not folder.is_dir():
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Replace the file at `path` by `content`, mode 0600: a crash leaves the old file or the new one, never a part.

    The folder is created if it is missing. Raises OSError; then no temporary file is left."""
    make_private_folder(path.parent)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mkstemp's mode is 0600
    try:
        with open(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename in the folder survive a power cut, where the system can do that."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
