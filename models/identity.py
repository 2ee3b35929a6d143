"""Identity of a model file: a text that is quick to compute and changes with the file's content."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from common.files import open_file, read_up_to
from models.header import open_failure


def file_identity(path: Path, header_bytes: int) -> str:
    """Return a GGUF file's size, time of change and a digest of its header (vocabulary and all metadata).

    The weights are not read: reading 5 GB to open a chat would take longer than a saved state saves. Raises Failure if
    the file has gone since its header was read.
    """
    try:
        status = path.stat()
        return _identity(path, header_bytes, status.st_size, status.st_mtime_ns)
    except OSError as error:
        raise open_failure(path, error) from error


@lru_cache(maxsize=8)
def _identity(path: Path, header_bytes: int, size: int, mtime_ns: int) -> str:
    with open_file(path) as file:
        digest = hashlib.sha256(read_up_to(file, header_bytes)).hexdigest()
    return f"{size}-{mtime_ns}-{digest[:32]}"
