"""Positions of a chat's tokens: those in the library's cache, which count a picture's tokens differently than we do.

With M-RoPE a picture of 16 × 12 tokens takes 16 positions: its tokens have coordinates besides. Without it each token
takes one position.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.tokenization.pictures import Block


class Positions:
    """Positions of the tokens in a cache, by the blocks of pictures among them."""

    def __init__(self, blocks: Iterable[Block] = ()) -> None:
        self._blocks = tuple(filter(takes_other_positions, blocks))

    def of(self, size: int) -> int:
        """Return the position of the token at index `size`, which is not inside of a picture."""
        return size - sum(b.end - b.start - b.positions for b in self._blocks if b.end <= size)

    def add(self, block: Block) -> None:
        """Note a block that was appended to the cache."""
        self._blocks = (*self._blocks, *filter(takes_other_positions, (block,)))

    def cut(self, size: int) -> None:
        """Forget the blocks that end behind the first `size` tokens."""
        self._blocks = tuple(block for block in self._blocks if block.end <= size)

    def copy(self) -> Positions:
        """Return a copy, to be restored with a copy of the cache."""
        return Positions(self._blocks)


def takes_other_positions(block: Block) -> bool:
    """Return whether the block takes another number of positions than it has tokens."""
    return block.positions != block.end - block.start
