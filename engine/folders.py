"""The folder for what the engine can always work out again: measurements and saved keys and values. And whether who
writes a file there still lives, which killed engines do not."""

from __future__ import annotations

from pathlib import Path

import psutil

from common.folders import CACHE_DIR_VARIABLE, cache_folder

__all__ = ["CACHE_DIR_VARIABLE", "cache_folder", "writer_lives"]


def writer_lives(process: int, path: Path) -> bool:
    """Is the process of that number still the one that wrote the file? Numbers are used again."""
    try:
        return psutil.Process(process).create_time() <= path.stat().st_mtime + 1
    except psutil.AccessDenied:
        return True
    except (psutil.Error, OSError, OverflowError):
        return False
