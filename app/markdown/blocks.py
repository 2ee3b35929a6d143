"""Splits an answer's markdown into blocks while it streams. No Qt.

Code and tables are blocks of their own, also within lists; `depth` counts the list items around a block. Prose longer
than LONG characters is cut at the next good place, so that laying out the last block never takes long. The lines alone
decide where a text is cut: every STEP characters, at the end of a line, the blocks before the last one are finished for
good, and only the lines behind them are parsed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from app.markdown.footnotes import Footnotes
from app.markdown.grammar import (
    LISTS,
    References,
    Segment,
    SegmentReader,
    may_be_table_head,
    normalize_label,
    parse,
)

if TYPE_CHECKING:
    from markdown_it.token import Token

LONG = 2_500  # characters: a paragraph of this length takes 3 ms to lay out
STEP = 250  # characters: a list of this length, the slowest to parse, takes 0.3 ms
JOIN_LIMIT = 2_500  # `layout_cost` of joined prose: 3 ms
PIECE = 3_000  # characters that are split in one step: 2 ms
# Lengths from which a block is cut at the end of any line, in LONG characters: four take 25 ms to parse and lay out.
CUT = {"paragraph": 1, "heading": 1, "blockquote_open": 4, "bullet_list_open": 4, "ordered_list_open": 4}
LINKS_LIMIT = 8_000  # characters of link definitions added to one block
SENTENCE_END = re.compile(r"[.!?:;][)\"'”’*_]*[ \t]+(?=\S)|[。！？；](?=\S)")
_UNDECIDED = re.compile(r"^[ \t]*([-=_*+#]+[ \t]*|[`~]+|(```|~~~).*)$")  # a line that may still become anything
# A line of text, perhaps behind list markers: more words do not change its kind.
_DECIDED = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*[*_]*`?[^\W\d_]")
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){1,999})\]")
_DEFINITION = re.compile(r"^(?:[ \t>]|[-*+] |\d+[.)] )*\[(?:[^\]^]|\^[^\]\n]*\]:)", re.MULTILINE)
_ESCAPED = str.maketrans({"<": "%3C", ">": "%3E", "\\": "%5C"})
BlockKind = Literal["prose", "code", "table", "notes", "plain"]  # plain: a piece of a user's message


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a text.

    `text` is markdown, or code without its fences; `language` is the word behind the opening fence; `depth` counts the
    list items around the block; `links` are the definitions of the link references that the block uses and other blocks
    define.
    """

    text: str
    kind: BlockKind = "prose"
    language: str = ""
    depth: int = 0
    links: str = ""

    @property
    def markdown(self) -> str:
        return f"{self.text}\n\n{self.links}" if self.links else self.text


class BlockSplitter:
    """A splitter of streamed text: `finished` only grows, by blocks that no longer change; `tail` may still change."""

    def __init__(self, addresses: dict[str, str] | None = None, footnotes: Iterable[str] = ()) -> None:
        self.finished: list[Block] = []
        self.addresses = dict(addresses or {})  # by label: known in advance, and defined so far
        self._known_footnotes = frozenset(footnotes)  # labels known in advance
        self._notes = Footnotes(self._known_footnotes)
        self._marked: dict[int, Block] = {}  # by number: finished blocks that may have footnote marks, as written
        self._lines: list[str] = []  # lines behind the finished blocks
        self._rest = ""  # the line that is being written
        self._uncuttable = False  # whether that line stays in one block, however long
        self._size, self._due = 0, STEP  # characters in `_lines`; size from which they are parsed
        self._open_items: list[str] = []  # last items of the list that `_lines` continues
        self._parsed: dict[int, list[str]] = {}  # by line number: code or rows before it that are not parsed again
        self._last_tail: _Tail | None = None  # as last parsed

    def feed(self, piece: str) -> None:
        *lines, self._rest = (self._rest + piece).split("\n")
        for line in lines:
            self._append_line(self._cut_long_line(line))
            self._uncuttable = False
        self._rest = self._cut_long_line(self._rest)

    def close(self) -> None:
        """Finish all blocks, because the text has ended."""
        if self._rest:
            self._append_line(self._rest)
            self._rest = ""
        self._advance(everything=True)
        self._number_footnotes(set())
        if notes := self._notes.to_markdown():
            self.finished.append(Block(notes, "notes"))
        self.finished = [replace(block, links=_links(block, self.addresses)) for block in self.finished]

    @property
    def footnotes(self) -> set[str]:
        """The labels of the footnotes defined so far."""
        return set(self._notes.notes)

    @property
    def tail(self) -> list[Block]:
        """The blocks behind the finished ones, as far as they are written."""
        last = self._last_tail = (self._last_tail and self._last_tail.extended(self._rest)) or self._read_tail()
        segments = list(last.segments)
        if last.is_open and any("|" in line for line in segments[-1].lines[-2:]):
            segments[-1] = _without_table_head(segments[-1])
        self._number_footnotes({segment.name for segment in segments if segment.kind == "note"})
        notes = self._notes.copy() if self._notes.labels else self._notes
        shown = []
        for segment in segments:
            if segment.kind == "note":
                notes.define(segment.name, segment.lines)
            else:
                shown.append(_with_footnote_numbers(_block(segment), notes, segment is segments[-1]))
        addresses = last.addresses | self.addresses
        blocks = [replace(block, links=_links(block, addresses)) for block in shown if _is_visible(block)]
        if segments and segments[-1].kind == "note":
            blocks.append(Block(notes.to_markdown(), "notes"))
        return blocks

    # --- inside -----------------------------------------------------------------------------------------------------

    def _read_tail(self) -> _Tail:
        hidden = not self._rest.strip() or _UNDECIDED.match(self._rest)
        lines = self._lines if hidden else [*self._lines, self._rest]
        tokens, references = parse(lines)
        segments = self._segments(lines, tokens, len(lines))
        addresses = {label: address for label, (address, *_) in references.items()}
        return _Tail(
            "" if hidden else self._rest, segments, addresses, bool(segments) and tokens[-1].type == "paragraph"
        )

    def _append_line(self, line: str) -> None:
        self._last_tail = None
        self._lines.append(line)
        self._size += len(line) + 1
        if self._size >= self._due:
            self._advance()

    def _advance(self, everything: bool = False) -> None:
        """Move completed blocks to `finished`.

        Only the lines decide, never the size of the pieces; otherwise a stream would end in other blocks than the whole
        text.
        """
        self._last_tail = None
        tokens, references = parse(self._lines)
        start = len(self._lines) if everything else self._last_start(tokens, references)
        segments = self._segments(self._lines, tokens, start)
        completed = [segment for segment in segments if segment.end <= start]
        if start:
            self._open_items = self._take_open_items(completed, tokens, start)
        for segment in completed:
            self._finish(segment)
        self._number_footnotes(self._notes.labels)
        for label, (address, _, end) in references.items():
            if end <= start:
                self.addresses.setdefault(label, address)
        self._forget_lines(start, segments[-1] if segments else None)

    def _finish(self, segment: Segment) -> None:
        if segment.kind == "note":
            self._notes.define(segment.name, segment.lines)
        elif _is_visible(block := _block(segment)):
            if block.kind != "code" and "[^" in block.text:
                self._marked[len(self.finished)] = block
            self.finished.append(_with_footnote_numbers(block, self._notes))

    def _number_footnotes(self, being_defined: Iterable[str]) -> None:
        """Renumber all marks if other footnotes are defined than before."""
        labels = self._known_footnotes.union(self._notes.notes, being_defined)
        if labels != self._notes.labels:
            self._notes = self._notes.renumbered(labels)
            for number, block in self._marked.items():
                self.finished[number] = _with_footnote_numbers(block, self._notes)

    def _last_start(self, tokens: list[Token], references: References) -> int:
        """Return the first line whose block may still be changed by lines to come."""
        spans = [(token.level, token.type, token.map[0], token.map[1]) for token in tokens if token.map]
        _, kind, start, end = ([span for span in spans if span[0] == 0] or [(0, "", 0, 0)])[-1]
        named = [first for _, first, _ in references.values() if first >= end]
        if named or not kind:
            return max(named, default=len(self._lines))
        size = sum(len(line) for line in self._lines[start:])
        inside = [first for level, _, first, _ in spans if level == 1 and first > start]
        if inside and (kind in LISTS or (kind == "blockquote_open" and size >= LONG)):
            return max(inside)
        return len(self._lines) if kind in CUT and size >= CUT[kind] * LONG else start

    def _take_open_items(self, completed: list[Segment], tokens: list[Token], start: int) -> list[str]:
        """Remove the last items of an unfinished list from `completed` and return their lines.

        These items are to share a block with the next items. Items that are too long for that stay in `completed`.
        """
        goes_on = any(token.type in LISTS and token.map and token.map[0] <= start < token.map[1] for token in tokens)
        if not goes_on or not completed or not completed[-1].open or completed[-1].depth or completed[-1].end != start:
            return []
        is_long = sum(map(len, completed[-1].lines)) + len(completed[-1].lines) >= LONG - STEP
        return [] if is_long else completed.pop().lines

    def _forget_lines(self, start: int, last: Segment | None) -> None:
        """Forget the lines before `start`, and the parsed lines inside the code or table that is being written."""
        self._parsed = {line - start: parsed_lines for line, parsed_lines in self._parsed.items() if line >= start}
        is_box = last is not None and last.kind in ("code", "table") and last.open
        if last is not None and is_box and last.start >= start and last.end == len(self._lines):
            rows = 2 if last.kind == "table" else 0
            head = last.start + (rows or 1)
            self._parsed[head - start] = last.lines[rows:]
            del self._lines[head:]
        del self._lines[:start]
        self._size = sum(map(len, self._lines)) + len(self._lines)
        self._due = self._size + max(STEP, self._size)

    def _cut_long_line(self, line: str) -> str:
        """Finish the beginning of an overlong line of prose, up to a sentence's end; return the rest of the line."""
        while len(line) > LONG and not self._uncuttable:
            tokens, _ = parse([*self._lines, line[:LONG]])
            self._uncuttable = not _ends_in_a_sentence(tokens)
            end = SENTENCE_END.search(line, LONG, 2 * LONG)
            if self._uncuttable or (end is None and len(line) < 2 * LONG):
                break
            at = end.end() if end else line.rfind(" ", LONG, 2 * LONG) + 1 or 2 * LONG
            self._lines.append(line[:at])
            self._advance(everything=True)
            line = line[at:]
        return line

    def _segments(self, lines: list[str], tokens: list[Token], cut: int) -> list[Segment]:
        return SegmentReader(lines, cut, self._open_items, self._parsed).read(tokens)


@dataclass(frozen=True, slots=True)
class _Tail:
    """The segments of the unfinished text, with the last line (`rest`) at the time they were parsed."""

    rest: str
    segments: list[Segment]
    addresses: dict[str, str]
    is_open: bool  # whether it ends with a paragraph

    def extended(self, rest: str) -> _Tail | None:
        """Return this tail with a longer last line, or None if the tail must be parsed again.

        Only words may have been appended to prose or code. Parsing the whole tail for each of them would take far
        longer.
        """
        segment = (
            self.segments[-1] if self.segments and _DECIDED.match(self.rest) and rest.startswith(self.rest) else None
        )
        if segment is None or segment.kind not in ("prose", "code") or not segment.lines or "|" in rest:
            return None
        if not segment.lines[-1] or not self.rest.endswith(segment.lines[-1]):
            return None
        lines = [*segment.lines[:-1], segment.lines[-1] + rest[len(self.rest) :]]
        if any("]:" in line for line in lines):  # the line may define a link reference
            return None
        return replace(self, rest=rest, segments=[*self.segments[:-1], replace(segment, lines=lines)])


def _ends_in_a_sentence(tokens: list[Token]) -> bool:
    last = next((token for token in reversed(tokens) if token.nesting == 0), None)
    return (
        last is not None
        and last.type in ("inline", "paragraph", "heading")
        and tokens[-1].type != "footnote_reference_close"
    )


def _without_table_head(segment: Segment) -> Segment:
    """Return the prose without its last one or two lines if these may become a table's head."""
    count = 1 if may_be_table_head(segment.lines[-2:]) else 0
    if count and len(segment.lines) > 1 and may_be_table_head(segment.lines[-2:-1]):
        count = 2
    return replace(segment, lines=segment.lines[: len(segment.lines) - count])


def _block(segment: Segment) -> Block:
    """Return the block that a segment becomes, with its footnote marks as they were written."""
    if segment.kind == "code" and segment.name != "math":
        return Block("\n".join(segment.lines), "code", segment.name, segment.depth)
    if segment.kind == "code":  # a formula: LaTeX allows no blank lines in it
        return Block("\n".join(["$$", *(line for line in segment.lines if line.strip()), "$$"]), depth=segment.depth)
    kind: BlockKind = "table" if segment.kind == "table" else "prose"
    return Block("\n".join(segment.lines).rstrip(), kind, depth=segment.depth)


def _with_footnote_numbers(block: Block, notes: Footnotes, is_open: bool = False) -> Block:
    """Return the block with raised numbers for its footnote marks."""
    if block.kind == "code" or "[" not in block.text:
        return block
    return replace(block, text=notes.with_numbers(block.text, is_open))


def _is_visible(block: Block) -> bool:
    """Return whether the block shows anything; code that ended before its first line shows its language at least."""
    return bool(block.text.strip() or block.language)


def _links(block: Block, addresses: dict[str, str]) -> str:
    """Return definitions of the link references that the block uses, because each block is laid out by itself."""
    if not addresses or block.kind == "code" or "[" not in block.text:
        return ""
    definitions, size = [], 0
    for label in dict.fromkeys(_LABEL.findall(block.text)):
        address = addresses.get(normalize_label(label))
        if address is not None and size + len(address) <= LINKS_LIMIT:
            size += len(label) + len(address)
            definitions.append(f"[{label}]: <{address.translate(_ESCAPED)}>")
    return "\n".join(definitions)


def split(text: str) -> list[Block]:
    """Return all blocks of a finished text."""
    return [block for block in split_in_steps(text) if block is not None]


def split_in_steps(text: str) -> Iterator[Block | None]:
    """Yield the blocks of a finished text; None marks a step of work that completed no block."""
    addresses: dict[str, str] = {}
    footnotes: set[str] = set()
    if _DEFINITION.search(text):  # a link reference or a footnote may be defined behind its use
        first = BlockSplitter()
        yield from _feed_in_steps(first, text)
        first.close()
        addresses, footnotes = first.addresses, first.footnotes
    splitter, yielded = BlockSplitter(addresses, footnotes), 0
    for _ in _feed_in_steps(splitter, text):
        if len(splitter.finished) == yielded:
            yield None
        for block in splitter.finished[yielded:]:
            yield replace(block, links=_links(block, addresses))
        yielded = len(splitter.finished)
    splitter.close()
    yield from splitter.finished[yielded:]


def _feed_in_steps(splitter: BlockSplitter, text: str) -> Iterator[None]:
    for at in range(0, len(text), PIECE):
        splitter.feed(text[at : at + PIECE])
        yield None


def plain_pieces(text: str) -> Iterator[Block]:
    """Yield a user's message in pieces, cut at line ends, so that no piece takes long to lay out."""
    at = 0
    while at < len(text):
        end = at + LONG
        if end < len(text):
            end = text.rfind("\n", at, end) + 1 or text.rfind(" ", at, end) + 1 or end
        yield Block(text[at:end].removesuffix("\n"), "plain")
        at = end


def layout_cost(markdown: str) -> int:
    """Estimate the time to lay out this markdown, in characters of plain prose; lines and formulas cost extra."""
    return len(markdown) + 40 * markdown.count("\n") + 100 * (markdown.count("$") + markdown.count("\\("))


def join_neighbours(blocks: Iterable[Block | None]) -> Iterator[Block | None]:
    """Yield the same blocks with neighbouring prose joined, as far as a joined block is laid out in one slice.

    Fewer texts are faster to pass with Tab and with a screen reader.
    """
    prose: list[Block] = []
    for block in blocks:
        if block is None:
            yield None
            continue
        if prose and not (block.kind == "prose" and may_join([*prose, block])):
            yield join_prose(prose)
            prose = []
        if block.kind == "prose":
            prose.append(block)
        else:
            yield block
    if prose:
        yield join_prose(prose)


def may_join(blocks: list[Block]) -> bool:
    """Return whether these blocks of prose can be laid out together in one slice."""
    return (
        len({block.depth for block in blocks}) == 1
        and sum(layout_cost(block.markdown) for block in blocks) <= JOIN_LIMIT
    )


def join_prose(blocks: list[Block]) -> Block:
    return Block("\n\n".join(block.markdown for block in blocks), depth=blocks[0].depth)


def code_of(text: str) -> list[str]:
    """Return the code blocks of a finished text, without their fences."""
    fenced = "```" in text or "~~~" in text
    return [block.text for block in split(text) if block.kind == "code"] if fenced else []


def last_code(answer: str) -> str | None:
    """Return the last code block, or None if there is none."""
    return next(reversed(code_of(answer)), None)
