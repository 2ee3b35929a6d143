"""How a file was when it was read, to notice later that it has changed."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Stamp:
    """State of a file when it was read: its time of change in ns, its bytes, and the SHA-256 digest of its content."""

    changed_at: int = 0
    bytes: int = 0
    digest: str = ""


def stamp_of(path: Path) -> Stamp:
    """Return the file's state; an empty one if the file cannot be read."""
    try:
        status = path.stat()
        return Stamp(status.st_mtime_ns, status.st_size, _digest(path))
    except OSError:
        return Stamp()


def has_changed(path: Path, before: Stamp) -> bool:
    """Return whether the file has another content now; a file that is gone has not changed.

    Its content is read only if its size or its time of change is another one.
    """
    try:
        status = path.stat()
        same = (status.st_mtime_ns, status.st_size) == (before.changed_at, before.bytes)
        return not same and _digest(path) != before.digest
    except OSError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
