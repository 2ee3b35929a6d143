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
    BUCKET,
    F16_BYTES,
    Cells,
    HeadPartition,
    HeadRows,
    KeysAndValues,
    KVLayout,
    Projected,
    Rotate,
    Seen,
    out_of_memory,
    partition_heads,
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
        self.d, self.rotation, self.mode, self.slots = d, rotation, mode, slots
        self.partitions = partition_heads(d, compressed)
        self.n_ctx = round_up(n_ctx)
        self._compressed = sorted(compressed)
        self._new_slots: list[int] = []  # slots of the next pass's tokens
        self.head_rows = HeadRows(d, self.partitions)
        self.layers: list[Cells] = []
        try:
            for partition in self.partitions:
                self.layers.append(self._cells(partition, self.n_ctx, slots.capacity))
        except MemoryError as error:
            self.close()
            raise out_of_memory(n_ctx) from error

    @property
    def form(self) -> str:
        heads = " ".join(f"{layer}.{head}" for layer, head in self._compressed)
        return f"{self.mode} {self.d.layers} × {self.d.kv_heads} × {self.d.head}: {heads}"

    def _cells(self, partition: HeadPartition, cells: int, slots: int) -> Cells:
        first = partition.full * cells
        return Cells(self.d.head, first + partition.compressed * slots, first)

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
            self._move(self.n_ctx, size_class(needed, 1 << 40), size)
        self._new_slots = self.slots.assign(tokens)
        return moved

    def _merge(self, merge: Merge) -> None:
        """Average entries in F32, in the order of the text; keys are rotated to the later position first."""
        if not merge.source:
            return
        chains = MergeChains(merge)
        for partition, cells in zip(self.partitions, self.layers, strict=True):
            if partition.compressed:
                keys, values = (self._slots_of(partition, cells, rows) for rows in cells.rows)
                keys[chains.into] = chains.average(keys, self.rotation)
                values[chains.into] = chains.average(values, None)

    def _cells_of(self, partition: HeadPartition, cells: Cells, rows: NDArray[Any]) -> NDArray[Any]:
        """Return a view of the full heads' rows of a layer as [cells, heads, head]."""
        count = cells.first // max(1, partition.full)
        return rows[: cells.first].reshape(partition.full, count, self.d.head).transpose(1, 0, 2)

    def _slots_of(self, partition: HeadPartition, cells: Cells, rows: NDArray[Any]) -> NDArray[Any]:
        """Return a view of the compressed heads' rows of a layer as [slots, heads, head]."""
        count = (cells.count - cells.first) // max(1, partition.compressed)
        return rows[cells.first :].reshape(partition.compressed, count, self.d.head).transpose(1, 0, 2)

    def store_plain(self, tokens: range, first: int, kept: Sequence[KeysAndValues]) -> None:
        """Store given keys and values of the text's `tokens`, in the layers from `first` on, in place of a pass."""
        part = slice(tokens.start, tokens.stop)
        for partition, cells, pair in list(zip(self.partitions, self.layers, kept, strict=True))[first:]:
            for rows, given in zip(cells.rows, pair, strict=True):
                ordered = given[part][:, list(partition.order)] if partition.compressed else given[part]
                if partition.full:
                    self._cells_of(partition, cells, rows)[part] = ordered[:, : partition.full]
                if partition.compressed:
                    self._slots_of(partition, cells, rows)[self._new_slots] = ordered[:, partition.full :]

    # --- for a graph ---

    def bucket(self, end: int) -> tuple[int, int]:
        """Return how many cells and how many slots a pass reads."""
        return min(round_up(end, BUCKET), self.n_ctx), min(round_up(self.slots.used, BUCKET), self.slots.capacity)

    @property
    def largest_bucket(self) -> tuple[int, int]:
        return self.n_ctx, self.slots.capacity

    def create_inputs(self, g: Graph, n: int, bucket: tuple[int, int]) -> tuple[Any, ...]:
        """Create the inputs of a pass.

        These are the rows of new keys, the order of the queries, memory for the joined results, and a mask for each
        group of heads.
        """
        d, (cells, slots) = self.d, bucket
        index = g.input(I64, n * d.kv_heads, d.layers)
        order = g.input(I32, n * d.heads, d.layers)
        joined = g.input(F32, d.head, n * d.heads)
        return index, order, joined, g.input(F16, cells, n), g.input(F16, slots, n)

    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, new: Projected, rotate: Rotate) -> Any:
        index, order, joined, mask, slot_mask = inputs
        d, partition, cells = self.d, self.partitions[layer], self.layers[layer]
        n = shape(mask)[1]
        self._store(g, layer, index, rotate(new.k), new.v, n)
        order = g.view_1d(order, n * d.heads, layer * n * d.heads * F32_BYTES)
        q = g.get_rows(g.reshape_2d(new.q, d.head, d.heads * n), order)
        begin = 0
        for heads, first, room, entries in (
            (partition.full, 0, self.n_ctx, mask),
            (partition.compressed, cells.first, self.slots.capacity, slot_mask),
        ):
            if not heads:
                continue
            many, row = heads * d.queries, d.head * F16_BYTES
            part = g.view_3d(
                q, d.head, many, n, d.head * F32_BYTES, d.head * many * F32_BYTES, begin * d.head * F32_BYTES
            )
            count = shape(entries)[0]
            ks, vs = (g.view_3d(c, d.head, count, heads, row, room * row, first * row) for c in (cells.k, cells.v))
            result = g.attention(g.permute(part, 0, 2, 1, 3), ks, vs, entries, d.scale)
            rows = g.view_1d(order, many * n, begin * F32_BYTES)
            joined = g.set_rows(joined, g.reshape_2d(result, d.head, many * n), rows)
            begin += many * n
        return joined

    def _store(self, g: Graph, layer: int, index: Any, k: Any, v: Any, n: int) -> None:
        d, cells = self.d, self.layers[layer]
        index = g.view_1d(index, n * d.kv_heads, layer * n * d.kv_heads * 2 * F32_BYTES)
        for new, kept in ((k, cells.k), (v, cells.v)):
            g.expand(g.set_rows(kept, g.reshape_2d(new, d.head, d.kv_heads * n), index))

    def fill_inputs(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        index, order, _joined, mask, slot_mask = arrays
        n = len(mask)
        slots = np.array(self._new_slots)
        room = self.n_ctx, self.slots.capacity
        index[:] = self.head_rows.rows(np.arange(size, size + n), slots, room).reshape(index.shape)
        order[:] = self.head_rows.order(n)
        unseen = np.where(seen, np.float16(0), np.float16(-np.inf))
        mask[:, :size], mask[:, size : size + n], mask[:, size + n :] = 0, unseen, -np.inf
        slot_mask[:] = self.slots.bias[: slot_mask.shape[1]]
        slot_mask[:, slots] = unseen

    # --- cached tokens ---

    def keep_nodes(self, base: int, nodes: Sequence[int]) -> None:
        source = [base + node for node in nodes]
        for partition, cells in zip(self.partitions, self.layers, strict=True):
            for rows in cells.rows:
                if partition.full:
                    full = self._cells_of(partition, cells, rows)
                    full[base : base + len(source)] = full[source]
        self.slots.keep_nodes(base, nodes)

    def drop_after(self, size: int, _held: int) -> int:
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
        slots = self.slots.capacity if size else FIRST_SLOTS
        self._move(round_up(n_ctx), slots, size)

    def _move(self, n_ctx: int, slots: int, size: int) -> None:
        """Move to new cells and slots layer by layer, so that memory never holds the cache twice. Raises Failure."""
        keys: list[Cells] = list(self.layers)
        try:
            for i, (partition, old) in enumerate(zip(self.partitions, keys, strict=True)):
                new = self._cells(partition, n_ctx, slots)
                for source, target in zip(old.rows, new.rows, strict=True):
                    self._cells_of(partition, new, target)[:size] = self._cells_of(partition, old, source)[:size]
                    used = self._slots_of(partition, old, source)[: self.slots.used]
                    self._slots_of(partition, new, target)[: self.slots.used] = used
                self.layers[i] = new
                old.free()
        except MemoryError as error:
            self._shrink_to_smallest(n_ctx, slots)
            raise out_of_memory(n_ctx) from error
        self.n_ctx = n_ctx
        if slots != self.slots.capacity:
            self.slots.grow(slots)

    def _shrink_to_smallest(self, n_ctx: int, slots: int) -> None:
        """Shrink all layers to the smaller sizes after a move that failed halfway.

        All layers must agree where a head begins.
        """
        self.n_ctx = min(self.n_ctx, n_ctx)
        if slots < self.slots.capacity:
            self.slots.grow(slots)
        for partition, cells in zip(self.partitions, self.layers, strict=True):
            now = cells.first // max(1, partition.full), (cells.count - cells.first) // max(1, partition.compressed)
            left = self.n_ctx, self.slots.capacity
            cells.drop_rows([(partition.full, now[0], left[0]), (partition.compressed, now[1], left[1])])
            cells.first = partition.full * self.n_ctx

    def head_groups(self, size: int) -> tuple[HeadGroup, ...]:
        entry = 2 * self.d.head * F16_BYTES
        full = sum(partition.full for partition in self.partitions)
        rest, slots = len(self._compressed), self.slots
        return tuple(
            HeadGroup(mode, heads, entries, capacity, heads * capacity * entry)
            for mode, heads, entries, capacity in (
                (EXACT.name, full, size, self.n_ctx),
                (self.mode, rest, slots.held, slots.capacity),
            )
            if heads
        )

    def state_bytes(self, size: int) -> int:
        full = sum(partition.full for partition in self.partitions) * size
        rest = sum(partition.compressed for partition in self.partitions) * self.slots.used
        return (full + rest) * 2 * self.d.head * F16_BYTES

    def write(self, file: IO[bytes], size: int) -> None:
        """Write the slots' state, its length before it as a line of JSON, then each layer's cells and slots."""
        self.slots.truncate(size)
        packed = io.BytesIO()
        np.savez(packed, **self.slots.state())  # type: ignore[arg-type]
        file.write(msgspec.json.encode(len(packed.getvalue())) + b"\n" + packed.getvalue())
        for partition, cells in zip(self.partitions, self.layers, strict=True):
            for rows in cells.rows:
                file.write(np.ascontiguousarray(self._cells_of(partition, cells, rows)[:size]).data)
                file.write(np.ascontiguousarray(self._slots_of(partition, cells, rows)[: self.slots.used]).data)

    def read(self, file: IO[bytes], size: int) -> bool:
        try:
            length = msgspec.json.decode(file.readline(32), type=int)
            with np.load(io.BytesIO(file.read(length)), allow_pickle=False) as state:
                used = int(state["numbers"][0])
                if not 0 <= used <= size + FIRST_SLOTS:
                    return False
                self.slots.clear()
                if used > self.slots.capacity:
                    self._move(self.n_ctx, size_class(used, 1 << 40), 0)
                self.slots.set_state(dict(state))
            if self.slots.settled + len(self.slots.tail) != size:
                raise ValueError("not as many tokens as it says")
            return all(
                self._read_layer(file, partition, cells, size)
                for partition, cells in zip(self.partitions, self.layers, strict=True)
            )
        except (OSError, ValueError, KeyError, EOFError, msgspec.MsgspecError):
            self.slots.clear()
            return False

    def _read_layer(self, file: IO[bytes], partition: HeadPartition, cells: Cells, size: int) -> bool:
        for rows in cells.rows:
            full, compressed = (of(partition, cells, rows) for of in (self._cells_of, self._slots_of))
            for kept in (full[:size], compressed[: self.slots.used]):
                data = file.read(kept.nbytes)
                if len(data) < kept.nbytes:
                    return False
                kept[:] = np.frombuffer(data, np.float16).reshape(kept.shape)
        return True

    def close(self) -> None:
        for cells in self.layers:
            cells.free()
        self.layers = []
