"""Which kv-heads of each layer keep every token and which are compressed, and where their rows lie. Knows no memory.

A layer's rows are, one per head and entry: first each full head's cells, then each compressed head's slots.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.dimensions import Dimensions


@dataclass(frozen=True, slots=True)
class Groups:
    """The kv-heads of a layer: full ones first in `order`, `full` of them."""

    order: tuple[int, ...]
    full: int

    @property
    def compressed(self) -> int:
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
