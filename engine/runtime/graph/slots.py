"""Which tokens the compressed heads still hold, in which slots, and how the entries of tokens are averaged.

A new token gets a slot of its own, and keeps it while it is among the newest (the *tail*), so that it can be taken back
without a trace. Tokens leave the tail in blocks: the first ones stay for good (attention sinks), of the others the
mode decides. What leaves depends only on how many tokens are kept when a pass begins, not on what was drafted before.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.dimensions import NORMAL, Dimensions

SINKS = 4  # first tokens, which every head leans on: https://arxiv.org/abs/2309.17453
PROTECTED = 64  # newest tokens that are never merged
BLOCK = 64  # tokens that leave the tail at once
FORGOTTEN = 16  # the same where nothing is merged
NO_TOKEN = -1


@dataclass(frozen=True, slots=True)
class Merge:
    """Tokens that leave the tail: `source` slots go into `into` slots, an entry of `count` tokens each time in order.

    `turns`: by how many positions the entry was older than the token, before each merge."""

    source: list[int]
    into: list[int]
    count: list[int]
    turns: list[int]


class Slots(ABC):
    """`used` slots of `capacity` are in use or were; `bias` [capacity] is what attention adds to a slot's score."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.bias = np.full(capacity, -np.inf, np.float16)
        self.free: list[int] = []  # a heap would keep them lower; the newest freed are as good
        self.used = 0
        self.settled = 0  # tokens that have left the tail
        self.tail: list[tuple[int, int]] = []  # (slot, token) of the tokens from `settled` on

    @property
    def held(self) -> int:
        """Entries in use."""
        return self.used - len(self.free)

    def needed(self, count: int) -> int:
        """Slots that must exist to take `count` more tokens."""
        return self.used + max(0, count - len(self.free))

    def grow(self, capacity: int) -> None:
        """Make room for so many slots."""
        more = np.full(capacity, -np.inf, np.float16)
        more[: self.used] = self.bias[: self.used]
        self.capacity, self.bias = capacity, more

    def cut(self, size: int) -> None:
        """Forget the tail's tokens from index `size` of all on."""
        for slot, _ in self.tail[size - self.settled :]:
            self._release(slot)
        del self.tail[size - self.settled :]

    def begin(self, size: int) -> Merge:
        """Before a pass behind `size` tokens: forget what is behind them, let old ones leave the tail."""
        self.cut(size)
        for slot, _ in self.tail:
            self.bias[slot] = 0
        return self._settle(self.border(size))

    def take(self, tokens: Sequence[int]) -> list[int]:
        """Slots of new tokens, which are not seen before the next `begin`."""
        slots = []
        for token in tokens:
            slot = self.free.pop() if self.free else self.used
            self.used = max(self.used, slot + 1)
            assert slot < self.capacity, (slot, self.capacity)
            self.bias[slot] = -np.inf
            self.tail.append((slot, token))
            slots.append(slot)
        return slots

    def keep(self, base: int, nodes: Sequence[int]) -> None:
        """Of the tokens from index `base` on keep those at `nodes`, counted from there."""
        at = base - self.settled
        kept = [self.tail[at + node] for node in nodes]
        for entry in self.tail[at:]:
            if entry not in kept:
                self._release(entry[0])
        self.tail[at:] = kept

    def forget(self) -> None:
        """Begin anew."""
        self.bias[:] = -np.inf
        self.free, self.used, self.settled, self.tail = [], 0, 0, []

    @abstractmethod
    def border(self, size: int) -> int:
        """How many tokens have left the tail when `size` are kept."""

    @abstractmethod
    def _settle(self, border: int) -> Merge: ...

    def _leaving(self, border: int) -> list[tuple[int, int, int]]:
        """(position, slot, token) of what leaves the tail."""
        count = max(0, border - self.settled)
        leaving = [(self.settled + i, *entry) for i, entry in enumerate(self.tail[:count])]
        del self.tail[:count]
        self.settled += count
        return leaving

    def _release(self, slot: int) -> None:
        self.bias[slot] = -np.inf
        self.free.append(slot)

    def state(self) -> dict[str, NDArray[np.int64]]:
        """Arrays that tell all, for `set_state`."""
        return {
            "tail": np.array(self.tail, np.int64).reshape(-1, 2),
            "free": np.array(self.free, np.int64),
            "numbers": np.array([self.used, self.settled], np.int64),
        }

    def set_state(self, state: dict[str, NDArray[np.int64]]) -> None:
        """Raises KeyError and ValueError."""
        self.forget()
        self.tail = [(int(slot), int(token)) for slot, token in state["tail"]]
        self.free = [int(slot) for slot in state["free"]]
        self.used, self.settled = (int(number) for number in state["numbers"])
        slots = [slot for slot, _ in self.tail] + self.free
        if not 0 <= self.used <= self.capacity or self.settled < 0 or any(not 0 <= s < self.used for s in slots):
            raise ValueError("slots beyond the cache")
        for slot, _ in self.tail:
            self.bias[slot] = 0


class MergedSlots(Slots):
    """One entry per distinct token: what leaves the tail is averaged with the entry of the same token.

    An entry of r tokens gets log r on its score: so many tokens at one place would have had it together."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.entries: dict[int, tuple[int, int, int]] = {}  # token → slot, tokens in it, position of the last

    def border(self, size: int) -> int:
        """See `Slots`."""
        return max(0, (size - PROTECTED) // BLOCK * BLOCK)

    def _settle(self, border: int) -> Merge:
        merge = Merge([], [], [], [])
        for position, slot, token in self._leaving(border):
            if position < SINKS:
                continue
            entry = self.entries.get(token)
            if entry is None:
                self.entries[token] = slot, 1, position
                continue
            into, count, last = entry
            for values, value in zip(
                (merge.source, merge.into, merge.count, merge.turns), (slot, into, count, position - last), strict=True
            ):
                values.append(value)
            self.entries[token] = into, count + 1, position
            self.bias[into] = np.log(count + 1)
            self._release(slot)
        return merge

    def forget(self) -> None:
        """See `Slots`."""
        super().forget()
        self.entries = {}

    def state(self) -> dict[str, NDArray[np.int64]]:
        """See `Slots`."""
        entries = [(token, *entry) for token, entry in self.entries.items()]
        return super().state() | {"entries": np.array(entries, np.int64).reshape(-1, 4)}

    def set_state(self, state: dict[str, NDArray[np.int64]]) -> None:
        """See `Slots`."""
        super().set_state(state)
        self.bias[: self.used] = 0
        self.bias[self.free] = -np.inf
        for token, slot, count, last in state["entries"]:
            if not 0 <= slot < self.used or count < 1:
                raise ValueError("entries beyond the cache")
            self.entries[int(token)] = int(slot), int(count), int(last)
            self.bias[slot] = np.log(count)


class WindowSlots(Slots):
    """The first tokens and the newest ones: about as many as `MergedSlots` holds, which grow slower than the text."""

    def border(self, size: int) -> int:
        """See `Slots`."""
        return max(0, (size - window(size)) // FORGOTTEN * FORGOTTEN)

    def _settle(self, border: int) -> Merge:
        for position, slot, _ in self._leaving(border):
            if position >= SINKS:
                self._release(slot)
        return Merge([], [], [], [])

    def set_state(self, state: dict[str, NDArray[np.int64]]) -> None:
        """See `Slots`."""
        super().set_state(state)
        self.bias[: self.used] = 0
        self.bias[self.free] = -np.inf


def window(size: int) -> int:
    """Tokens that window heads see of `size`: somewhat fewer than texts have distinct tokens, which are 32 % of 2,048
    and 21 % of 8,192 (a power law: Heaps) and which merged heads hold, and the protected ones."""
    return PROTECTED + int(2.75 * float(size) ** 0.7)


# --- merging: keys that are stored for one position turned to another, and averaged ---


Keys = NDArray[np.float32]


class Rotation:
    """As ggml's rope_ext rotates; `factors` [head / 2] of Llama 3 slow some frequencies down."""

    def __init__(self, d: Dimensions, factors: NDArray[np.float32] | None = None) -> None:
        self.neighbours = d.rope_kind == NORMAL
        self.angles = d.rope_scale * d.rope_base ** (-np.arange(0, d.head, 2) / d.head)
        if factors is not None:
            self.angles = self.angles / factors

    def turned(self, keys: Keys, by: NDArray[np.float64]) -> Keys:
        """`keys` [n, heads, head], the i-th turned `by[i]` positions on."""
        angles = (by[:, None] * self.angles)[:, None, :]
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        half = keys.shape[-1] // 2
        parts = (slice(0, None, 2), slice(1, None, 2)) if self.neighbours else (slice(0, half), slice(half, None))
        a, b = (keys[..., part] for part in parts)
        result = np.empty_like(keys)
        result[..., parts[0]], result[..., parts[1]] = a * cos - b * sin, a * sin + b * cos
        return result


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
