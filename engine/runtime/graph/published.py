"""Head-split KV as published: merged heads store keys without position and merge a token as soon as it is read.

A token that occurred before is averaged into its entry within the pass. A pass therefore has one token: in a longer
one, tokens would see entries that later tokens have changed already. Merging cannot be undone. This form is for
comparison; `engine.runtime.graph.slots` is better.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.ggml import F32, I32, Graph
from engine.runtime.graph.head_split import F32_BYTES, HeadSplitKV
from engine.runtime.graph.kv_layout import F16_BYTES, Projected, Rotate, Seen
from engine.runtime.graph.slots import Merge, Slots


class PublishedSlots(Slots):
    """Slots with one entry per distinct token, created at its first occurrence."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.entries: dict[int, int] = {}  # token → slot
        self.counts: dict[int, int] = {}  # slot → tokens in it

    def begin_pass(self, _size: int) -> list[Merge]:
        return []

    def truncate(self, size: int) -> None:
        """Forget everything if `size` is smaller than the number of tokens read, because merging cannot be undone."""
        if size < self.settled:
            self.clear()

    def slots_needed(self, count: int) -> int:
        return self.used + count

    def assign(self, tokens: Sequence[int]) -> list[int]:
        """Return each token's slot: the one of its earlier occurrence, or a new one."""
        slots = []
        for token in tokens:
            slot = self.entries.setdefault(token, self.used)
            self.used = max(self.used, slot + 1)
            self.counts[slot] = self.counts.get(slot, 0) + 1
            self.bias[slot] = 0
            self.settled += 1
            slots.append(slot)
        return slots

    def clear(self) -> None:
        super().clear()
        self.entries, self.counts = {}, {}

    def state(self) -> dict[str, NDArray[np.int64]]:
        entries = [(token, slot, self.counts[slot]) for token, slot in self.entries.items()]
        return super().state() | {"entries": np.array(entries, np.int64).reshape(-1, 3)}

    def set_state(self, state: dict[str, NDArray[np.int64]]) -> None:
        super().set_state(state)
        for token, slot, count in state["entries"]:
            if not 0 <= slot < self.used or count < 1:
                raise ValueError("entries beyond the cache")
            self.entries[int(token)] = int(slot)
            self.counts[int(slot)] = int(count)


class PublishedKV(HeadSplitKV):
    """A head-split KV cache of the published form, which reads one token per pass and cannot take tokens back."""

    can_truncate = False
    max_pass_tokens = 1
    slots: PublishedSlots

    def create_inputs(self, g: Graph, n: int, bucket: tuple[int, ...]) -> tuple[Any, ...]:
        """Create the inputs of `HeadSplitKV`, the new rows' numbers once more, and three factors per head.

        The factors weigh the rotated key, the plain key and the entry's old content.
        """
        d = self.d
        parts = (g.input(F32, 1, d.kv_heads, d.layers) for _ in range(3))
        return *super().create_inputs(g, n, bucket), g.input(I32, d.kv_heads, d.layers), *parts

    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, new: Projected, rotate: Rotate) -> Any:
        d, cells, (_, places, *parts) = self.d, self.layers[layer], inputs[4:]
        start, row = layer * d.kv_heads * F32_BYTES, d.head * F16_BYTES
        rotated, plain, old = (g.view_2d(part, 1, d.kv_heads, F32_BYTES, start) for part in parts)
        places = g.view_1d(places, d.kv_heads, start)

        def averaged(made: Any, kept: Any) -> Any:
            before = g.get_rows(g.view_2d(kept, d.head, cells.count, row, 0), places)
            return g.add(made, g.mul(before, old))

        def rows(x: Any) -> Any:
            return g.reshape_2d(x, d.head, d.kv_heads)

        k = averaged(g.add(g.mul(rows(rotate(new.k)), rotated), g.mul(rows(new.k), plain)), cells.k)
        v = averaged(g.add(g.mul(rows(new.v), rotated), g.mul(rows(new.v), plain)), cells.v)
        return super().attend(g, inputs[:5], layer, Projected(new.q, k, v), lambda key: key)

    def fill_inputs(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        super().fill_inputs(arrays[:5], size, seen)
        places, rotated, plain, old = arrays[5:]
        places[:] = arrays[0].reshape(places.shape)
        (slot,) = self._new_slots
        share = 1 / self.slots.counts[slot]
        rotated[..., 0] = self.head_rows.is_full
        plain[..., 0] = ~self.head_rows.is_full * share
        old[..., 0] = ~self.head_rows.is_full * (1 - share)
