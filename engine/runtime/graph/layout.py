"""What a pass and a runtime ask of a KV cache, whatever it keeps and where, and the memory that its rows lie in.

A block of memory comes straight from the system, in huge pages where it has them. What the C library hands out begins
anywhere, so that up to two huge pages' worth of each block lies in small ones: of a layer's keys and values, of a few
megabytes, that is half. And what is freed goes back to the system at once.
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
from engine.protocol import HeadGroup
from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.ggml import ALIGNMENT, F16, Context, Graph, MappedBuffer, array, data_bytes

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


class Cells:
    """Keys and values, F16, [count, width] each, as tensors `k` and `v` and as arrays (`rows`)."""

    def __init__(self, width: int, count: int, first: int = 0) -> None:
        """`first`: where a second kind of rows begins. Raises MemoryError."""
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

    def squeeze(self, parts: Sequence[tuple[int, int, int]]) -> None:
        """Give up rows without new memory. Of the heads of each part (heads, rows of each now, rows of each to be left)
        the first rows are kept; all parts lie one behind the other."""
        begin = end = 0
        for heads, now, left in parts:
            for _ in range(heads):
                for rows in self.rows:
                    rows[end : end + left] = rows[begin : begin + left]
                begin, end = begin + now, end + left
        self.count, self.rows = end, (self.rows[0][:end], self.rows[1][:end])

    def free(self) -> None:
        """Give the memory back."""
        self.buffer.free()
        self.context.free()
        self.block.free()


def no_memory(n_ctx: int) -> Failure:
    """What users are told when there is no memory for a cache of `n_ctx` tokens."""
    return Failure("out_of_memory.context", n_ctx=n_ctx)


BUCKET = 256  # cells: passes look at a multiple of it, llama.cpp's too
HALF = 2  # bytes of a number

Seen = NDArray[np.bool_]  # [new tokens, new tokens]: does the first see the second?
KeysAndValues = tuple[NDArray[np.float16], NDArray[np.float16]]  # of a layer, [tokens, kv-heads, head] each


def round_up(count: int, step: int = BUCKET) -> int:
    """The next multiple of `step`, one at least."""
    return max(step, -(-count // step) * step)


class Projected(NamedTuple):
    """A layer's queries [head, heads, n], keys and values [head, kv-heads, n] of new tokens, as tensors."""

    q: Any
    k: Any
    v: Any


Rotate = Callable[[Any], Any]


class Layout(ABC):
    """Owns keys and values. `size`, where it is asked for, is how many tokens are kept."""

    n_ctx: int
    layers: list[Cells]
    can_truncate = True  # single tokens; otherwise only all
    most: int | None = None  # tokens of a pass, if it makes a difference

    @property
    @abstractmethod
    def form(self) -> str:
        """Mode and shapes: what is saved of one form cannot be read by another."""

    @abstractmethod
    def begin(self, tokens: Sequence[int], size: int) -> bool:
        """Before each pass, of `tokens` behind `size` others. Has the cache moved, so that graphs are of no use? May
        raise Failure."""

    @abstractmethod
    def bucket(self, end: int) -> Hashable:
        """What of the cache a pass looks at that ends with `end` tokens: passes with the same share a graph."""

    @property
    @abstractmethod
    def largest_bucket(self) -> Hashable:
        """What the largest pass looks at."""

    @abstractmethod
    def inputs(self, g: Graph, n: int, bucket: Any) -> tuple[Any, ...]:
        """Input tensors of a pass of n tokens, which `fill` fills before each run."""

    @abstractmethod
    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, new: Projected, rotate: Rotate) -> Any:
        """Keep the keys and values of a layer's new tokens and attend to all with their queries, which are rotated
        already; `rotate` turns keys to their positions. Returns [head, heads, n]."""

    @abstractmethod
    def fill(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        """Fill the inputs for new tokens behind `size` others."""

    @abstractmethod
    def keep(self, base: int, nodes: Sequence[int]) -> None:
        """Of the tokens run behind the first `base` go on with those at `nodes` (counted from `base`), in order."""

    @abstractmethod
    def drop_after(self, size: int, held: int) -> int:
        """Forget all of `held` tokens but the first `size`; returns how many are left."""

    @abstractmethod
    def grow(self, n_ctx: int, size: int) -> None:
        """Make room for `n_ctx` tokens, or less than now. Raises Failure, and is then as it was."""

    def head_groups(self, size: int) -> tuple[HeadGroup, ...]:  # noqa: ARG002
        """None where all heads keep every token."""
        return ()

    @abstractmethod
    def state_bytes(self, size: int) -> int:
        """Bytes that `write` writes for `size` tokens, about."""

    @abstractmethod
    def write(self, file: IO[bytes], size: int) -> None:
        """Write the first `size` tokens' keys and values."""

    @abstractmethod
    def read(self, file: IO[bytes], size: int) -> bool:
        """Take what `write` wrote; False if the file is too short or does not fit."""

    @abstractmethod
    def close(self) -> None:
        """Free the cells."""


# --- which kv-heads of each layer keep every token and which are compressed, and where their rows lie ---


@dataclass(frozen=True, slots=True)
class Groups:
    """The kv-heads of a layer: full ones first in `order`, `full` of them."""

    order: tuple[int, ...]
    full: int

    @property
    def compressed(self) -> int:
        """How many heads are."""
        return len(self.order) - self.full

    def queries(self, each: int) -> NDArray[np.int32]:
        """Query heads in the order of their keys, `each` per key."""
        return np.array([head * each + i for head in self.order for i in range(each)], np.int32)


def groups_of(d: Dimensions, compressed: Sequence[tuple[int, int]]) -> list[Groups]:
    """For each layer, from the (layer, kv-head) pairs that are compressed."""
    chosen = set(compressed)
    groups = []
    for layer in range(d.layers):
        full = [head for head in range(d.kv_heads) if (layer, head) not in chosen]
        rest = [head for head in range(d.kv_heads) if (layer, head) in chosen]
        groups.append(Groups((*full, *rest), len(full)))
    return groups


class Places:
    """Rows of keys and of queries in the order of the groups, for a pass to be told."""

    def __init__(self, d: Dimensions, groups: Sequence[Groups]) -> None:
        self.d, self.groups = d, groups
        shape = (d.layers, d.kv_heads)
        self.is_full = np.zeros(shape, np.bool_)
        self._rank = np.zeros(shape, np.int64)
        self._orders: dict[int, NDArray[np.int32]] = {}
        for layer, group in enumerate(groups):
            for i, head in enumerate(group.order):
                full = i < group.full
                self.is_full[layer, head] = full
                self._rank[layer, head] = i if full else i - group.full

    def rows(self, cells: NDArray[np.int64], slots: NDArray[np.int64], room: tuple[int, int]) -> NDArray[np.int64]:
        """Rows of new tokens' keys, [layers, tokens, kv-heads], from cells and slots, of which a head has `room`."""
        n_ctx, capacity = room
        entry = np.where(self.is_full[:, None, :], cells[:, None], slots[:, None])
        first = np.array([group.full * n_ctx for group in self.groups])[:, None]
        begin = np.where(self.is_full, self._rank * n_ctx, first + self._rank * capacity)
        return entry + begin[:, None, :]

    def order(self, n: int) -> NDArray[np.int32]:
        """Of each layer the rows of queries, [tokens · heads] as they come, in the order of the groups."""
        if n not in self._orders:
            tokens, each = np.arange(n)[:, None] * self.d.heads, self.d.queries
            parts = ((g.queries(each)[: g.full * each], g.queries(each)[g.full * each :]) for g in self.groups)
            rows = [np.concatenate([(tokens + part).ravel() for part in pair]) for pair in parts]
            self._orders[n] = np.array(rows, np.int32)
        return self._orders[n]
