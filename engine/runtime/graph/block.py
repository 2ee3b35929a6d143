"""A block of memory straight from the system, in huge pages where it has them. Knows nothing of what is put there.

What the C library hands out begins anywhere, so that up to two huge pages' worth of each block lies in small ones: of
a layer's keys and values, of a few megabytes, that is half. And what is freed goes back to the system at once.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from contextlib import suppress

HUGE_PAGE = 1 << 21  # bytes: the border that huge pages begin at; elsewhere it does no harm


class Block:
    """`size` bytes from `address` on, all 0; what nobody touches takes no memory."""

    def __init__(self, size: int) -> None:
        """Raises MemoryError."""
        self.size = size
        try:
            self._map = anonymous(size + HUGE_PAGE)
        except OSError as error:
            raise MemoryError(str(error)) from error
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.address = -(-first // HUGE_PAGE) * HUGE_PAGE
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # of a kernel without huge pages: it needs no advice
                self._advise(self.address - first)

    def _advise(self, begin: int) -> None:
        """Whole huge pages; the rest in small ones, or it would take a whole one too."""
        whole = self.size // HUGE_PAGE * HUGE_PAGE
        if whole:
            self._map.madvise(mmap.MADV_HUGEPAGE, begin, whole)
        self._map.madvise(mmap.MADV_NOHUGEPAGE, begin + whole)

    def free(self) -> None:
        """Nothing may point to it any more."""
        self._map.close()


def anonymous(size: int) -> mmap.mmap:
    """Memory of this process alone. Raises OSError."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
