"""Checkpoints of a chat in a cache that cannot be truncated anywhere, and the decision which of them to drop.

Recurrent layers keep one state for all tokens, and sliding windows only the newest ones. To try an answer again or to
edit a message, such a cache goes back to a checkpoint before that place and reads the tokens from there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.runtime.interface import Checkpoint

TURN_WEIGHT = 8  # users go back to the beginning of a message, hardly ever to a place within one
NEAR = 256  # tokens: places that are this near to the end are about equally likely


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a chat: the number of tokens before it, and whether a message begins or ends there."""

    size: int
    is_turn: bool


def least_useful(places: Sequence[Place], end: int) -> int:
    """Return the index of the place whose checkpoint spares the fewest tokens in the long run.

    `places` are in ascending order, `end` is the chat's length in tokens. Without a checkpoint, whoever goes back to
    the tokens behind it reads the tokens since the checkpoint before as well. The chance that a user goes back by n
    tokens is taken as inversely proportional to n: for the tokens from a to b it is log((end - a) / (end - b)). So the
    remaining checkpoints lie the closer together the nearer they are to the end. A long prompt that is being read is no
    exception: if it is stopped, the newest checkpoint is the one that counts.
    """
    sizes = [0, *(place.size for place in places), max(end, places[-1].size)]

    def spared(i: int) -> float:
        before, here, after = sizes[i : i + 3]
        chance = math.log((sizes[-1] - here + NEAR) / (sizes[-1] - after + NEAR))
        return (here - before) * chance * (TURN_WEIGHT if places[i].is_turn else 1)

    return min(range(len(places)), key=spared)


class Checkpoints:
    """The checkpoints of the chat in the cache, at most `most` of them, in ascending order of their size."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: list[tuple[Place, Checkpoint]] = []

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def places(self) -> tuple[Place, ...]:
        """Positions of the checkpoints in the chat, in ascending order of their number of tokens."""
        return tuple(place for place, _ in self._kept)

    def newest(self, count: int) -> tuple[Checkpoint, ...]:
        """Return the `count` checkpoints nearest to the end, in ascending order."""
        return tuple(checkpoint for _, checkpoint in self._kept[-count:]) if count else ()

    def has(self, size: int) -> bool:
        """Return whether there is a checkpoint of this size."""
        return any(place.size == size for place, _ in self._kept)

    def before(self, size: int) -> Checkpoint | None:
        """Return the last checkpoint of at most `size` tokens, or None."""
        return next((checkpoint for place, checkpoint in reversed(self._kept) if place.size <= size), None)

    def make_room(self, size: int) -> None:
        """Drop checkpoints until one more may be added to a chat of `size` tokens.

        Call this before the new one is copied, so that memory never holds more than `most`.
        """
        while len(self._kept) >= self.most > 0:
            del self._kept[least_useful(self.places, size)]

    def add(self, checkpoint: Checkpoint, is_turn: bool) -> None:
        """Add a checkpoint that lies behind all others, and for which there is room."""
        assert len(self._kept) < self.most, self.most
        assert not self._kept or checkpoint.size > self._kept[-1][0].size, (checkpoint.size, self.places)
        self._kept.append((Place(checkpoint.size, is_turn), checkpoint))

    def drop_behind(self, size: int) -> None:
        """Drop the checkpoints of more than `size` tokens, because the chat goes on in another way from there."""
        self._kept = [(place, checkpoint) for place, checkpoint in self._kept if place.size <= size]

    def clear(self) -> None:
        """Drop all checkpoints."""
        self._kept.clear()
