"""Reads from the disk by a model that is larger than the memory: how many, how fast, and what they cost.

Such a model's file is mapped: the system keeps the pages that were used last, and a pass waits for the others. The
disk's speed is measured on the model's own file (`file_read_speed`).
"""

from __future__ import annotations

import ctypes
import importlib
import itertools
import mmap
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from common.files import open_file
from engine.costs.cost_model import Timings
from engine.costs.cost_prior import Speed
from engine.costs.speeds import drop_cached_pages
from models.shapes import WeightReads

USUAL_BATCH = 512  # tokens of a prefill batch, for a model of which no timings are known
# A file is read in contiguous PIECES, with a look at the clock after each STEP. FAULT: bytes of a read on systems where
# page faults are not timed themselves; ALIGNMENT: a page, of which positions and sizes are multiples.
PIECE, STEP, FAULT, ALIGNMENT = 4 << 20, 512 << 10, 64 << 10, 4096
GOLDEN = (5**0.5 - 1) / 2  # multiples of the golden ratio are spread evenly
GENERIC_READ, SHARE_READ, OPEN_EXISTING, NO_BUFFERING = 0x80000000, 1, 3, 0x20000000  # of Windows' CreateFile


@dataclass(frozen=True, slots=True)
class DiskReads:
    """Bytes that passes read from the disk.

    `weights`: the bytes of weights that passes use; `cache_bytes`: memory for pages of the file; `bytes_per_s`: speed
    at which the disk delivers the file (`file_read_speed`).
    """

    weights: WeightReads
    cache_bytes: int
    bytes_per_s: float

    def bytes(self, tokens: int) -> float:
        """Return the bytes that a pass of `tokens` tokens is expected to read from the disk.

        - Weights that every pass uses are read in the same order each time. If they do not all fit into the cache, none
          is still there when it comes round again, because the system drops the page that was used longest ago (LRU;
          P. J. Denning, "The working set model for program behavior", CACM 11(5), 1968). So a dense model reads its
          whole file in each pass.
        - Experts are chosen as if by dice. Then an expert is still in the cache with a probability of the share of all
          experts that the cache holds beside the weights above: with equally likely pages the hit rate of LRU is the
          cache's share (W. F. King, "Analysis of demand paging algorithms", IFIP 1971). Real texts use some experts
          more often than others, so they hit more often: the result is an upper bound.
        """
        weights = self.weights
        for_experts = self.cache_bytes - weights.always
        always = weights.always if for_experts < 0 else 0.0
        if not weights.experts:
            return always
        cached = min(1.0, max(0.0, for_experts / weights.experts))
        return always + weights.experts * weights.touched(tokens) * (1 - cached)

    def seconds(self, tokens: int) -> float:
        """Return the seconds for which a pass of `tokens` tokens waits for the disk.

        They come on top of those of the same pass in memory: a thread that waits for a page computes nothing.
        """
        return self.bytes(tokens) / self.bytes_per_s

    def slowed(self, timings: Timings) -> Timings:
        """Return the timings of passes in memory with the seconds for the disk added to each."""
        return timings.changed(lambda tokens, seconds: seconds + self.seconds(tokens))

    def speed(self, in_memory: Speed | None) -> Speed:
        """Return the model's speed; `in_memory` is the one without reads from the disk, None if it is unknown."""
        decode, prompt = self.seconds(1), self.seconds(USUAL_BATCH) / USUAL_BATCH
        if in_memory:
            decode, prompt = decode + 1 / in_memory.decode, prompt + 1 / in_memory.prompt
        return Speed(1 / max(decode, 1e-9), 1 / max(prompt, 1e-9))


# --- how fast the disk delivers the file ---


def file_read_speed(path: Path, threads: int, budget: float = 0.7) -> float | None:
    """Return the bytes per second that `threads` threads get from a mapped file that is not cached; None if it is tiny.

    For `budget` seconds pieces from all over the file are read as a pass reads its weights, without the system's cache:

    - Linux: pages are dropped (POSIX_FADV_DONTNEED), then touched in a mapping, so that each page fault fetches what
      the system reads around it. Reading past the cache (O_DIRECT) would be simpler, but on the disk of the reference
      machine it is three to five times as fast as page faults are. Pages that another process has mapped stay.
    - Windows: reads past the cache (FILE_FLAG_NO_BUFFERING) of 64 KiB, about as much as a page fault fetches there.
    - macOS: reads of as much by a descriptor with F_NOCACHE; pages that are cached already are read from the cache, so
      the speed may be too high.

    The host of a virtual disk may have a cache of its own. Raises OSError if the file cannot be read.
    """
    size = path.stat().st_size
    if size < threads * PIECE:
        return None
    starts = (int(i * GOLDEN % 1 * (size - PIECE)) // ALIGNMENT * ALIGNMENT for i in itertools.count())  # evenly spread
    can_map = hasattr(os, "posix_fadvise")
    lock, end = threading.Lock(), time.perf_counter() + budget

    def read_pieces(source: MappedFile | UnbufferedFile) -> tuple[int, float]:
        """Read pieces until the time is over; return the bytes and the moment of the last one."""
        done = 0
        while True:
            with lock:
                start = next(starts)
                source.forget(start)
            for at in range(start, start + PIECE, STEP):
                source.read(at)
                done += STEP
                if (now := time.perf_counter()) >= end:
                    return done, now

    with closing(MappedFile(path) if can_map else UnbufferedFile(path)) as source:
        readers = threads if can_map else 1
        began = time.perf_counter()
        with ThreadPoolExecutor(readers) as pool:
            pieces = [future.result() for future in [pool.submit(read_pieces, source) for _ in range(readers)]]
    return sum(done for done, _ in pieces) / (max(last for _, last in pieces) - began)


class MappedFile:
    """A file as llama.cpp maps it: one mapping that all threads touch. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self._file = open_file(path)
        os.posix_fadvise(self._file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
        self._map = mmap.mmap(self._file.fileno(), 0, prot=mmap.PROT_READ)
        self._bytes = np.frombuffer(self._map, np.uint8)

    def close(self) -> None:
        del self._bytes  # a mapping with a view cannot be closed
        self._map.close()
        self._file.close()

    def forget(self, start: int) -> None:
        """Drop the PIECE of pages from `start` on; pages that are mapped here must be given back first."""
        self._map.madvise(mmap.MADV_DONTNEED, start, PIECE)
        drop_cached_pages(self._file.fileno(), start, PIECE)

    def read(self, start: int) -> None:
        """Touch each page of STEP bytes."""
        self._bytes[start : start + STEP : ALIGNMENT].sum()


class UnbufferedFile:
    """A file whose reads bypass the system's cache, for systems whose cache cannot be told to drop pages."""

    def __init__(self, path: Path) -> None:
        self._file = _open_on_windows(path) if sys.platform == "win32" else open_file(path)
        self._buffer = mmap.mmap(-1, FAULT)  # starts at a page: reads past the cache need that

    def close(self) -> None:
        self._buffer.close()
        self._file.close()

    def forget(self, _start: int) -> None:
        """Ask macOS not to cache what is read from now on."""
        drop_cached_pages(self._file.fileno())

    def read(self, start: int) -> None:
        """Read STEP bytes, a FAULT at a time."""
        self._file.seek(start)
        for _ in range(STEP // FAULT):
            self._file.readinto(self._buffer)  # type: ignore[attr-defined]


def _open_on_windows(path: Path) -> BinaryIO:
    """Open a file with FILE_FLAG_NO_BUFFERING. Raises OSError."""
    msvcrt = importlib.import_module("msvcrt")
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined]
    create, word = kernel.CreateFileW, ctypes.c_uint32
    create.restype = ctypes.c_void_p
    create.argtypes = [ctypes.c_wchar_p, word, word, ctypes.c_void_p, word, word, ctypes.c_void_p]
    handle = create(str(path), GENERIC_READ, SHARE_READ, None, OPEN_EXISTING, NO_BUFFERING, None)
    if handle in (None, ctypes.c_void_p(-1).value):
        raise ctypes.WinError(ctypes.get_last_error())  # type: ignore[attr-defined]
    return os.fdopen(msvcrt.open_osfhandle(handle, os.O_RDONLY), "rb", buffering=0)
