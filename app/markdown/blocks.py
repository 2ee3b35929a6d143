"""Cuts an answer's markdown into blocks while it streams. Knows no Qt.

A finished block never changes again, however the text goes on, so a window lays it out once. Fences are cut out at any
indentation: a code block inside a list item becomes a block of its own. Tables and formulas on lines of their own are
blocks too. Prose that goes on for LONG characters is cut at the next good place, so that laying out the open block
never takes long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from app.markdown.footnotes import Footnotes
from app.markdown.math_text import DISPLAY_LIMIT
from app.markdown.table_text import belongs_to_table, is_table_head, may_be_table_head

LONG = 2_500  # characters: a paragraph of so many takes 3 ms
JOINED = 2_500  # the `weight` of what is laid out in one go: 3 ms
PIECE = 10_000  # characters that are split in one go: 2 ms
FENCE = re.compile(r"^([ \t]*)(`{3,}|~{3,})[ \t]*([^`\n]*)$")
LIST_ITEM = re.compile(r"^[ \t]*([-*+]|\d{1,9}[.)])([ \t]|$)")
INDENTED = re.compile(r"^(  |\t)")
MATH = re.compile(r"^ {0,3}(\$\$|\\\[)")
MATH_ENDS = {"$$": "$$", "\\[": "\\]"}
SENTENCE_END = re.compile(r"[.!?:;][)\"'”’*_]*[ \t]+(?=\S)|[。！？；](?=\S)")
Kind = Literal["prose", "code", "table", "notes", "plain"]  # plain: a piece of what the user typed


@dataclass(frozen=True, slots=True)
class Block:
    """`text` is markdown, or code without its fences; `language` is the word behind the opening fence."""

    text: str
    kind: Kind = "prose"
    language: str = ""


class BlockSplitter:
    """Feed it pieces; `finished` grows by whole blocks, `open` is the block still being written (None: nothing yet)."""

    def __init__(self) -> None:
        self.finished: list[Block] = []
        self._lines: list[str] = []
        self._size = 0  # characters in `_lines`
        self._rest = ""
        self._fence: re.Match[str] | None = None
        self._math = ""  # what closes the formula that the block is
        self._table = False
        self._blank = False
        self._notes = Footnotes()

    def feed(self, piece: str) -> None:
        *lines, self._rest = (self._rest + piece).split("\n")
        for line in lines:
            self._line(self._cut(line))
        self._rest = self._cut(self._rest)

    def close(self) -> None:
        """The text has ended: the open block is finished as it is."""
        if self._rest:
            rest, self._rest = self._rest, ""
            self._line(rest)
        if self._fence or self._lines:
            self._finish()
        if notes := self._notes.listed():
            self.finished.append(Block(notes, "notes"))

    @property
    def open(self) -> Block | None:
        if self._fence:
            # The last line may be the beginning of the closing fence; it is shown once it is known not to be.
            rest = [] if re.match(r"^[ \t]*[`~]+$", self._rest) else [self._rest]
            return self._code(self._lines + rest)
        if self._table:
            return Block(self._notes.marked("\n".join([*self._lines, self._rest]).rstrip(), is_open=True), "table")
        is_note = bool(self._rest) and self._notes.belongs(self._rest)
        if not self._lines and (is_note or not self._rest.strip()):
            notes = self._notes.listed(self._rest.rstrip())
            return Block(notes, "notes") if notes else None
        shown = self._lines if is_note or re.match(r"^[ \t]*(`{3,}|~{3,})", self._rest) else [*self._lines, self._rest]
        if may_be_table_head(shown[-2:]):
            shown = shown[:-2] if len(shown) > 1 and may_be_table_head(shown[-2:-1]) else shown[:-1]
        text = self._notes.marked("\n".join(shown), is_open=True)
        return Block(text) if text.strip() else None

    # --- inside -----------------------------------------------------------------------------------------------------

    def _line(self, line: str) -> None:
        if self._fence:
            self._code_line(line)
        elif fence := FENCE.match(line):
            if self._lines:
                self._finish()
            self._notes.pause(line)
            self._fence = fence
        elif self._math and line.strip():
            self._math_line(line)
        elif self._table and belongs_to_table(line):
            self._append(line)
        elif self._notes.belongs(line):
            if self._lines:
                self._finish()
            self._notes.take(line)
        else:
            self._notes.pause(line)
            self._prose_line(line)

    def _prose_line(self, line: str) -> None:
        blank = not line.strip()
        ended = self._blank and not blank and not self._continues(line)
        if self._lines and (ended or self._table or self._is_cut(line)):
            self._finish()
        self._blank, self._math = blank, ""
        if not blank and (math := MATH.match(line)) and not self._in_list():
            self._open_math(line, math)
        elif not blank or self._lines:
            self._append(line)
            self._open_table()

    def _append(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _in_list(self) -> bool:
        return bool(self._lines) and bool(LIST_ITEM.match(self._lines[0]))

    def _continues(self, line: str) -> bool:
        """Does `line`, after a blank one, belong to the list that the block is?"""
        return self._in_list() and bool(LIST_ITEM.match(line) or INDENTED.match(line))

    def _is_cut(self, line: str) -> bool:
        """Is the block long enough, and `line` a place to cut it at?"""
        if self._size < LONG:
            return False
        return not self._in_list() or (bool(LIST_ITEM.match(line)) and _indent(line) <= _indent(self._lines[0]))

    def _cut(self, line: str) -> str:
        """Finish what is too long of a line of prose at the end of a sentence; what is left of the line."""
        while len(line) > LONG and not (self._fence or self._math or self._table or FENCE.match(line)):
            if self._notes.belongs(line):
                break
            end = SENTENCE_END.search(line, LONG, 2 * LONG)
            if end is None and len(line) < 2 * LONG:
                break
            at = end.end() if end else line.rfind(" ", LONG, 2 * LONG) + 1 or 2 * LONG
            self._line(line[:at])
            self._finish()
            line = line[at:]
        return line

    def _open_math(self, line: str, math: re.Match[str]) -> None:
        if self._lines:
            self._finish()
        self._append(line)
        self._math = MATH_ENDS[math[1]]
        self._end_math(line[math.end() :])

    def _math_line(self, line: str) -> None:
        self._append(line)
        self._end_math(line)
        if self._size > DISPLAY_LIMIT:
            self._math = ""

    def _end_math(self, line: str) -> None:
        if self._math in line:
            if line.rstrip().endswith(self._math):
                self._finish()
            self._math = ""

    def _open_table(self) -> None:
        if not self._in_list() and is_table_head(self._lines[-2:]):
            *before, head, rule = self._lines
            if before:
                self._lines = before
                self._finish()
            self._lines, self._table = [head, rule], True

    def _code_line(self, line: str) -> None:
        assert self._fence
        mark = self._fence[2]
        stripped = line.strip()
        if stripped.startswith(mark) and set(stripped) == {mark[0]}:
            self._finish()
        else:
            self._lines.append(line)

    def _code(self, lines: list[str]) -> Block:
        assert self._fence
        width = len(self._fence[1])
        text = "\n".join(_dedent(line, width) for line in lines)
        words = self._fence[3].split()
        return Block(text, "code", words[0] if words else "")

    def _finish(self) -> None:
        if self._fence:
            block = self._code(self._lines)
            self.finished.append(_formula(block) if block.language == "math" else block)
        else:
            text = self._notes.marked("\n".join(self._lines).rstrip())
            self.finished.append(Block(text, "table" if self._table else "prose"))
        self._lines, self._fence, self._blank, self._table, self._math, self._size = [], None, False, False, "", 0


def _formula(block: Block) -> Block:
    """A fence that says it is math is a formula, without the blank lines that LaTeX does not allow in one."""
    lines = [line for line in block.text.split("\n") if line.strip()]
    return Block("\n".join(["$$", *lines, "$$"]))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _dedent(line: str, width: int) -> str:
    return line[min(width, _indent(line)) :]


def split(text: str) -> list[Block]:
    """All blocks of a finished text."""
    return [block for block in split_slowly(text) if block is not None]


def split_slowly(text: str) -> Iterator[Block | None]:
    """The same a little at a time; None: so much was done, but there is no block yet."""
    splitter, told = BlockSplitter(), 0
    for at in range(0, len(text), PIECE):
        splitter.feed(text[at : at + PIECE])
        if len(splitter.finished) == told:
            yield None
        yield from splitter.finished[told:]
        told = len(splitter.finished)
    splitter.close()
    yield from splitter.finished[told:]


def plain_pieces(text: str) -> Iterator[Block]:
    """What the user typed, cut at line ends so that no piece takes long to lay out."""
    at = 0
    while at < len(text):
        end = at + LONG
        if end < len(text):
            end = text.rfind("\n", at, end) + 1 or text.rfind(" ", at, end) + 1 or end
        yield Block(text[at:end].removesuffix("\n"), "plain")
        at = end


def weight(markdown: str) -> int:
    """How long laying it out takes, in characters of plain prose: lines and formulas take time of their own."""
    return len(markdown) + 40 * markdown.count("\n") + 100 * (markdown.count("$") + markdown.count("\\("))


def runs(blocks: Iterable[Block | None]) -> Iterator[Block | None]:
    """The same blocks with neighbouring prose joined, as far as it is laid out in a slice: fewer texts to come by."""
    prose: list[str] = []
    for block in blocks:
        if block is None:
            yield None
            continue
        is_prose = block.kind == "prose"
        if prose and not (is_prose and sum(map(weight, [*prose, block.text])) <= JOINED):
            yield Block("\n\n".join(prose))
            prose = []
        if is_prose:
            prose.append(block.text)
        else:
            yield block
    if prose:
        yield Block("\n\n".join(prose))


def code_of(text: str) -> list[str]:
    """The blocks of code in a finished text."""
    fenced = "```" in text or "~~~" in text
    return [block.text for block in split(text) if block.kind == "code"] if fenced else []
