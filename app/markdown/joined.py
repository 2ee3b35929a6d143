"""Joins neighbouring prose of a text, and reads a text that is still being written in steps. No Qt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Literal

from app.markdown.blocks import LINE_COST, Block, BlockSplitter, flattened

JOIN_LIMIT = 2_500  # `layout_cost` of joined prose: 3 ms
PIECE = 1_000  # characters that are read in one step: 250 items of a list with a letter each take 20 ms
BOXED = 300  # code blocks and tables of one text that have boxes of their own


def layout_cost(block: Block) -> int:
    """Estimate the time to lay out a block, in characters of plain prose; lines and formulas cost extra."""
    source = block.source
    formulas = source.count("$") + source.count("\\(")
    return len(source) + LINE_COST * (source.count("\n") + len(block.paragraphs)) + 100 * formulas


class JoinedBlocks:
    """Blocks with neighbouring prose joined, as far as a joined block is laid out in one slice.

    Fewer texts are faster to pass with Tab and with a screen reader. Small boxes behind the first BOXED ones are shown
    as prose, because each box takes 2 ms and 0.5 MB.
    """

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._boxes = 0

    def add(self, block: Block) -> None:
        if block.kind in ("code", "table"):
            self._boxes += 1
            if self._boxes > BOXED and layout_cost(block) <= JOIN_LIMIT:
                block = _as_prose(block)
        if self.blocks and may_join(self.blocks[-1], block):
            self.blocks[-1] = join_prose([self.blocks[-1], block])
        else:
            self.blocks.append(block)


def _as_prose(block: Block) -> Block:
    paragraphs = flattened([replace(block, outside=0)])
    return Block(paragraphs=tuple(paragraphs), quote=block.quote, outside=block.outside, links=block.links)


def join_neighbours(blocks: Iterable[Block | None]) -> Iterator[Block | None]:
    """Yield the blocks as `JoinedBlocks` joins them; None again marks a step of work that completed no block."""
    joined = JoinedBlocks()
    for block in blocks:
        if block is None:
            yield None
            continue
        joined.add(block)
        if len(joined.blocks) > 1:
            yield joined.blocks.pop(0)
    yield from joined.blocks


def may_join(one: Block, other: Block) -> bool:
    """Return whether both blocks are prose in the same quotation that can be laid out together in one slice."""
    alike = one.kind == other.kind == "prose" and (one.quote, one.outside) == (other.quote, other.outside)
    return alike and layout_cost(one) + layout_cost(other) <= JOIN_LIMIT


def join_prose(blocks: list[Block]) -> Block:
    links = dict(link for block in blocks for link in block.links)
    paragraphs = tuple(paragraph for block in blocks for paragraph in block.paragraphs)
    return replace(blocks[0], paragraphs=paragraphs, links=tuple(links.items()))


class GrowingText:
    """A text that is still being written. `state`: ending while the end was announced and is not read yet."""

    def __init__(self, text: str) -> None:
        self.state: Literal["growing", "ending", "ended"] = "growing"
        self._unread = text
        self._splitter = BlockSplitter()
        self._joined = JoinedBlocks()
        self._joined_count = self._linkings = 0

    def append(self, piece: str) -> None:
        self._unread += piece

    def end(self) -> None:
        self.state = "ending"

    @property
    def is_read(self) -> bool:
        """Whether all of the text so far has been read."""
        return not self._unread and self.state != "ending"

    def read(self) -> list[Block]:
        """Read the next piece; return the blocks so far, of which all but the last ones stay as they are."""
        piece, self._unread = self._unread[:PIECE], self._unread[PIECE:]
        self._splitter.feed(piece)
        if self.state == "ending" and not self._unread:
            self._splitter.close()
            self.state = "ended"
        tail = self._splitter.tail  # first, because a footnote that begins here changes finished blocks
        self._join()
        return [*self._joined.blocks, *tail]

    def _join(self) -> None:
        """Join the blocks that were finished by now; all of them again after their links have changed."""
        splitter = self._splitter
        if splitter.linkings != self._linkings:
            self._joined, self._joined_count, self._linkings = JoinedBlocks(), 0, splitter.linkings
        for block in splitter.finished[self._joined_count :]:
            self._joined.add(block)
        self._joined_count = len(splitter.finished)
