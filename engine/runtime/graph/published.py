"""Head-split merging as it was published: keys of the merged heads without position, merged as soon as they come.

A token that occurred before is averaged into its entry in the pass itself, which holds it alone: later tokens of a
longer pass would be seen too early. Nothing can be taken back. For comparison: `engine.runtime.graph.slots` is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.ggml import F32, I32, Graph
from engine.runtime.graph.layout import HALF, Projected, Rotate, Seen
from engine.runtime.graph.slots import Merge, Slots
from engine.runtime.graph.split import FLOAT, SplitKV


class PublishedSlots(Slots):
    """One entry per distinct token, from its first occurrence on."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.entries: dict[int, int] = {}  # token → slot
        self.counts: dict[int, int] = {}  # slot → tokens in it

    def border(self, size: int) -> int:
        """See `Slots`."""
        return size

    def begin(self, _size: int) -> Merge:
        """See `Slots`."""
        return Merge([], [], [], [])

    def _settle(self, border: int) -> Merge:
        raise AssertionError(border)

    def cut(self, size: int) -> None:
        """See `Slots`."""
        if size < self.settled:
            self.forget()

    def needed(self, count: int) -> int:
        """See `Slots`."""
        return self.used + count

    def take(self, tokens: Sequence[int]) -> list[int]:
        """See `Slots`."""
        slots = []
        for token in tokens:
            slot = self.entries.setdefault(token, self.used)
            self.used = max(self.used, slot + 1)
            self.counts[slot] = self.counts.get(slot, 0) + 1
            self.bias[slot] = 0
            self.settled += 1
            slots.append(slot)
        return slots

    def forget(self) -> None:
        """See `Slots`."""
        super().forget()
        self.entries, self.counts = {}, {}

    def state(self) -> dict[str, NDArray[np.int64]]:
        """See `Slots`."""
        entries = [(token, slot, self.counts[slot]) for token, slot in self.entries.items()]
        return super().state() | {"entries": np.array(entries, np.int64).reshape(-1, 3)}

    def set_state(self, state: dict[str, NDArray[np.int64]]) -> None:
        """See `Slots`."""
        super().set_state(state)
        self.bias[: self.used] = 0
        for token, slot, count in state["entries"]:
            if not 0 <= slot < self.used or count < 1:
                raise ValueError("entries beyond the cache")
            self.entries[int(token)] = int(slot)
            self.counts[int(slot)] = int(count)


class PublishedKV(SplitKV):
    """One token a pass; see the module."""

    can_truncate = False
    most = 1
    slots: PublishedSlots

    def inputs(self, g: Graph, n: int, bucket: tuple[int, int]) -> tuple[Any, ...]:
        """Also the new rows' places once more, and parts of each head's rotated key, plain key and old entry."""
        d = self.d
        parts = (g.input(F32, 1, d.kv_heads, d.layers) for _ in range(3))
        return *super().inputs(g, n, bucket), g.input(I32, d.kv_heads, d.layers), *parts

    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, new: Projected, rotate: Rotate) -> Any:
        """See `Layout`."""
        d, cells, (_, places, *parts) = self.d, self.layers[layer], inputs[4:]
        start, row = layer * d.kv_heads * FLOAT, d.head * HALF
        rotated, plain, old = (g.view_2d(part, 1, d.kv_heads, FLOAT, start) for part in parts)
        places = g.view_1d(places, d.kv_heads, start)

        def averaged(made: Any, kept: Any) -> Any:
            before = g.get_rows(g.view_2d(kept, d.head, cells.count, row, 0), places)
            return g.add(made, g.mul(before, old))

        def rows(x: Any) -> Any:
            return g.reshape_2d(x, d.head, d.kv_heads)

        k = averaged(g.add(g.mul(rows(rotate(new.k)), rotated), g.mul(rows(new.k), plain)), cells.k)
        v = averaged(g.add(g.mul(rows(new.v), rotated), g.mul(rows(new.v), plain)), cells.v)
        return super().attend(g, inputs[:5], layer, Projected(new.q, k, v), lambda key: key)

    def fill(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        """See `Layout`."""
        super().fill(arrays[:5], size, seen)
        places, rotated, plain, old = arrays[5:]
        places[:] = arrays[0].reshape(places.shape)
        (slot,) = self._new
        share = 1 / self.slots.counts[slot]
        rotated[..., 0] = self.places.is_full
        plain[..., 0] = ~self.places.is_full * share
        old[..., 0] = ~self.places.is_full * (1 - share)
