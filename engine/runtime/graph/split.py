"""A KV cache in two groups of heads per layer: full heads hold every token, compressed heads what their slots hold.

A layer's keys lie in one tensor of rows, one row per head and entry: first each full head's cells, then each compressed
head's slots. So one set_rows stores both; each group is then attended to apart, and their results joined in order.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import IO, Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from engine.protocol import HeadGroup, KVModeName
from engine.runtime.contexts import EXACT, size_class
from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.ggml import F16, F32, I32, I64, Graph, shape
from engine.runtime.graph.layout import (
    BUCKET,
    HALF,
    Cells,
    Groups,
    KeysAndValues,
    Layout,
    Places,
    Projected,
    Rotate,
    Seen,
    groups_of,
    no_memory,
    round_up,
)
from engine.runtime.graph.slots import Chains, Merge, Rotation, Slots

FIRST = 512  # slots a cache begins with
FLOAT = 4  # bytes
MOST_AT_ONCE = 128  # tokens of a pass


class SplitKV(Layout):
    """`slots` decides what the compressed heads hold; `mode` and `compressed` heads are its form."""

    most: int | None = MOST_AT_ONCE  # in longer passes tokens leave the tail late, and the slots must hold them all

    def __init__(
        self,
        d: Dimensions,
        rotation: Rotation,
        n_ctx: int,
        mode: KVModeName,
        slots: Slots,
        compressed: Sequence[tuple[int, int]],
    ) -> None:
        """Raises Failure where there is no memory for it."""
        self.d, self.rotation, self.mode, self.slots = d, rotation, mode, slots
        self.groups = groups_of(d, compressed)
        self.n_ctx = round_up(n_ctx)
        self._compressed = sorted(compressed)
        self._new: list[int] = []  # slots of the pass
        self.places = Places(d, self.groups)
        self.layers: list[Cells] = []
        try:
            for group in self.groups:
                self.layers.append(self._cells(group, self.n_ctx, slots.capacity))
        except MemoryError as error:
            self.close()
            raise no_memory(n_ctx) from error

    @property
    def form(self) -> str:
        """See `Layout`."""
        heads = " ".join(f"{layer}.{head}" for layer, head in self._compressed)
        return f"{self.mode} {self.d.layers} × {self.d.kv_heads} × {self.d.head}: {heads}"

    def _cells(self, group: Groups, cells: int, slots: int) -> Cells:
        first = group.full * cells
        return Cells(self.d.head, first + group.compressed * slots, first)

    # --- before a pass ---

    @property
    def entries(self) -> float:
        """Share of the entries that a plain cache would hold, all heads together."""
        held = self.slots.held if self._compressed else 0
        tokens = self.slots.settled + len(self.slots.tail)
        share = len(self._compressed) / (self.d.layers * self.d.kv_heads)
        return 1 - share + share * held / max(1, tokens)

    def begin(self, tokens: Sequence[int], size: int) -> bool:
        """See `Layout`."""
        self._merge(self.slots.begin(size))
        needed = self.slots.needed(len(tokens))
        moved = needed > self.slots.capacity
        if moved:
            self._move(self.n_ctx, size_class(needed, 1 << 40), size)
        self._new = self.slots.take(tokens)
        return moved

    def _merge(self, merge: Merge) -> None:
        """Average keys, turned to the later position, and values; in F32, entry by entry in the order of the text."""
        if not merge.source:
            return
        chains = Chains(merge)
        for group, cells in zip(self.groups, self.layers, strict=True):
            if group.compressed:
                keys, values = (self._slots_of(group, cells, rows) for rows in cells.rows)
                keys[chains.into] = chains.averaged(keys, self.rotation)
                values[chains.into] = chains.averaged(values, None)

    def _cells_of(self, group: Groups, cells: Cells, rows: NDArray[Any]) -> NDArray[Any]:
        """A layer's full rows as [cells, heads, head]."""
        count = cells.first // max(1, group.full)
        return rows[: cells.first].reshape(group.full, count, self.d.head).transpose(1, 0, 2)

    def _slots_of(self, group: Groups, cells: Cells, rows: NDArray[Any]) -> NDArray[Any]:
        """A layer's compressed rows as [slots, heads, head]."""
        count = (cells.count - cells.first) // max(1, group.compressed)
        return rows[cells.first :].reshape(group.compressed, count, self.d.head).transpose(1, 0, 2)

    def hold(self, tokens: range, first: int, kept: Sequence[KeysAndValues]) -> None:
        """Instead of a pass of the text's `tokens`: take what is `kept` of it, for the layers from `first` on."""
        part = slice(tokens.start, tokens.stop)
        for group, cells, pair in list(zip(self.groups, self.layers, kept, strict=True))[first:]:
            for rows, given in zip(cells.rows, pair, strict=True):
                ordered = given[part][:, list(group.order)] if group.compressed else given[part]
                if group.full:
                    self._cells_of(group, cells, rows)[part] = ordered[:, : group.full]
                if group.compressed:
                    self._slots_of(group, cells, rows)[self._new] = ordered[:, group.full :]

    # --- in a graph ---

    def bucket(self, end: int) -> tuple[int, int]:
        """See `Layout`."""
        return min(round_up(end, BUCKET), self.n_ctx), min(round_up(self.slots.used, BUCKET), self.slots.capacity)

    @property
    def largest_bucket(self) -> tuple[int, int]:
        """See `Layout`."""
        return self.n_ctx, self.slots.capacity

    def inputs(self, g: Graph, n: int, bucket: tuple[int, int]) -> tuple[Any, ...]:
        """See `Layout`."""
        d, (cells, slots) = self.d, bucket
        index = g.input(I64, n * d.kv_heads, d.layers)
        order = g.input(I32, n * d.heads, d.layers)
        joined = g.input(F32, d.head, n * d.heads)
        return index, order, joined, g.input(F16, cells, n), g.input(F16, slots, n)

    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, new: Projected, rotate: Rotate) -> Any:
        """See `Layout`."""
        index, order, joined, mask, slot_mask = inputs
        d, group, cells = self.d, self.groups[layer], self.layers[layer]
        n = shape(mask)[1]
        self._store(g, layer, index, rotate(new.k), new.v, n)
        order = g.view_1d(order, n * d.heads, layer * n * d.heads * FLOAT)
        q = g.get_rows(g.reshape_2d(new.q, d.head, d.heads * n), order)
        begin = 0
        for heads, first, room, entries in (
            (group.full, 0, self.n_ctx, mask),
            (group.compressed, cells.first, self.slots.capacity, slot_mask),
        ):
            if not heads:
                continue
            many, row = heads * d.queries, d.head * HALF
            part = g.view_3d(q, d.head, many, n, d.head * FLOAT, d.head * many * FLOAT, begin * d.head * FLOAT)
            count = shape(entries)[0]
            ks, vs = (g.view_3d(c, d.head, count, heads, row, room * row, first * row) for c in (cells.k, cells.v))
            result = g.attention(g.permute(part, 0, 2, 1, 3), ks, vs, entries, d.scale)
            rows = g.view_1d(order, many * n, begin * FLOAT)
            joined = g.set_rows(joined, g.reshape_2d(result, d.head, many * n), rows)
            begin += many * n
        return joined

    def _store(self, g: Graph, layer: int, index: Any, k: Any, v: Any, n: int) -> None:
        d, cells = self.d, self.layers[layer]
        index = g.view_1d(index, n * d.kv_heads, layer * n * d.kv_heads * 2 * FLOAT)
        for new, kept in ((k, cells.k), (v, cells.v)):
            g.expand(g.set_rows(kept, g.reshape_2d(new, d.head, d.kv_heads * n), index))

    def fill(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        """See `Layout`."""
        index, order, _joined, mask, slot_mask = arrays
        n = len(mask)
        slots = np.array(self._new)
        room = self.n_ctx, self.slots.capacity
        index[:] = self.places.rows(np.arange(size, size + n), slots, room).reshape(index.shape)
        order[:] = self.places.order(n)
        unseen = np.where(seen, np.float16(0), np.float16(-np.inf))
        mask[:, :size], mask[:, size : size + n], mask[:, size + n :] = 0, unseen, -np.inf
        slot_mask[:] = self.slots.bias[: slot_mask.shape[1]]
        slot_mask[:, slots] = unseen

    # --- what is kept ---

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        """See `Layout`."""
        source = [base + node for node in nodes]
        for group, cells in zip(self.groups, self.layers, strict=True):
            for rows in cells.rows:
                if group.full:
                    full = self._cells_of(group, cells, rows)
                    full[base : base + len(source)] = full[source]
        self.slots.keep(base, nodes)

    def drop_after(self, size: int, _held: int) -> int:
        """See `Layout`."""
        if size < self.slots.settled:  # what was merged or has left the window cannot be brought back
            self.slots.forget()
            return 0
        self.slots.cut(size)
        return size

    def grow(self, n_ctx: int, size: int) -> None:
        """See `Layout`."""
        if not size:
            self.slots.forget()
        self.slots.cut(size)
        slots = self.slots.capacity if size else FIRST
        self._move(round_up(n_ctx), slots, size)

    def _move(self, n_ctx: int, slots: int, size: int) -> None:
        """Layer by layer, so that the cache is never in memory twice. Raises Failure."""
        keys: list[Cells] = list(self.layers)
        try:
            for i, (group, old) in enumerate(zip(self.groups, keys, strict=True)):
                new = self._cells(group, n_ctx, slots)
                for source, target in zip(old.rows, new.rows, strict=True):
                    self._cells_of(group, new, target)[:size] = self._cells_of(group, old, source)[:size]
                    used = self._slots_of(group, old, source)[: self.slots.used]
                    self._slots_of(group, new, target)[: self.slots.used] = used
                self.layers[i] = new
                old.free()
        except MemoryError as error:
            self._even_out(n_ctx, slots)
            raise no_memory(n_ctx) from error
        self.n_ctx = n_ctx
        if slots != self.slots.capacity:
            self.slots.grow(slots)

    def _even_out(self, n_ctx: int, slots: int) -> None:
        """After a move that ended halfway: all layers as large as the smaller ones, where each head begins."""
        self.n_ctx = min(self.n_ctx, n_ctx)
        if slots < self.slots.capacity:
            self.slots.grow(slots)
        for group, cells in zip(self.groups, self.layers, strict=True):
            now = cells.first // max(1, group.full), (cells.count - cells.first) // max(1, group.compressed)
            left = self.n_ctx, self.slots.capacity
            cells.squeeze([(group.full, now[0], left[0]), (group.compressed, now[1], left[1])])
            cells.first = group.full * self.n_ctx

    def head_groups(self, size: int) -> tuple[HeadGroup, ...]:
        """See `Layout`."""
        entry = 2 * self.d.head * HALF
        full = sum(group.full for group in self.groups)
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
        """See `Layout`."""
        full = sum(group.full for group in self.groups) * size
        rest = sum(group.compressed for group in self.groups) * self.slots.used
        return (full + rest) * 2 * self.d.head * HALF

    def write(self, file: IO[bytes], size: int) -> None:
        """See `Layout`."""
        self.slots.cut(size)
        packed = io.BytesIO()
        np.savez(packed, **self.slots.state())  # type: ignore[arg-type]
        file.write(msgspec.json.encode(len(packed.getvalue())) + b"\n" + packed.getvalue())
        for group, cells in zip(self.groups, self.layers, strict=True):
            for rows in cells.rows:
                file.write(np.ascontiguousarray(self._cells_of(group, cells, rows)[:size]).data)
                file.write(np.ascontiguousarray(self._slots_of(group, cells, rows)[: self.slots.used]).data)

    def read(self, file: IO[bytes], size: int) -> bool:
        """See `Layout`."""
        try:
            length = msgspec.json.decode(file.readline(32), type=int)
            with np.load(io.BytesIO(file.read(length)), allow_pickle=False) as state:
                used = int(state["numbers"][0])
                if not 0 <= used <= size + FIRST:
                    return False
                self.slots.forget()
                if used > self.slots.capacity:
                    self._move(self.n_ctx, size_class(used, 1 << 40), 0)
                self.slots.set_state(dict(state))
            if self.slots.settled + len(self.slots.tail) != size:
                raise ValueError("not as many tokens as it says")
            return all(
                self._read_layer(file, group, cells, size)
                for group, cells in zip(self.groups, self.layers, strict=True)
            )
        except (OSError, ValueError, KeyError, EOFError, msgspec.MsgspecError):
            self.slots.forget()
            return False

    def _read_layer(self, file: IO[bytes], group: Groups, cells: Cells, size: int) -> bool:
        for rows in cells.rows:
            full, compressed = (of(group, cells, rows) for of in (self._cells_of, self._slots_of))
            for kept in (full[:size], compressed[: self.slots.used]):
                data = file.read(kept.nbytes)
                if len(data) < kept.nbytes:
                    return False
                kept[:] = np.frombuffer(data, np.float16).reshape(kept.shape)
        return True

    def close(self) -> None:
        """See `Layout`."""
        for cells in self.layers:
            cells.free()
        self.layers = []
