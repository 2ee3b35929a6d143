"""Sizes of the elastic KV cache. Knows no target.

llama.cpp fills all cells of a context with zeros when it is made, so that an unused cell costs as much memory as a used
one. So a chat starts in a small cache and moves to a larger one when it must.
"""

from __future__ import annotations

SMALLEST = 512  # tokens
ANSWER_ROOM = 256  # tokens a cache has free for the answer when a prompt is read, so that it need not move at once


def size_class(tokens: int, limit: int) -> int:
    """The smallest class of 512, 1024, 2048, … that holds `tokens`, or `limit` if that is smaller.

    Doubling keeps the moves of a chat rare: one that grows to n tokens moves log2(n / 512) times and copies less than n
    tokens in all."""
    size = SMALLEST
    while size < tokens:
        size *= 2
    return min(size, limit)
