"""Pictures in a prompt: tokens that stand for them, and where they may be cut.

A model sees a picture as embeddings, which have no token ids. So that everything that compares prompts (the session,
saved chats, a prompt's common prefix) works with pictures too, each embedding gets a number of its own: a negative one,
made from the digest of the picture's file. Equal numbers mean the same part of the same picture.

The first number of a block, a part of a picture that the encoder gives at once, has a mark and also says how many
positions the block takes: with M-RoPE fewer than it has tokens. So a list of tokens is enough to tell positions, also
one that was read from disk. All numbers fit into 32 bits, as libraries store tokens.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

FIRST = 1 << 30  # a block's first number lies below -FIRST, all others of it above
HASH_BITS = 16  # of a first number; the bits above them are the number of positions
MOST_POSITIONS = 1 << (30 - HASH_BITS)  # a block has fewer


@dataclass(frozen=True, slots=True)
class Block:
    """Tokens of a prompt from `start` to `end` that are one part of a picture and take `positions` positions."""

    start: int
    end: int
    positions: int


def block_tokens(digest: str, index: int, count: int, positions: int) -> list[int]:
    """Return the numbers that stand for the `index`-th block of the picture with this digest.

    `count`: tokens of the block, `positions`: positions that it takes. Raises ValueError for a block without tokens, or
    with too many positions.
    """
    if not count or not 0 < positions < MOST_POSITIONS:
        raise ValueError(f"a picture's block has {count} tokens and {positions} positions")
    stream = hashlib.shake_128(f"{digest} {index} {count}".encode()).digest(4 * count)
    hashes = [int.from_bytes(stream[4 * i : 4 * i + 4], "little") for i in range(count)]
    first = -FIRST - 1 - (positions << HASH_BITS | hashes[0] & (1 << HASH_BITS) - 1)
    return [first, *(-1 - number % FIRST for number in hashes[1:])]


def is_picture(token: int) -> bool:
    """Return whether the number stands for a part of a picture."""
    return token < 0


def has_pictures(tokens: Sequence[int]) -> bool:
    """Return whether some of the tokens stand for a picture."""
    return any(token < 0 for token in tokens)


def text_tokens(tokens: Sequence[int]) -> list[int]:
    """Return the tokens without those that stand for pictures."""
    return [token for token in tokens if token >= 0]


def blocks(tokens: Sequence[int]) -> Iterator[Block]:
    """Yield the blocks of pictures among the tokens, in order."""
    at = 0
    while at < len(tokens):
        if tokens[at] >= 0:
            at += 1
            continue
        end = at + 1
        while end < len(tokens) and -FIRST <= tokens[end] < 0:
            end += 1
        yield Block(at, end, (-1 - FIRST - tokens[at]) >> HASH_BITS)
        at = end


def runs(tokens: Sequence[int], begin: int) -> Iterator[range]:
    """Yield the indices of the tokens from `begin` on in runs: text between two blocks, or one whole block."""
    at = begin
    for block in blocks(tokens):
        if block.end <= begin:
            continue
        if at < block.start:
            yield range(at, block.start)
        yield range(max(block.start, at), block.end)
        at = block.end
    if at < len(tokens):
        yield range(at, len(tokens))


def whole_blocks(tokens: Sequence[int], size: int) -> int:
    """Return the largest number of tokens, at most `size`, that does not end within a block."""
    if size >= len(tokens) or not size or not -FIRST <= tokens[size] < 0:
        return size
    return next((block.start for block in blocks(tokens) if block.start < size < block.end), size)


def saved_positions(tokens: Sequence[int]) -> int:
    """Return the positions that a library sees in a cache of these tokens: one more than its last cell's.

    With M-RoPE all cells of a picture have the position of the picture's beginning.
    """
    skipped = 0
    for block in blocks(tokens):
        count = block.end - block.start
        if block.end == len(tokens) and block.positions != count:
            return block.start - skipped + 1
        skipped += count - block.positions
    return len(tokens) - skipped
