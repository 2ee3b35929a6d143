"""Sizes of the elastic KV cache. Knows no target.

llama.cpp fills all cells of a context with zeros when it is made, so that an unused cell costs as much memory and time
as a used one. So a chat starts in a small cache and moves to a larger one when it must.
"""

from __future__ import annotations

SMALLEST = 512  # tokens
STEP = 256  # tokens: llama.cpp rounds contexts up to this
ANSWER_ROOM = 256  # tokens a cache has free for the answer when a prompt is read, so that it need not move at once


def size_class(tokens: int, limit: int) -> int:
    """The smallest class of 512, 768, 1024, 1280, … that holds `tokens`, or `limit` if that is smaller.

    Four classes in each doubling: on average an eighth of the cells is unused, with doubling alone a third. A chat that
    grows to n tokens copies 6 n tokens in all, which is nothing beside reading them (1.5B model: 30 µs a token copied,
    10,000 read), and one that is fetched from the disk does not wait for cells it has no use for."""
    size = SMALLEST
    while size < tokens:
        size += max(STEP, (1 << size.bit_length() - 1) // 4)
    return min(size, limit)
