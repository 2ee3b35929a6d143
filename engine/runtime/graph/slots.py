"""Slots of the compressed heads: which tokens these heads still hold, and how entries of equal tokens are averaged.

A new token gets a slot of its own and keeps it while it is among the newest tokens (the *tail*), so that dropping it
leaves no trace. Tokens leave the tail in blocks: the first tokens of the text stay for good (attention sinks); the mode
decides about the others. Which tokens leave depends only on how many are cached when a pass begins, not on what was
drafted before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.dimensions import NORMAL, Dimensions

SINK_TOKENS = 4  # first tokens of a text, which every head attends to: https://arxiv.org/abs/2309.17453
PROTECTED_TOKENS = 64  # newest tokens that are never merged
MERGE_BLOCK = 64  # tokens that leave the tail at once to be merged
WINDOW_BLOCK = 16  # tokens that leave a window's tail at once


@dataclass(frozen=True, slots=True)
class Merge:
    """A token that leaves the tail and is merged: its slot `source` into the entry in slot `into`.

    `count`: tokens in the entry before the merge; `turns`: positions by which the entry was older than the token.
    """

    source: int
    into: int
    count: int
    turns: int


class Slots:
    """Assignment of tokens to the compressed heads' slots.

    Slots below `used` hold tokens or are `free`; `capacity` slots are allocated. `bias` [capacity] is added to a slot's
    attention score; -inf hides the slot.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.bias = np.full(capacity, -np.inf, np.float16)
        self.free: list[int] = []  # a stack; a heap would keep used slots lower, but the ones freed last are as good
        self.used = 0
        self.settled = 0  # tokens that have left the tail
        self.tail: list[tuple[int, int]] = []  # (slot, token) of the tokens from `settled` on

    @property
    def held(self) -> int:
        """Number of slots in use."""
        return self.used - len(self.free)

    def slots_needed(self, count: int) -> int:
        """Return how many slots must be allocated before `count` more tokens fit."""
        return self.used + max(0, count - len(self.free))

    def grow(self, capacity: int) -> None:
        """Set the capacity to `capacity` slots."""
        more = np.full(capacity, -np.inf, np.float16)
        more[: self.used] = self.bias[: self.used]
        self.capacity, self.bias = capacity, more

    def truncate(self, size: int) -> None:
        """Drop the tail's tokens whose index in the text is `size` or higher."""
        for slot, _ in self.tail[size - self.settled :]:
            self._release(slot)
        del self.tail[size - self.settled :]

    def begin_pass(self, size: int) -> list[Merge]:
        """Prepare for a pass behind `size` tokens: drop later tokens, show the tail's, and let old ones leave the tail.

        Return the merges of this pass, in order.
        """
        self.truncate(size)
        for slot, _ in self.tail:
            self.bias[slot] = 0
        return self._settle(self.tail_start(size))

    def assign(self, tokens: Sequence[int]) -> list[int]:
        """Assign slots to new tokens; attention does not see these slots before the next `begin_pass`."""
        slots = []
        for token in tokens:
            slot = self.free.pop() if self.free else self.used
            self.used = max(self.used, slot + 1)
            assert slot < self.capacity, (slot, self.capacity)
            self.bias[slot] = -np.inf
            self.tail.append((slot, token))
            slots.append(slot)
        return slots

    def keep_nodes(self, base: int, nodes: Sequence[int]) -> None:
        """Keep those of the tail's tokens from index `base` on that are at `nodes`, counted from `base`.

        The other tokens from `base` on are dropped.
        """
        at = base - self.settled
        kept = [self.tail[at + node] for node in nodes]
        for entry in self.tail[at:]:
            if entry not in kept:
                self._release(entry[0])
        self.tail[at:] = kept

    def clear(self) -> None:
        """Release all slots."""
        self.bias[:] = -np.inf
        self.free, self.used, self.settled, self.tail = [], 0, 0, []

    def tail_start(self, size: int) -> int:  # noqa: ARG002
        """Return how many tokens have left the tail when `size` tokens are cached."""
        return self.settled

    def _settle(self, tail_start: int) -> list[Merge]:  # noqa: ARG002
        """Take the tokens before `tail_start` out of the tail; return which of them are to be merged."""
        return []

    def _leaving(self, tail_start: int) -> list[tuple[int, int, int]]:
        """Remove the tokens before `tail_start` from the tail; return (position, slot, token) of each."""
        count = max(0, tail_start - self.settled)
        leaving = [(self.settled + i, *entry) for i, entry in enumerate(self.tail[:count])]
        del self.tail[:count]
        self.settled += count
        return leaving

    def _release(self, slot: int) -> None:
        self.bias[slot] = -np.inf
        self.free.append(slot)

    def state(self) -> dict[str, NDArray[np.int64]]:
        """Return the whole state as arrays; `set_state` restores it."""
        return {
            "tail": np.array(self.tail, np.int64).reshape(-1, 2),
            "free": np.array(self.free, np.int64),
            "numbers": np.array([self.used, self.settled], np.int64),
        }

    def set_state(self, state: dict[str, NDArray[np.int64]]) -> None:
        """Restore a state. Raises KeyError and ValueError if it is damaged."""
        self.clear()
        self.tail = [(int(slot), int(token)) for slot, token in state["tail"]]
        self.free = [int(slot) for slot in state["free"]]
        self.used, self.settled = (int(number) for number in state["numbers"])
        slots = [slot for slot, _ in self.tail] + self.free
        if not 0 <= self.used <= self.capacity or self.settled < 0 or any(not 0 <= s < self.used for s in slots):
            raise ValueError("slots beyond the cache")
        self.bias[: self.used] = 0
        self.bias[self.free] = -np.inf


class MergedSlots(Slots):
    """One entry per distinct token: a token that leaves the tail is averaged with the entry of the same token.

    An entry of r tokens gets log r added to its score, because r tokens at one place would get r times its weight.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.entries: dict[int, tuple[int, int, int]] = {}  # token → (slot, merged tokens, position of the last one)

    def tail_start(self, size: int) -> int:
        return max(0, (size - PROTECTED_TOKENS) // MERGE_BLOCK * MERGE_BLOCK)

    def _settle(self, tail_start: int) -> list[Merge]:
        merges = []
        for position, slot, token in self._leaving(tail_start):
            if position < SINK_TOKENS:
                continue
            entry = self.entries.get(token)
            if entry is None:
                self.entries[token] = slot, 1, position
                continue
            into, count, last = entry
            merges.append(Merge(slot, into, count, position - last))
            self.entries[token] = into, count + 1, position
            self.bias[into] = np.log(count + 1)
            self._release(slot)
        return merges

    def clear(self) -> None:
        super().clear()
        self.entries = {}

    def state(self) -> dict[str, NDArray[np.int64]]:
        entries = [(token, *entry) for token, entry in self.entries.items()]
        return super().state() | {"entries": np.array(entries, np.int64).reshape(-1, 4)}

    def set_state(self, state: dict[str, NDArray[np.int64]]) -> None:
        super().set_state(state)
        for token, slot, count, last in state["entries"]:
            if not 0 <= slot < self.used or count < 1:
                raise ValueError("entries beyond the cache")
            self.entries[int(token)] = int(slot), int(count), int(last)
            self.bias[slot] = np.log(count)


class WindowSlots(Slots):
    """The first tokens and the newest ones.

    The window holds about as many tokens as `MergedSlots` has entries; both grow slower than the text.
    """

    def tail_start(self, size: int) -> int:
        return max(0, (size - window_size(size)) // WINDOW_BLOCK * WINDOW_BLOCK)

    def _settle(self, tail_start: int) -> list[Merge]:
        for position, slot, _ in self._leaving(tail_start):
            if position >= SINK_TOKENS:
                self._release(slot)
        return []


def window_size(size: int) -> int:
    """Return how many of `size` tokens the window heads see.

    That is somewhat fewer than merged heads hold: the protected tokens and the distinct ones, which are 32 % of 2,048
    tokens and 21 % of 8,192 (a power law: Heaps).
    """
    return PROTECTED_TOKENS + int(2.75 * float(size) ** 0.7)


# --- merging: keys are rotated to a common position and averaged ---


Keys = NDArray[np.float32]


class Rotation:
    """Rotation of keys to positions, as ggml's rope_ext computes it.

    `factors` [head / 2] are Llama 3's, which slow some frequencies down.
    """

    def __init__(self, d: Dimensions, factors: NDArray[np.float32] | None = None) -> None:
        self.neighbours = d.rope_kind == NORMAL
        self.angles = d.rope_scale * d.rope_base ** (-np.arange(0, d.head, 2) / d.head)
        if factors is not None:
            self.angles = self.angles / factors

    def rotate(self, keys: Keys, by: NDArray[np.float64]) -> Keys:
        """Return `keys` [n, heads, head] with the i-th key rotated by `by[i]` positions."""
        angles = (by[:, None] * self.angles)[:, None, :]
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        half = keys.shape[-1] // 2
        parts = (slice(0, None, 2), slice(1, None, 2)) if self.neighbours else (slice(0, half), slice(half, None))
        a, b = (keys[..., part] for part in parts)
        result = np.empty_like(keys)
        result[..., parts[0]], result[..., parts[1]] = a * cos - b * sin, a * sin + b * cos
        return result


class MergeChains:
    """The merges of one pass, grouped by the entry that they go into.

    All tokens of an entry are rotated to the position of the last one. Rotation is linear, so the result equals
    rotating the mean at each merge.
    """

    def __init__(self, merges: Sequence[Merge]) -> None:
        self.into = sorted({merge.into for merge in merges})
        self.at = np.searchsorted(self.into, [merge.into for merge in merges])
        self.source = np.array([merge.source for merge in merges])
        first = np.zeros(len(self.into), np.float32)  # tokens in each entry before these merges
        behind = np.zeros(len(self.into))  # positions that each entry has to be rotated by
        turns = np.zeros(len(merges))  # positions that each token has to be rotated by
        for i, merge in reversed(list(enumerate(merges))):
            turns[i] = behind[self.at[i]]
            behind[self.at[i]] += merge.turns
            first[self.at[i]] = merge.count
        self.first, self.behind, self.turns = first, behind, turns
        self.total = first + np.bincount(self.at, minlength=len(self.into)).astype(np.float32)

    def average(self, rows: NDArray[Any], rotation: Rotation | None) -> NDArray[np.float32]:
        """Return the new content of the entries `into`, [entries, heads, head], from the slots' `rows`.

        `rotation` is given for keys and None for values.
        """
        before, more = rows[self.into].astype(np.float32), rows[self.source].astype(np.float32)
        if rotation:
            before, more = rotation.rotate(before, self.behind), rotation.rotate(more, self.turns)
        total = before * self.first[:, None, None]
        np.add.at(total, self.at, more)
        result: NDArray[np.float32] = total / self.total[:, None, None]
        return result
