"""Freed memory back to the system: the C library's allocator keeps it in holes that nothing of the next size fits."""

from __future__ import annotations

import ctypes
import sys
from functools import cache
from typing import Any


def trim() -> None:
    """Where the allocator cannot be asked, nothing happens."""
    function = malloc_trim()
    if function:
        function(0)


@cache
def malloc_trim() -> Any:
    """glibc's; None elsewhere."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
