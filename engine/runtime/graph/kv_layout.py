"""The interface of our graph's KV caches, which passes and the runtime use, and the memory that cache rows lie in.

A block of memory comes straight from the system, in huge pages if the system has them. Memory from the C library can
begin at any address, which leaves up to two huge pages' worth of each block in small pages: half of one layer's keys
and values, which take a few megabytes. Freed blocks go back to the system at once.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.failures import Failure
from engine.protocol.events import HeadGroup
from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.ggml import ALIGNMENT, F16, Context, Graph, MappedBuffer, array, data_bytes

HUGE_PAGE = 1 << 21  # bytes; systems with other page sizes lose nothing by this alignment


class Block:
    """Zeroed memory: `size` bytes from `address` on, aligned to a huge page. Untouched pages take no memory."""

    def __init__(self, size: int) -> None:
        """Allocate the block. Raises MemoryError."""
        self.size = size
        try:
            self._map = map_private_memory(size + HUGE_PAGE)
        except OSError as error:
            raise MemoryError(str(error)) from error
        first = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self.address = -(-first // HUGE_PAGE) * HUGE_PAGE
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # kernels without huge pages refuse the advice and need none
                self._advise_huge_pages(self.address - first)

    def _advise_huge_pages(self, begin: int) -> None:
        """Ask the kernel for huge pages for the block's beginning, and for small pages for the rest.

        The rest fills no huge page and would otherwise occupy a whole one.
        """
        whole = self.size // HUGE_PAGE * HUGE_PAGE
        if whole:
            self._map.madvise(mmap.MADV_HUGEPAGE, begin, whole)
        self._map.madvise(mmap.MADV_NOHUGEPAGE, begin + whole)

    def free(self) -> None:
        """Return the memory to the system; no array or tensor may point to the block any more."""
        self._map.close()


def map_private_memory(size: int) -> mmap.mmap:
    """Map memory that belongs to this process alone. Raises OSError."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


class Cells:
    """One layer's keys and values in F16, [count, width] each, as tensors `k` and `v` and as arrays `rows`."""

    def __init__(self, width: int, count: int, first: int = 0) -> None:
        """Allocate both matrices. `first`: the row where the compressed heads' slots begin. Raises MemoryError."""
        self.width, self.count, self.first = width, count, first
        self.context = Context(2)
        self.k, self.v = self.context.new(F16, width, count), self.context.new(F16, width, count)
        half = -(-data_bytes(self.k) // ALIGNMENT) * ALIGNMENT
        try:
            self.block = Block(2 * half)
        except MemoryError:
            self.context.free()
            raise
        self.buffer = MappedBuffer(self.block.address, self.block.size)
        self.buffer.put(self.k, self.block.address)
        self.buffer.put(self.v, self.block.address + half)
        self.rows: tuple[NDArray[Any], NDArray[Any]] = (self._array(self.k), self._array(self.v))

    def _array(self, pointer: Any) -> NDArray[Any]:
        return array(pointer, np.float16, self.count, self.width)

    def drop_rows(self, parts: Sequence[tuple[int, int, int]]) -> None:
        """Drop rows in place, without new memory.

        Each of `parts`, which lie one behind the other, is (heads, rows per head now, rows per head to keep). Of every
        head the first rows are kept.
        """
        begin = end = 0
        for heads, now, left in parts:
            for _ in range(heads):
                for rows in self.rows:
                    rows[end : end + left] = rows[begin : begin + left]
                begin, end = begin + now, end + left
        self.count, self.rows = end, (self.rows[0][:end], self.rows[1][:end])

    def free(self) -> None:
        self.buffer.free()
        self.context.free()
        self.block.free()


def out_of_memory(n_ctx: int) -> Failure:
    """Return the Failure for a cache of `n_ctx` tokens that does not fit into memory."""
    return Failure("out_of_memory.context", n_ctx=n_ctx)


BUCKET = 256  # cells; passes read a multiple of it, as in llama.cpp
F16_BYTES = 2

Seen = NDArray[np.bool_]  # [new tokens, new tokens]: True where the first attends to the second
KeysAndValues = tuple[NDArray[np.float16], NDArray[np.float16]]  # one layer's, [tokens, kv-heads, head] each


def round_up(count: int, step: int = BUCKET) -> int:
    """Return the smallest multiple of `step` that is at least `count`, and not 0."""
    return max(step, -(-count // step) * step)


class Projected(NamedTuple):
    """A layer's projections of n new tokens, as tensors.

    Queries are [head, heads, n], keys and values [head, kv-heads, n].
    """

    q: Any
    k: Any
    v: Any


Rotate = Callable[[Any], Any]


class KVLayout(ABC):
    """A KV cache of our own graph: it owns keys and values and decides which of them a pass attends to.

    In its methods `size` is the number of tokens that are cached.
    """

    n_ctx: int
    layers: list[Cells]
    can_truncate = True  # False if only all tokens can be dropped together
    max_pass_tokens: int | None = None  # None if the cache sets no limit

    @property
    @abstractmethod
    def form(self) -> str:
        """Mode and shapes as a text; a saved cache can be loaded only into a cache of the same form."""

    @abstractmethod
    def begin_pass(self, tokens: Sequence[int], size: int) -> bool:
        """Prepare the cache for a pass over `tokens` behind `size` cached ones; must be called before each pass.

        Return whether the cache was reallocated, which makes the built graphs useless. May raise Failure.
        """

    @abstractmethod
    def bucket(self, end: int) -> Hashable:
        """Return which part of the cache a pass reads that ends with `end` cached tokens.

        Passes of equal buckets share a graph.
        """

    @property
    @abstractmethod
    def largest_bucket(self) -> Hashable:
        """The bucket of a pass that reads the whole cache."""

    @abstractmethod
    def create_inputs(self, g: Graph, n: int, bucket: Any) -> tuple[Any, ...]:
        """Create the cache's input tensors for a pass of n tokens; `fill_inputs` fills them before each run."""

    @abstractmethod
    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, new: Projected, rotate: Rotate) -> Any:
        """Store a layer's new keys and values and attend to all visible ones; return [head, heads, n].

        The queries are rotated already; `rotate` rotates keys to their positions.
        """

    @abstractmethod
    def fill_inputs(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        """Fill the input arrays for new tokens behind `size` cached ones; `seen` says which of them see each other."""

    @abstractmethod
    def keep_nodes(self, base: int, nodes: Sequence[int]) -> None:
        """Keep, of the tokens run behind the first `base`, those at `nodes` (counted from `base`, in order)."""

    @abstractmethod
    def drop_after(self, size: int, held: int) -> int:
        """Drop all of `held` tokens behind the first `size`; return how many are left, maybe fewer than `size`."""

    @abstractmethod
    def resize(self, n_ctx: int, size: int) -> None:
        """Move to a cache for `n_ctx` tokens, which may be fewer than now. Raises Failure without losing tokens."""

    def head_groups(self, size: int) -> tuple[HeadGroup, ...]:  # noqa: ARG002
        """Return the groups of heads with their sizes; empty if all heads keep every token."""
        return ()

    @abstractmethod
    def state_bytes(self, size: int) -> int:
        """Return about how many bytes `write` writes for `size` tokens."""

    @abstractmethod
    def write(self, file: IO[bytes], size: int) -> None:
        """Write the first `size` tokens' keys and values to `file`."""

    @abstractmethod
    def read(self, file: IO[bytes], size: int) -> bool:
        """Load what `write` wrote; return False if the file is too short or does not fit."""

    @abstractmethod
    def close(self) -> None:
        """Free the memory of the keys and values."""


# --- the partition of each layer's kv-heads into full and compressed ones, and the rows of both ---


@dataclass(frozen=True, slots=True)
class HeadPartition:
    """One layer's kv-heads in `order`: the `full` heads, which keep every token, come before the compressed ones."""

    order: tuple[int, ...]
    full: int

    @property
    def compressed(self) -> int:
        """Number of compressed heads."""
        return len(self.order) - self.full

    def queries(self, each: int) -> NDArray[np.int32]:
        """Return the query heads in the order of their kv-heads, `each` per kv-head."""
        return np.array([head * each + i for head in self.order for i in range(each)], np.int32)


def partition_heads(d: Dimensions, compressed: Sequence[tuple[int, int]]) -> list[HeadPartition]:
    """Sort each layer's kv-heads into full and compressed ones; `compressed` lists (layer, kv-head) pairs."""
    chosen = set(compressed)
    partitions = []
    for layer in range(d.layers):
        full = [head for head in range(d.kv_heads) if (layer, head) not in chosen]
        rest = [head for head in range(d.kv_heads) if (layer, head) in chosen]
        partitions.append(HeadPartition((*full, *rest), len(full)))
    return partitions


class HeadRows:
    """Row numbers of new keys and of queries when heads are ordered by group; they become inputs of a pass."""

    def __init__(self, d: Dimensions, partitions: Sequence[HeadPartition]) -> None:
        self.d, self.partitions = d, partitions
        shape = (d.layers, d.kv_heads)
        self.is_full = np.zeros(shape, np.bool_)
        self._rank = np.zeros(shape, np.int64)
        self._orders: dict[int, NDArray[np.int32]] = {}
        for layer, partition in enumerate(partitions):
            for i, head in enumerate(partition.order):
                full = i < partition.full
                self.is_full[layer, head] = full
                self._rank[layer, head] = i if full else i - partition.full

    def rows(self, cells: NDArray[np.int64], slots: NDArray[np.int64], room: tuple[int, int]) -> NDArray[np.int64]:
        """Return the rows that new tokens' keys are written to, [layers, tokens, kv-heads].

        Full heads use the tokens' `cells`, compressed heads their `slots`; `room` is (cells, slots) per head.
        """
        n_ctx, capacity = room
        entry = np.where(self.is_full[:, None, :], cells[:, None], slots[:, None])
        first = np.array([partition.full * n_ctx for partition in self.partitions])[:, None]
        begin = np.where(self.is_full, self._rank * n_ctx, first + self._rank * capacity)
        return entry + begin[:, None, :]

    def order(self, n: int) -> NDArray[np.int32]:
        """Return, per layer, the rows of [tokens · heads] queries, reordered: full heads' queries before the others."""
        if n not in self._orders:
            tokens, each = np.arange(n)[:, None] * self.d.heads, self.d.queries
            parts = ((g.queries(each)[: g.full * each], g.queries(each)[g.full * each :]) for g in self.partitions)
            rows = [np.concatenate([(tokens + part).ravel() for part in pair]) for pair in parts]
            self._orders[n] = np.array(rows, np.int32)
        return self._orders[n]
