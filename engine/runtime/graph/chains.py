"""Merging: the entries of a cache and the tokens that go into them, averaged. Knows no cache."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.rotation import Rotation
from engine.runtime.graph.slots import Merge


class Chains:
    """Merges of one block, those into the same entry taken together: of an entry all tokens are turned to the position
    of the last, which is the same as turning the mean each time, because rotation is linear."""

    def __init__(self, merge: Merge) -> None:
        self.into = sorted(set(merge.into))
        place = {slot: i for i, slot in enumerate(self.into)}
        self.at = np.array([place[slot] for slot in merge.into])
        self.source = np.array(merge.source)
        first = np.zeros(len(self.into), np.float32)  # tokens of each entry before
        behind = np.zeros(len(self.into))  # positions that it has to be turned by
        turns = np.zeros(len(merge.source))  # the same of each token
        for i in reversed(range(len(merge.source))):
            turns[i] = behind[self.at[i]]
            behind[self.at[i]] += merge.turns[i]
            first[self.at[i]] = merge.count[i]
        self.first, self.behind, self.turns = first, behind, turns
        self.total = first + np.bincount(self.at, minlength=len(self.into)).astype(np.float32)

    def averaged(self, rows: NDArray[Any], rotation: Rotation | None) -> NDArray[np.float32]:
        """New content of the entries `into`, [entries, heads, head], from the slots' `rows`."""
        before, more = rows[self.into].astype(np.float32), rows[self.source].astype(np.float32)
        if rotation:
            before, more = rotation.turned(before, self.behind), rotation.turned(more, self.turns)
        total = before * self.first[:, None, None]
        np.add.at(total, self.at, more)
        result: NDArray[np.float32] = total / self.total[:, None, None]
        return result
