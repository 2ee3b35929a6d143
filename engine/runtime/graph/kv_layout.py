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
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.failures import Failure
from engine.protocol.events import HeadGroup
from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.ggml import ALIGNMENT, F16, Graph, MappedBuffer, array, data_bytes, shape
from engine.runtime.llama.repack import TensorContext

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
    """One layer's keys and values in F16, as tensors `k` and `v` and as arrays `rows` of `width` numbers.

    There is a row for each head and entry. Group i has `heads[i]` heads with `entries[i]` rows each; the rows of a head
    lie together, and the groups lie one behind the other.
    """

    def __init__(self, width: int, heads: Sequence[int], entries: Sequence[int]) -> None:
        """Allocate both matrices. Raises MemoryError."""
        self.heads, self.entries, self.width = tuple(heads), tuple(entries), width
        self.count = self.first(len(self.heads))
        self.context = TensorContext(2)
        self.k, self.v = self.context.new(F16, width, self.count), self.context.new(F16, width, self.count)
        half = -(-data_bytes(self.k) // ALIGNMENT) * ALIGNMENT
        try:
            self.block = Block(2 * half)
        except MemoryError:
            self.context.close()
            raise
        self.buffer = MappedBuffer(self.block.address, self.block.size)
        self.buffer.put(self.k, self.block.address)
        self.buffer.put(self.v, self.block.address + half)
        self.rows = [array(pointer, np.float16, self.count, width) for pointer in (self.k, self.v)]

    def first(self, group: int) -> int:
        """Return the row where a group of heads begins."""
        return sum(heads * entries for heads, entries in zip(self.heads[:group], self.entries[:group], strict=True))

    def views(self, group: int = 0) -> list[NDArray[Any]]:
        """Return views of a group's keys and of its values as [entries, heads, width]."""
        part = slice(self.first(group), self.first(group + 1))
        shape = (self.heads[group], self.entries[group], self.width)
        return [rows[part].reshape(shape).transpose(1, 0, 2) for rows in self.rows]

    def shrink(self, entries: Sequence[int]) -> None:
        """Keep the first `entries[i]` rows of each head of group i, in place, without new memory."""
        begin = end = 0
        for heads, now, left in zip(self.heads, self.entries, entries, strict=True):
            for _ in range(heads):
                for rows in self.rows:
                    rows[end : end + left] = rows[begin : begin + left]
                begin, end = begin + now, end + left
        self.entries, self.count, self.rows = tuple(entries), end, [rows[:end] for rows in self.rows]

    def free(self) -> None:
        self.buffer.free()
        self.context.close()
        self.block.free()


def out_of_memory(n_ctx: int) -> Failure:
    """Return the Failure for a cache of `n_ctx` tokens that does not fit into memory."""
    return Failure("out_of_memory.context", n_ctx=n_ctx)


BUCKET = 256  # cells; passes read a multiple of it, as in llama.cpp
F16_BYTES = 2

Seen = NDArray[np.bool_]  # [new tokens, new tokens]: True where the first attends to the second
KeysAndValues = tuple[NDArray[np.float16], NDArray[np.float16]]  # one layer's, [tokens, kv-heads, head] each


def round_up(count: int) -> int:
    """Return the smallest multiple of BUCKET that is at least `count`, and not 0."""
    return max(BUCKET, -(-count // BUCKET) * BUCKET)


def fill_mask(mask: NDArray[Any], size: int, seen: Seen) -> None:
    """Show each new token all `size` cached ones, and those of the new ones that `seen` marks."""
    end = size + len(mask)
    mask[:, :size], mask[:, size:end], mask[:, end:] = 0, bias_of(seen), -np.inf


def bias_of(seen: Seen) -> NDArray[np.float16]:
    """Return what is added to attention scores: 0 where a token is seen, else -inf."""
    return np.where(seen, np.float16(0), np.float16(-np.inf))


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

    `heads[layer]` are the layer's kv-heads by groups, and `room` the entries that each head of a group has memory for;
    the heads of the first group keep every token. In the methods `size` is the number of tokens that are cached.
    """

    can_truncate = True  # False if only all tokens can be dropped together
    max_pass_tokens: int | None = None  # None if the cache sets no limit

    def __init__(self, d: Dimensions, heads: Sequence[tuple[int, ...]], room: tuple[int, ...]) -> None:
        """Allocate the cells of all layers. Raises Failure if memory is short."""
        self.d, self.heads, self.room = d, heads, room
        self.layers: list[Cells] = []
        try:
            for layer in range(d.layers):
                self.layers.append(self._cells(layer, room))
        except MemoryError as error:
            self.close()
            raise out_of_memory(self.n_ctx) from error

    def _cells(self, layer: int, room: tuple[int, ...]) -> Cells:
        return Cells(self.d.head, self.heads[layer], room)

    @property
    def n_ctx(self) -> int:
        """Tokens that the cache has room for."""
        return self.room[0]

    @property
    @abstractmethod
    def form(self) -> str:
        """Mode and shapes as a text; a saved cache can be loaded only into a cache of the same form."""

    def entries(self, size: int) -> tuple[int, ...]:
        """Return how many entries each head of each group holds when `size` tokens are cached."""
        return (size,)

    def begin_pass(self, tokens: Sequence[int], size: int) -> bool:  # noqa: ARG002
        """Prepare the cache for a pass over `tokens` behind `size` cached ones; must be called before each pass.

        Return whether the cache was reallocated, which makes the built graphs useless. May raise Failure.
        """
        return False

    # --- for a graph ---

    def bucket(self, end: int) -> tuple[int, ...]:
        """Return how many entries of each group a pass reads that ends with `end` cached tokens.

        The numbers are rounded up to multiples of BUCKET, so that passes share their graphs.
        """
        return tuple(min(round_up(count), room) for count, room in zip(self.entries(end), self.room, strict=True))

    @abstractmethod
    def create_inputs(self, g: Graph, n: int, bucket: Any) -> tuple[Any, ...]:
        """Create the cache's input tensors for a pass of n tokens; `fill_inputs` fills them before each run."""

    @abstractmethod
    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, new: Projected, rotate: Rotate) -> Any:
        """Store a layer's new keys and values and attend to all visible ones; return [head, heads, n].

        The queries are rotated already; `rotate` rotates keys to their positions.
        """

    def _store(self, g: Graph, layer: int, index: Any, k: Any, v: Any) -> None:
        """Write new keys and values to the rows `index` of a layer's cells."""
        cells, rows = self.layers[layer], shape(index)[0]
        for new, cached in ((k, cells.k), (v, cells.v)):
            g.expand(g.set_rows(cached, g.reshape_2d(new, self.d.head, rows), index))

    def _attention(self, g: Graph, layer: int, group: int, q: Any, mask: Any) -> Any:
        """Compute the attention of queries [head, heads, n] to a group's entries that `mask` [entries, n] shows."""
        cells, head, count = self.layers[layer], self.d.head, shape(mask)[0]
        row, heads = head * F16_BYTES, cells.heads[group]
        each, first = row * cells.entries[group], row * cells.first(group)
        k, v = (g.view_3d(cached, head, count, heads, row, each, first) for cached in (cells.k, cells.v))
        return g.attention(g.permute(q, 0, 2, 1, 3), k, v, mask, self.d.scale)

    @abstractmethod
    def fill_inputs(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        """Fill the input arrays for new tokens behind `size` cached ones; `seen` says which of them see each other."""

    # --- cached tokens ---

    def keep_nodes(self, base: int, nodes: Sequence[int]) -> None:
        """Keep, of the tokens run behind the first `base`, those at `nodes` (counted from `base`, in order)."""
        source = [base + node for node in nodes]
        for cells in self.layers:
            for kept in cells.views():
                kept[base : base + len(source)] = kept[source]

    def drop_after(self, size: int) -> int:
        """Drop all tokens behind the first `size`; return how many are left, maybe fewer than `size`."""
        return size

    def resize(self, n_ctx: int, size: int) -> None:
        """Move to a cache for `n_ctx` tokens, which may be fewer than now. Raises Failure without losing tokens."""
        self._move((round_up(n_ctx),), size)

    def _move(self, room: tuple[int, ...], size: int) -> None:
        """Move to new cells layer by layer, so that memory never holds the cache twice.

        Raises Failure if memory is short; all layers, which must agree where a head begins, then have the smaller room.
        """
        try:
            for layer, old in enumerate(self.layers):
                new = self._cells(layer, room)
                for source, target in zip(self._content(old, size), self._content(new, size), strict=True):
                    target[:] = source
                self.layers[layer] = new
                old.free()
        except MemoryError as error:
            self._use_room(tuple(map(min, self.room, room)))
            for cells in self.layers:
                cells.shrink(self.room)
            raise out_of_memory(room[0]) from error
        self._use_room(room)

    def _use_room(self, room: tuple[int, ...]) -> None:
        self.room = room

    def _content(self, cells: Cells, size: int) -> list[NDArray[Any]]:
        """Return views of what a layer holds: the keys of each group, then the values of each."""
        groups = [[kept[:count] for kept in cells.views(i)] for i, count in enumerate(self.entries(size))]
        return [views[kind] for kind in (0, 1) for views in groups]

    def head_groups(self, size: int) -> tuple[HeadGroup, ...]:  # noqa: ARG002
        """Return the groups of heads with their sizes; empty if all heads keep every token."""
        return ()

    def state_bytes(self, size: int) -> int:
        """Return about how many bytes `write` writes for `size` tokens."""
        return sum(kept.nbytes for cells in self.layers for kept in self._content(cells, size))

    def write(self, file: IO[bytes], size: int) -> None:
        """Write the first `size` tokens' keys and values to `file`."""
        for cells in self.layers:
            for kept in self._content(cells, size):
                file.write(np.ascontiguousarray(kept).data)

    def read(self, file: IO[bytes], size: int) -> bool:
        """Load what `write` wrote; return False if the file is too short or does not fit."""
        for cells in self.layers:
            for kept in self._content(cells, size):
                data = file.read(kept.nbytes)
                if len(data) < kept.nbytes:
                    return False
                kept[:] = np.frombuffer(data, np.float16).reshape(kept.shape)
        return True

    def close(self) -> None:
        """Free the memory of the keys and values."""
        for cells in self.layers:
            cells.free()
        self.layers = []
