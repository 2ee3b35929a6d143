"""Cuts an answer's markdown into blocks while it streams. Knows no Qt.

Code and tables are blocks of their own, also within lists; `depth` says how far in. Prose that goes on for LONG
characters is cut at the next good place, so that laying out the last block never takes long. What a text is cut into
depends on its lines alone: every STEP characters, at the end of a line, the blocks before the last one are finished for
good, and only what is behind them is read again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from app.markdown.grammar import LISTS, NOTE, Part, Reader, References, may_be_table_head, normal_label, parse

if TYPE_CHECKING:
    from markdown_it.token import Token

LONG = 2_500  # characters: a paragraph of so many takes 3 ms
STEP = 250  # characters: a list of so many, the slowest to read, takes 0.3 ms
JOINED = 2_500  # the `weight` of what is laid out in one go: 3 ms
PIECE = 3_000  # characters that are split in one go: 2 ms
# Where a block is cut at the end of any line, in LONG characters: to read and lay out four takes 25 ms.
CUT = {"paragraph": 1, "heading": 1, "blockquote_open": 4, "bullet_list_open": 4, "ordered_list_open": 4}
LINKS = 8_000  # characters of addresses that are put below a block
SENTENCE_END = re.compile(r"[.!?:;][)\"'”’*_]*[ \t]+(?=\S)|[。！？；](?=\S)")
_HALF = re.compile(r"^[ \t]*([-=_*+#]+[ \t]*|[`~]+|(```|~~~).*)$")  # nobody knows yet what such a line becomes
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){1,999})\]")
_DEFINITION = re.compile(r"^(?:[ \t>]|[-*+] |\d+[.)] )*\[[^\]^]", re.MULTILINE)
_ESCAPED = str.maketrans({"<": "%3C", ">": "%3E", "\\": "%5C"})
_NOTE = rf"\[\^({NOTE.pattern})\]"
_NOTE_HEAD = re.compile(rf"^[ \t]*{_NOTE}:[ \t]*")
_NOTE_MARK = re.compile(rf"\\.|(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)|{_NOTE}", re.DOTALL)
_MARK_BEGUN = re.compile(r"\[(\^[\w-]{0,43})?$")
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
Kind = Literal["prose", "code", "table", "notes", "plain"]  # plain: a piece of what the user typed


@dataclass(frozen=True, slots=True)
class Block:
    """`text` is markdown, or code without its fences; `language` is the word behind the opening fence; `depth`: in how
    many list items it stands; `links`: definitions of the addresses that the text names, where they stood elsewhere."""

    text: str
    kind: Kind = "prose"
    language: str = ""
    depth: int = 0
    links: str = ""

    @property
    def markdown(self) -> str:
        return f"{self.text}\n\n{self.links}" if self.links else self.text


class BlockSplitter:
    """Feed it pieces; `finished` grows by blocks that stay as they are, `tail` is what may still change."""

    def __init__(self, addresses: dict[str, str] | None = None) -> None:
        self.finished: list[Block] = []
        self.addresses = dict(addresses or {})  # what is known of them beforehand, and what the text has named
        self._notes = Footnotes()
        self._lines: list[str] = []  # those behind the finished blocks
        self._rest = ""  # the line that is being written
        self._whole = False  # it is not to be cut, however long
        self._size, self._due = 0, STEP  # characters in `_lines`, and how many before they are read
        self._before: list[str] = []  # items of the list that `_lines` goes on with
        self._known: dict[int, list[str]] = {}  # behind which line: code or rows that need not be read again

    def feed(self, piece: str) -> None:
        *lines, self._rest = (self._rest + piece).split("\n")
        for line in lines:
            self._take(self._cut(line))
            self._whole = False
        self._rest = self._cut(self._rest)

    def close(self) -> None:
        """The text has ended."""
        if self._rest:
            self._take(self._rest)
            self._rest = ""
        self._advance(all_of_it=True)
        if notes := self._notes.listed():
            self.finished.append(Block(notes, "notes"))
        self.finished = [replace(block, links=_links(block, self.addresses)) for block in self.finished]

    @property
    def tail(self) -> list[Block]:
        """The blocks behind the finished ones, as far as they are written."""
        hidden = not self._rest.strip() or _HALF.match(self._rest)
        lines = self._lines if hidden else [*self._lines, self._rest]
        tokens, references = parse(lines)
        parts, notes = self._parts(lines, tokens, len(lines)), self._notes.copy()
        addresses = {label: address for label, (address, *_) in references.items()} | self.addresses
        is_open = bool(parts) and tokens[-1].type == "paragraph"
        if is_open:
            parts[-1] = _without_table_head(parts[-1])
        shown = [_block(part, notes, part is parts[-1]) for part in parts]
        blocks = [replace(block, links=_links(block, addresses)) for block in shown if block and _says_something(block)]
        if parts and parts[-1].kind == "note":
            blocks.append(Block(notes.listed(), "notes"))
        return blocks

    # --- inside -----------------------------------------------------------------------------------------------------

    def _take(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1
        if self._size >= self._due:
            self._advance()

    def _advance(self, all_of_it: bool = False) -> None:
        """Finish what is finished. Nothing but the lines may decide on that, or a stream would end in other blocks."""
        tokens, references = parse(self._lines)
        start = len(self._lines) if all_of_it else self._last_start(tokens, references)
        parts = self._parts(self._lines, tokens, start)
        done = [part for part in parts if part.end <= start]
        if start:
            self._before = self._items_before(done, tokens, start)
        self.finished += [block for part in done if (block := _block(part, self._notes)) and _says_something(block)]
        for label, (address, _, end) in references.items():
            if end <= start:
                self.addresses.setdefault(label, address)
        self._drop(start, parts[-1] if parts else None)

    def _last_start(self, tokens: list[Token], references: References) -> int:
        """The line from which on the next lines may change something."""
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

    def _items_before(self, done: list[Part], tokens: list[Token], start: int) -> list[str]:
        """Of what is done, the last items of a list that goes on: they are to stand in one block with the next ones."""
        goes_on = any(token.type in LISTS and token.map and token.map[0] <= start < token.map[1] for token in tokens)
        if not goes_on or not done or not done[-1].open or done[-1].depth or done[-1].end != start:
            return []
        is_long = sum(map(len, done[-1].lines)) + len(done[-1].lines) >= LONG - STEP
        return [] if is_long else done.pop().lines

    def _drop(self, start: int, last: Part | None) -> None:
        """Forget the lines before `start`, and those inside of the code or table that is being written."""
        self._known = {line - start: known for line, known in self._known.items() if line >= start}
        is_box = last is not None and last.kind in ("code", "table") and last.open
        if last is not None and is_box and last.start >= start and last.end == len(self._lines):
            rows = 2 if last.kind == "table" else 0
            head = last.start + (rows or 1)
            self._known[head - start] = last.lines[rows:]
            del self._lines[head:]
        del self._lines[:start]
        self._size = sum(map(len, self._lines)) + len(self._lines)
        self._due = self._size + max(STEP, self._size)

    def _cut(self, line: str) -> str:
        """Finish what is too long of a line of prose at the end of a sentence; what is left of the line."""
        while len(line) > LONG and not self._whole:
            tokens, _ = parse([*self._lines, line[:LONG]])
            self._whole = not _ends_in_a_sentence(tokens)
            end = SENTENCE_END.search(line, LONG, 2 * LONG)
            if self._whole or (end is None and len(line) < 2 * LONG):
                break
            at = end.end() if end else line.rfind(" ", LONG, 2 * LONG) + 1 or 2 * LONG
            self._lines.append(line[:at])
            self._advance(all_of_it=True)
            line = line[at:]
        return line

    def _parts(self, lines: list[str], tokens: list[Token], cut: int) -> list[Part]:
        return Reader(lines, cut, self._before, self._known).read(tokens)


class Footnotes:
    """`[^1]` becomes a raised number, and what `[^1]: …` says is taken out of the text, for its end.

    A text shows its footnotes while it streams, before it is known which are explained, so a number is always taken for
    one; a word of less than three letters is not: `[^a-z]` is more often a set of characters. `take` is told what a
    note says; `listed` is all of them, as markdown."""

    def __init__(self, numbers: dict[str, str] | None = None, notes: dict[str, str] | None = None) -> None:
        self._numbers = numbers or {}
        self._notes = notes or {}

    def copy(self) -> Footnotes:
        return Footnotes(dict(self._numbers), dict(self._notes))

    def take(self, label: str, lines: list[str]) -> None:
        """The lines of a note's definition."""
        _number(label, self._numbers)
        text = "\n".join([_NOTE_HEAD.sub("", lines[0]), *(re.sub("^(?: {1,4}|\t)", "", line) for line in lines[1:])])
        self._notes[label] = f"{self._notes[label]}\n{text}" if label in self._notes else text

    def marked(self, text: str, is_open: bool = False) -> str:
        """The text with a raised number for each mark; one that is just being written at its end is not shown."""
        if "[" not in text:
            return text
        text = _marked(text, self._numbers)
        return _MARK_BEGUN.sub("", text) if is_open else text

    def listed(self) -> str:
        """The notes so far; empty where there are none."""
        if not self._notes:
            return ""
        numbers = dict(self._numbers)
        notes = (f"{_number(label, numbers)} {_marked(text.strip(), numbers)}" for label, text in self._notes.items())
        return "\n\n".join(["---", *notes])


def _marked(text: str, numbers: dict[str, str]) -> str:
    return _NOTE_MARK.sub(lambda found: _number(found[2], numbers) if found[2] else found[0], text)


def _number(label: str, numbers: dict[str, str]) -> str:
    """The label's number, raised; a word's is the next that is free."""
    if label not in numbers:
        free = (str(number) for number in range(1, 10_000) if str(number) not in numbers.values())
        numbers[label] = label.lstrip("0") or "0" if label.isdigit() else next(free, label)
    return numbers[label].translate(_RAISED)


def _ends_in_a_sentence(tokens: list[Token]) -> bool:
    last = next((token for token in reversed(tokens) if token.nesting == 0), None)
    return (
        last is not None
        and last.type in ("inline", "paragraph", "heading")
        and tokens[-1].type != "footnote_reference_close"
    )


def _without_table_head(part: Part) -> Part:
    """The prose without its last one or two lines, if they may become a table's head."""
    count = 1 if may_be_table_head(part.lines[-2:]) else 0
    if count and len(part.lines) > 1 and may_be_table_head(part.lines[-2:-1]):
        count = 2
    return replace(part, lines=part.lines[: len(part.lines) - count])


def _block(part: Part, notes: Footnotes, is_open: bool = False) -> Block | None:
    if part.kind == "note":
        notes.take(part.name, part.lines)
        return None
    if part.kind == "code" and part.name != "math":
        return Block("\n".join(part.lines), "code", part.name, part.depth)
    if part.kind == "code":  # a formula, without the blank lines that LaTeX does not allow in one
        return Block("\n".join(["$$", *(line for line in part.lines if line.strip()), "$$"]), depth=part.depth)
    return Block(notes.marked("\n".join(part.lines).rstrip(), is_open), part.kind, depth=part.depth)


def _says_something(block: Block) -> bool:
    """Code that ended before its first line has a language at least."""
    return bool(block.text.strip() or block.language)


def _links(block: Block, addresses: dict[str, str]) -> str:
    """Definitions of the addresses that the block names: it is laid out by itself."""
    if not addresses or block.kind == "code" or "[" not in block.text:
        return ""
    found, size = [], 0
    for label in dict.fromkeys(_LABEL.findall(block.text)):
        address = addresses.get(normal_label(label))
        if address is not None and size + len(address) <= LINKS:
            size += len(label) + len(address)
            found.append(f"[{label}]: <{address.translate(_ESCAPED)}>")
    return "\n".join(found)


def split(text: str) -> list[Block]:
    """All blocks of a finished text."""
    return [block for block in split_slowly(text) if block is not None]


def split_slowly(text: str) -> Iterator[Block | None]:
    """The same a little at a time; None: so much was done, but there is no block yet."""
    addresses: dict[str, str] = {}
    if _DEFINITION.search(text):  # what is named at the end may be wanted at the beginning
        first = BlockSplitter()
        yield from _fed(first, text)
        first.close()
        addresses = first.addresses
    splitter, told = BlockSplitter(addresses), 0
    for _ in _fed(splitter, text):
        if len(splitter.finished) == told:
            yield None
        for block in splitter.finished[told:]:
            yield replace(block, links=_links(block, addresses))
        told = len(splitter.finished)
    splitter.close()
    yield from splitter.finished[told:]


def _fed(splitter: BlockSplitter, text: str) -> Iterator[None]:
    for at in range(0, len(text), PIECE):
        splitter.feed(text[at : at + PIECE])
        yield None


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
    prose: list[Block] = []
    for block in blocks:
        if block is None:
            yield None
            continue
        if prose and not (block.kind == "prose" and may_join([*prose, block])):
            yield joined(prose)
            prose = []
        if block.kind == "prose":
            prose.append(block)
        else:
            yield block
    if prose:
        yield joined(prose)


def may_join(blocks: list[Block]) -> bool:
    """Can these blocks of prose be laid out in one go?"""
    return len({block.depth for block in blocks}) == 1 and sum(weight(block.markdown) for block in blocks) <= JOINED


def joined(blocks: list[Block]) -> Block:
    return Block("\n\n".join(block.markdown for block in blocks), depth=blocks[0].depth)


def code_of(text: str) -> list[str]:
    """The blocks of code in a finished text, without their fences."""
    fenced = "```" in text or "~~~" in text
    return [block.text for block in split(text) if block.kind == "code"] if fenced else []


def last_code(answer: str) -> str | None:
    """The last block of code, None where there is none."""
    return next(reversed(code_of(answer)), None)
