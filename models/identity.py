"""Which model file is this? An answer that is cheap to find and changes with the file's content."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from common.files import open_file, read_up_to
from models.header import unopened


def file_identity(path: Path, header_bytes: int) -> str:
    """Size, time of change and a digest of the header (its vocabulary and all metadata) of a GGUF file.

    The weights are not read: reading 5 GB to open a chat would cost more than any saved state is worth.
    Raises Failure where the file is gone since its header was read."""
    try:
        status = path.stat()
        return _identity(path, header_bytes, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise unopened(path, error) from error


@lru_cache(maxsize=8)
def _identity(path: Path, header_bytes: int, size: int, mtime_ns: int) -> str:
    with open_file(path) as file:
        digest = hashlib.sha256(read_up_to(file, header_bytes)).hexdigest()
    return f"{size}-{mtime_ns}-{digest[:32]}"
