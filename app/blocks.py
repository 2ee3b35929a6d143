"""Cuts an answer's markdown into blocks while it streams. Knows no Qt.

A finished block never changes again, however the text goes on, so a window lays it out once. Fences are cut out at any
indentation: a code block inside a list item becomes a block of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^`\n]*)$")
LIST_ITEM = re.compile(r"^[ \t]*([-*+]|\d{1,9}[.)])([ \t]|$)")
INDENTED = re.compile(r"^(  |\t)")


@dataclass(frozen=True, slots=True)
class Block:
    """`text` is markdown, or code without its fences when `code`; `language` is the word behind the opening fence."""

    text: str
    code: bool = False
    language: str = ""


class BlockSplitter:
    """Feed it pieces; `finished` grows by whole blocks, `open` is the block still being written (None: nothing yet)."""

    def __init__(self) -> None:
        self.finished: list[Block] = []
        self._lines: list[str] = []
        self._rest = ""
        self._fence: re.Match[str] | None = None
        self._blank = False

    def feed(self, piece: str) -> None:
        *lines, self._rest = (self._rest + piece).split("\n")
        for line in lines:
            self._line(line)

    def close(self) -> None:
        """The text has ended: the open block is finished as it is."""
        if self._rest:
            rest, self._rest = self._rest, ""
            self._line(rest)
        if self._fence or self._lines:
            self._finish()

    @property
    def open(self) -> Block | None:
        if self._fence:
            # The last line may be the beginning of the closing fence; it is shown once it is known not to be.
            rest = [] if re.match(r"^[ \t]*[`~]+$", self._rest) else [self._rest]
            return self._code(self._lines + rest)
        fence_begins = re.match(r"^[ \t]*(`{3,}|~{3,})", self._rest)
        text = "\n".join(self._lines if fence_begins else [*self._lines, self._rest])
        return Block(text) if text.strip() else None

    def _line(self, line: str) -> None:
        if self._fence:
            self._code_line(line)
            return
        fence = FENCE.match(line)
        if fence:
            if self._lines:
                self._finish()
            self._fence = fence
            return
        blank = not line.strip()
        if self._blank and self._lines and not blank and not self._continues(line):
            self._finish()
        self._blank = blank
        if not blank or self._lines:
            self._lines.append(line)

    def _continues(self, line: str) -> bool:
        """Does `line`, after a blank one, belong to the list that the block is?"""
        return bool(LIST_ITEM.match(self._lines[0])) and bool(LIST_ITEM.match(line) or INDENTED.match(line))

    def _code_line(self, line: str) -> None:
        assert self._fence
        mark = self._fence[2]
        stripped = line.strip()
        if len(stripped) >= len(mark) and set(stripped) == {mark[0]}:
            self._finish()
        else:
            self._lines.append(line)

    def _code(self, lines: list[str]) -> Block:
        assert self._fence
        width = len(self._fence[1])
        text = "\n".join(_dedent(line, width) for line in lines)
        words = self._fence[3].split()
        return Block(text, True, words[0] if words else "")

    def _finish(self) -> None:
        if self._fence:
            self.finished.append(self._code(self._lines))
        else:
            self.finished.append(Block("\n".join(self._lines).rstrip()))
        self._lines, self._fence, self._blank = [], None, False


def _dedent(line: str, width: int) -> str:
    return line[min(width, len(line) - len(line.lstrip(" \t"))) :]


def split(text: str) -> list[Block]:
    """All blocks of a finished text."""
    splitter = BlockSplitter()
    splitter.feed(text)
    splitter.close()
    return splitter.finished


def runs(blocks: list[Block]) -> Iterator[Block]:
    """The same blocks with neighbouring prose joined: one text to select from for each run between code."""
    prose: list[str] = []
    for block in blocks:
        if not block.code:
            prose.append(block.text)
            continue
        if prose:
            yield Block("\n\n".join(prose))
            prose = []
        yield block
    if prose:
        yield Block("\n\n".join(prose))
