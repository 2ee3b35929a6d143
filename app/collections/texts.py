"""Texts of indexed files in compressed blocks of passages, so that a passage of a book is read without the book.

bz2 packs English a sixth smaller than zlib; blocks of fewer passages would lose that again.
"""

from __future__ import annotations

import bz2
from collections.abc import Iterator, Sequence

import msgspec

from app.collections.passages import Passage

BLOCK = 200  # passages: some 60 KB compressed, read in 3 ms


class _Row(msgspec.Struct, frozen=True, array_like=True):
    """One passage in a block: its text with the blanks after it, and before it if it is the file's first."""

    text: str
    heading: str
    page: int | None


class _Block(msgspec.Struct, frozen=True, array_like=True):
    """Passages that follow each other; `begin` is where their text begins in the file's (characters)."""

    begin: int
    rows: list[_Row]


class DamagedBlock(Exception):
    """A block is not as it was written."""


def blocks_of(text: str, passages: Sequence[Passage]) -> Iterator[tuple[int, bytes]]:
    """Yield (number of its first passage, compressed bytes) of each block of a file's text."""
    borders = [0, *(passage.begin for passage in passages[1:]), len(text)]
    for first in range(0, len(passages), BLOCK):
        rows = [
            _Row(text[borders[at] : borders[at + 1]], passages[at].heading, passages[at].page)
            for at in range(first, min(first + BLOCK, len(passages)))
        ]
        yield first, bz2.compress(msgspec.msgpack.encode(_Block(borders[first], rows)))


def unpack(block: bytes) -> list[tuple[Passage, str]]:
    """Return the passages of a block, each with its text and the blanks around it. Raises DamagedBlock."""
    try:
        decoded = msgspec.msgpack.decode(bz2.decompress(block), type=_Block)
    except (OSError, ValueError, msgspec.DecodeError) as error:
        raise DamagedBlock from error
    begin, passages = decoded.begin, []
    for row in decoded.rows:
        text = row.text.strip()
        start = begin + row.text.find(text)
        passages.append((Passage(start, start + len(text), row.heading, row.page), row.text))
        begin += len(row.text)
    return passages
