"""A head-split KV cache: in each layer, full heads hold every token and compressed heads hold what their slots hold.

A layer's keys lie in one tensor of rows, one row per head and entry: first each full head's cells, then each compressed
head's slots. So one set_rows stores the keys of both groups. Attention runs for each partition separately, and the
results are joined in the order of the heads.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.protocol.events import HeadGroup
from engine.protocol.requests import KVModeName
from engine.runtime.contexts import EXACT, size_class
from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.ggml import F16, F32, I32, I64, Graph, shape
from engine.runtime.graph.kv_layout import (
    F16_BYTES,
    KeysAndValues,
    KVLayout,
    Projected,
    Rotate,
    Seen,
    bias_of,
    fill_mask,
    round_up,
)
from engine.runtime.graph.slots import Merge, MergeChains, Rotation, Slots

FIRST_SLOTS = 512  # slots of an empty cache
F32_BYTES = 4
MAX_PASS_TOKENS = 128  # in longer passes tokens leave the tail late, and the slots must hold them all


class HeadSplitKV(KVLayout):
    """A head-split KV cache; `slots` decides what the `compressed` heads hold, given as (layer, kv-head) pairs."""

    max_pass_tokens: int | None = MAX_PASS_TOKENS

    def __init__(
        self,
        d: Dimensions,
        rotation: Rotation,
        n_ctx: int,
        mode: KVModeName,
        slots: Slots,
        compressed: Sequence[tuple[int, int]],
    ) -> None:
        """Allocate the cells of all layers. Raises Failure if memory is short."""
        self.rotation, self.mode, self.slots = rotation, mode, slots
        self._compressed = sorted(compressed)
        self._new_slots: list[int] = []  # slots of the next pass's tokens
        self.head_rows = HeadRows(d, compressed)
        super().__init__(d, self.head_rows.groups, (round_up(n_ctx), slots.capacity))

    @property
    def form(self) -> str:
        heads = " ".join(f"{layer}.{head}" for layer, head in self._compressed)
        return f"{self.mode} {self.d.layers} × {self.d.kv_heads} × {self.d.head}: {heads}"

    def entries(self, size: int) -> tuple[int, ...]:
        return size, self.slots.used

    # --- before a pass ---

    @property
    def entry_share(self) -> float:
        """Share of a plain cache's entries that this cache holds, all heads together."""
        held = self.slots.held if self._compressed else 0
        tokens = self.slots.settled + len(self.slots.tail)
        share = len(self._compressed) / (self.d.layers * self.d.kv_heads)
        return 1 - share + share * held / max(1, tokens)

    def begin_pass(self, tokens: Sequence[int], size: int) -> bool:
        self._merge(self.slots.begin_pass(size))
        needed = self.slots.slots_needed(len(tokens))
        moved = needed > self.slots.capacity
        if moved:
            self._move((self.n_ctx, size_class(needed, 1 << 40)), size)
        self._new_slots = self.slots.assign(tokens)
        return moved

    def _merge(self, merges: Sequence[Merge]) -> None:
        """Average entries in F32, in the order of the text; keys are rotated to the later position first."""
        if not merges:
            return
        chains = MergeChains(merges)
        for cells in self.layers:
            if cells.heads[1]:
                keys, values = cells.views(1)
                keys[chains.into] = chains.average(keys, self.rotation)
                values[chains.into] = chains.average(values, None)

    def store_plain(self, tokens: range, first: int, kept: Sequence[KeysAndValues]) -> None:
        """Store given keys and values of the text's `tokens`, in the layers from `first` on, in place of a pass."""
        part = slice(tokens.start, tokens.stop)
        for order, cells, pair in list(zip(self.head_rows.order, self.layers, kept, strict=True))[first:]:
            for full, compressed, given in zip(cells.views(0), cells.views(1), pair, strict=True):
                ordered, count = given[part][:, order], cells.heads[0]
                full[part], compressed[self._new_slots] = ordered[:, :count], ordered[:, count:]

    # --- for a graph ---

    def create_inputs(self, g: Graph, n: int, bucket: tuple[int, ...]) -> tuple[Any, ...]:
        """Create the inputs of a pass.

        These are the rows of new keys, the order of the queries, memory for the joined results, and a mask for each
        group of heads.
        """
        d = self.d
        index = g.input(I64, n * d.kv_heads, d.layers)
        order = g.input(I32, n * d.heads, d.layers)
        joined = g.input(F32, d.head, n * d.heads)
        return index, order, joined, *(g.input(F16, entries, n) for entries in bucket)

    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, new: Projected, rotate: Rotate) -> Any:
        index, order, joined, *masks = inputs
        d, n = self.d, shape(masks[0])[1]
        index = g.view_1d(index, n * d.kv_heads, layer * n * d.kv_heads * 2 * F32_BYTES)
        self._store(g, layer, index, rotate(new.k), new.v)
        order = g.view_1d(order, n * d.heads, layer * n * d.heads * F32_BYTES)
        q = g.get_rows(g.reshape_2d(new.q, d.head, d.heads * n), order)
        begin, row = 0, d.head * F32_BYTES
        for group, mask in enumerate(masks):
            many = self.heads[layer][group] * d.queries
            if not many:
                continue
            queries = g.view_3d(q, d.head, many, n, row, row * many, begin * row)
            result = self._attention(g, layer, group, queries, mask)
            rows = g.view_1d(order, many * n, begin * F32_BYTES)
            joined = g.set_rows(joined, g.reshape_2d(result, d.head, many * n), rows)
            begin += many * n
        return joined

    def fill_inputs(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        index, order, _joined, mask, slot_mask = arrays
        n = len(mask)
        slots = np.array(self._new_slots)
        index[:] = self.head_rows.rows(np.arange(size, size + n), slots, self.room).reshape(index.shape)
        order[:] = self.head_rows.query_order(n)
        fill_mask(mask, size, seen)
        slot_mask[:] = self.slots.bias[: slot_mask.shape[1]]
        slot_mask[:, slots] = bias_of(seen)

    # --- cached tokens ---

    def keep_nodes(self, base: int, nodes: Sequence[int]) -> None:
        super().keep_nodes(base, nodes)
        self.slots.keep_nodes(base, nodes)

    def drop_after(self, size: int) -> int:
        """Drop all tokens behind the first `size`; drop every token if `size` lies among merged or forgotten ones."""
        if size < self.slots.settled:  # merged tokens and tokens outside the window cannot be restored
            self.slots.clear()
            return 0
        self.slots.truncate(size)
        return size

    def resize(self, n_ctx: int, size: int) -> None:
        if not size:
            self.slots.clear()
        self.slots.truncate(size)
        self._move((round_up(n_ctx), self.slots.capacity if size else FIRST_SLOTS), size)

    def _use_room(self, room: tuple[int, ...]) -> None:
        super()._use_room(room)
        if room[1] != self.slots.capacity:
            self.slots.grow(room[1])

    def head_groups(self, size: int) -> tuple[HeadGroup, ...]:
        entry = 2 * self.d.head * F16_BYTES
        full = int(self.head_rows.full.sum())
        rest, slots = len(self._compressed), self.slots
        return tuple(
            HeadGroup(mode, heads, entries, capacity, heads * capacity * entry)
            for mode, heads, entries, capacity in (
                (EXACT.name, full, size, self.n_ctx),
                (self.mode, rest, slots.held, slots.capacity),
            )
            if heads
        )

    def write(self, file: IO[bytes], size: int) -> None:
        """Write the slots' state, its length before it as a line of JSON, then each layer's cells and slots."""
        self.slots.truncate(size)
        packed = io.BytesIO()
        np.savez(packed, **self.slots.state())  # type: ignore[arg-type]
        file.write(msgspec.json.encode(len(packed.getvalue())) + b"\n" + packed.getvalue())
        super().write(file, size)

    def read(self, file: IO[bytes], size: int) -> bool:
        try:
            length = msgspec.json.decode(file.readline(32), type=int)
            with np.load(io.BytesIO(file.read(length)), allow_pickle=False) as state:
                used = int(state["numbers"][0])
                if not 0 <= used <= size + FIRST_SLOTS:
                    return False
                self.slots.clear()
                if used > self.slots.capacity:
                    self._move((self.n_ctx, size_class(used, 1 << 40)), 0)
                self.slots.set_state(dict(state))
            if self.slots.settled + len(self.slots.tail) != size:
                raise ValueError("not as many tokens as it says")
            return super().read(file, size)
        except (OSError, ValueError, KeyError, EOFError, msgspec.MsgspecError):
            self.slots.clear()
            return False


class HeadRows:
    """Row numbers of new keys and of queries when heads are ordered by group; they become inputs of a pass.

    `compressed` lists (layer, kv-head) pairs. `order` [layers, kv-heads] names each layer's heads, the full ones first.
    """

    def __init__(self, d: Dimensions, compressed: Sequence[tuple[int, int]]) -> None:
        self.d = d
        self.is_full = np.ones((d.layers, d.kv_heads), np.bool_)
        for head in compressed:
            self.is_full[head] = False
        self.full = self.is_full.sum(axis=1)
        self.order = np.argsort(~self.is_full, axis=1, kind="stable")
        self._rank = np.where(self.is_full, np.cumsum(self.is_full, axis=1), np.cumsum(~self.is_full, axis=1)) - 1
        self._query_orders: dict[int, NDArray[np.int32]] = {}

    @property
    def groups(self) -> list[tuple[int, int]]:
        """Numbers of full and of compressed heads of each layer."""
        return [(int(full), self.d.kv_heads - int(full)) for full in self.full]

    def rows(self, cells: NDArray[np.int64], slots: NDArray[np.int64], room: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the rows that new tokens' keys are written to, [layers, tokens, kv-heads].

        Full heads use the tokens' `cells`, compressed heads their `slots`; `room` is (cells, slots) per head.
        """
        n_ctx, capacity = room
        entry = np.where(self.is_full[:, None, :], cells[:, None], slots[:, None])
        first = self.full[:, None] * n_ctx
        begin = np.where(self.is_full, self._rank * n_ctx, first + self._rank * capacity)
        return entry + begin[:, None, :]

    def query_order(self, n: int) -> NDArray[np.int32]:
        """Return, per layer, the rows of [tokens · heads] queries, reordered: full heads' queries before the others."""
        if n not in self._query_orders:
            tokens, each = np.arange(n)[:, None] * self.d.heads, self.d.queries
            queries = (self.order[:, :, None] * each + np.arange(each)).reshape(self.d.layers, -1)
            parts = (np.split(row, [full * each]) for row, full in zip(queries, self.full, strict=True))
            rows = [np.concatenate([(tokens + part).ravel() for part in pair]) for pair in parts]
            self._query_orders[n] = np.array(rows, np.int32)
        return self._query_orders[n]
