"""Splits an answer's markdown into blocks while it streams. No Qt.

Code and tables are blocks of their own, also within lists and quotations. Prose longer than LONG characters is cut at
the next good place, so that laying out the last block never takes long. The lines alone decide where a text is cut:
every STEP characters, at the end of a line, the blocks before the last one are finished for good, and only the lines
behind them are parsed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from app.markdown.grammar import (
    FENCE,
    LISTS,
    References,
    closes_fence,
    may_be_table_head,
    normalize_label,
    parse,
    split_cells,
)
from app.markdown.inline import Links
from common.tool_marks import without_tool_marks

if TYPE_CHECKING:
    from markdown_it.token import Token

LONG = 2_500  # characters: a paragraph of this length takes 3 ms to lay out; a table has no longer row
LONGEST = 2 * LONG  # characters of a paragraph: what is longer is cut
LINE_COST = 20  # characters that are laid out in the time that a new line takes
STEP = 250  # characters: a list of this length, the slowest to parse, takes 0.3 ms
PIECE = 3_000  # characters that are split in one step: 2 ms
NOTES = 50  # paragraphs of footnotes in one block
COLUMNS = 40  # of a table: laying out a row of 40 cells takes 7 ms
CUT_LONG = 4  # length, in LONG characters, from which a list is cut at the end of any line: 25 ms to lay out
SENTENCE_END = re.compile(r"[.!?:;][)\"'”’*_]*[ \t]+(?=\S)|[。！？；](?=\S)")
_UNDECIDED = re.compile(r"^[ \t]*([-=_*+#]+[ \t]*|[`~]+|(```|~~~).*)$")  # a line that may still become anything
_LABEL = re.compile(r"\[((?:[^\[\]\\]|\\.){1,999})\]")
_DEFINITION = re.compile(r"^(?:[ \t>]|[-*+] |\d+[.)] )*\[[^\]]+\]:", re.MULTILINE)
_MARK_BEGUN = re.compile(r"\[(\^[\w-]{0,43})?$")  # of a footnote
_UNUSABLE = re.compile("[\x00\ufdd0-\ufdef\u2029]")  # Qt ends frames and paragraphs at some of these
TASK = re.compile(r"\[([ xX])\][ \t]+")
BULLET, BOXES = "•", ("☐", "☑")
BlockKind = Literal["prose", "code", "table", "notes", "plain"]  # plain: a piece of a user's message
ParagraphKind = Literal["text", "heading", "rule", "code", "term", "summary"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One paragraph of prose; `text` has its marks inside the line, unless it is code.

    `level` is a heading's level; `indent` counts the lists around the paragraph; `marker` stands before the first
    paragraph of a list item: a bullet, a number with its sign, or a box.
    """

    text: str
    kind: ParagraphKind = "text"
    level: int = 0
    indent: int = 0
    marker: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a text: `paragraphs` of prose, `text` of code or of a user's message, or `rows` of a table.

    `language` is the word behind code's opening fence; `aligns` has the table's columns: left, right, center or ""; it
    `has_head` if the first row is one.
    `quote` counts the quotations around the block, `outside` the lists around these, `depth` the lists within them.
    `links` has the link references and footnotes that the block uses.
    """

    kind: BlockKind = "prose"
    paragraphs: tuple[Paragraph, ...] = ()
    text: str = ""
    language: str = ""
    rows: tuple[tuple[str, ...], ...] = ()
    aligns: tuple[str, ...] = ()
    has_head: bool = True
    depth: int = 0
    quote: int = 0
    outside: int = 0
    links: Links = ()

    @property
    def source(self) -> str:
        """The block's markdown, without the marks of blocks."""
        if self.paragraphs:
            return "\n".join(paragraph.text for paragraph in self.paragraphs)
        return "\n".join(" | ".join(row) for row in self.rows) if self.rows else self.text

    def linked(self, definitions: dict[str, str]) -> Block:
        """Return the block with those of the definitions that it uses, because each block is read by itself."""
        if self.kind in ("code", "plain") or "[" not in (source := self.source):
            return self
        labels = _labels_in(source)
        known = {(label if label[0] == "^" else key): key for label, key in labels.items() if key in definitions}
        return replace(self, links=tuple((label, definitions[key]) for label, key in known.items()))


@lru_cache(500)  # the same finished blocks are linked after each definition below them
def _labels_in(source: str) -> dict[str, str]:
    return {label: normalize_label(label) for label in _LABEL.findall(source)}


Notes = dict[str, list[Paragraph]]  # footnotes by label, in the order of their definitions, which numbers them


class BlockSplitter:
    """A splitter of streamed text: `finished` only grows, by blocks that no longer change; `tail` may still change.

    `definitions` has the addresses of link references and, behind a ^, the numbers of footnotes, by label; they are
    known in advance, or defined so far. `linkings` counts how often finished blocks were given links to what is defined
    below them.
    """

    def __init__(self, definitions: dict[str, str] | None = None) -> None:
        self.finished: list[Block] = []
        self.definitions = dict(definitions or {})
        self._notes: Notes = {}
        self._lines: list[str] = []  # lines behind the finished blocks
        self._rest = ""  # the line that is being written
        self._uncuttable = False  # whether that line stays in one block, however long
        self._size, self._due = 0, STEP  # characters in `_lines`; size from which they are parsed
        self._number: int | None = None  # of the next item of the numbered list that `_lines` continues
        self.linkings = 0

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
        self.finished += _note_blocks(self._notes)
        self._link(self.definitions)

    @property
    def tail(self) -> list[Block]:
        """The blocks behind the finished ones, as far as they are written."""
        lines, rest = self._lines, clean(self._rest)
        if rest.strip() and not _UNDECIDED.match(rest):
            lines = [*lines, _MARK_BEGUN.sub("", rest)]
        reader = self._read(lines)
        if reader.ends_in_prose and (count := _begun_table_head(lines)):
            reader = self._read(lines[: len(lines) - count])
        notes = _merged(self._notes, reader.notes)
        definitions = self._definitions_with(reader, notes)
        if definitions.keys() != self.definitions.keys():
            self._link(definitions)
        blocks = [*reader.blocks, *(_note_blocks(notes) if reader.ends_in_note else [])]
        return [block.linked(definitions) for block in blocks]

    # --- inside -----------------------------------------------------------------------------------------------------

    def _read(self, lines: list[str]) -> _BlockReader:
        tokens, references = parse(lines)
        return _BlockReader(self._number).read(tokens, references)

    def _definitions_with(self, reader: _BlockReader, notes: Notes) -> dict[str, str]:
        found = {label: address for label, (address, *_) in reader.references.items()}
        numbers = {normalize_label(f"^{label}"): str(number) for number, label in enumerate(notes, 1)}
        return found | numbers | self.definitions

    def _link(self, definitions: dict[str, str]) -> None:
        """Give finished blocks the links and footnotes that are defined below them."""
        if definitions or self.linkings:
            self.finished = [block.linked(definitions) for block in self.finished]
            self.linkings += 1

    def _append_line(self, line: str) -> None:
        line = clean(line)
        self._lines.append(line)
        self._size += len(line) + 1
        if self._size >= self._due:
            self._advance()

    def _advance(self, everything: bool = False) -> None:
        """Move completed blocks to `finished`.

        Only the lines decide, never the size of the pieces; otherwise a stream would end in other blocks than the whole
        text.
        """
        tokens, references = parse(self._lines)
        start = len(self._lines) if everything else _last_start(self._lines, tokens, references)
        if start:
            completed = self._read(self._lines[:start])
            self._notes = _merged(self._notes, completed.notes)
            known = len(self.definitions)
            self.definitions = self._definitions_with(completed, self._notes)
            self.finished += [block.linked(self.definitions) for block in completed.blocks]
            if len(self.definitions) != known:
                self._link(self.definitions)
            self._number = _number_at(tokens, start, self._number)
            del self._lines[:start]
        self._size = sum(map(len, self._lines)) + len(self._lines)
        self._due = self._size + max(STEP, self._size)

    def _cut_long_line(self, line: str) -> str:
        """Finish the beginning of an overlong line of prose, up to a sentence's end; return the rest of the line."""
        while len(line) > LONG and not self._uncuttable:
            tokens, _ = parse([*self._lines, line[:LONG]])
            self._uncuttable = not _ends_in_a_sentence(tokens)
            end = SENTENCE_END.search(line, LONG, LONGEST)
            if self._uncuttable or (end is None and len(line) < LONGEST):
                break
            at = end.end() if end else line.rfind(" ", LONG, LONGEST) + 1 or LONGEST
            self._lines.append(clean(line[:at]))
            self._advance(everything=True)
            line = line[at:]
        return line


def _last_start(lines: list[str], tokens: list[Token], references: References) -> int:
    """Return the first line whose block may still be changed by lines to come."""
    spans = [(token.level, token.type, token.map[0], token.map[1]) for token in tokens if token.map]
    _, kind, start, end = ([span for span in spans if span[0] == 0] or [(0, "", 0, 0)])[-1]
    named = [first for _, first, _ in references.values() if first >= end]
    if named or not kind:
        return max(named, default=len(lines))
    size = sum(len(line) + LINE_COST for line in lines[start:])
    inside = [first for level, part, first, _ in spans if level == 1 and first > start and part != "dd_open"]
    if inside and size >= LONG and kind in (*LISTS, "dl_open", "blockquote_open"):
        return max(inside)
    last = next((token for token in reversed(tokens) if token.nesting == 0), None)
    if last is None or last.type == "table" or (last.type == "fence" and last.meta["open"]):
        return start
    is_prose = kind in ("paragraph", "heading") or (kind == "blockquote_open" and last.type == "paragraph")
    return len(lines) if size >= LONG * (1 if is_prose else CUT_LONG) else start


def _number_at(tokens: list[Token], line: int, number: int | None) -> int | None:
    """Return the number of the item that begins on this line; None if it continues no numbered list.

    `number` is that of the first item if the first list was begun before.
    """
    for token in tokens:
        if token.type == "ordered_list_open" and token.level == 0 and token.map and token.map[0] < line < token.map[1]:
            items = [each for each in tokens if each.type == "list_item_open" and each.level == 1 and each.map]
            before = sum(1 for each in items if each.map and token.map[0] <= each.map[0] < line)
            is_first = token is tokens[0] and number is not None
            return before + (number if is_first and number is not None else int(token.attrs.get("start", 1)))
    return None


def _ends_in_a_sentence(tokens: list[Token]) -> bool:
    last = next((token for token in reversed(tokens) if token.nesting == 0), None)
    if last is None or last.type not in ("inline", "paragraph", "heading"):
        return False
    return tokens[-1].type not in ("footnote_reference_close", "dl_close")


def _begun_table_head(lines: list[str]) -> int:
    """Return how many of the last lines may become a table's head, so that they are not shown as text first."""
    if not may_be_table_head(lines[-2:]):
        return 0
    return 2 if len(lines) > 1 and may_be_table_head(lines[-2:-1]) else 1


def clean(line: str) -> str:
    """Return a line without what Qt cannot show."""
    return _UNUSABLE.sub("\ufffd", line.removesuffix("\r"))


# --- from tokens to blocks --------------------------------------------------------------------------------------------


class _BlockReader:
    """A reader of markdown-it's tokens, which makes blocks of them; `number` is that of the first numbered item."""

    def __init__(self, number: int | None = None) -> None:
        self.blocks: list[Block] = []
        self.notes: Notes = {}
        self.references: References = {}
        self.ends_in_prose = self.ends_in_note = False
        self._number = number
        self._lists: list[int | None] = []  # for each open list the next number; None: it has none
        self._marker = ""  # of the item that begins here
        self._quote = self._outside = 0
        self._kind: ParagraphKind = "text"
        self._level = 0
        self._prose: list[Paragraph] = []

    def read(self, tokens: list[Token], references: References | None = None) -> _BlockReader:
        self.references = references or {}
        self.ends_in_prose = bool(tokens) and tokens[-1].type == "paragraph"
        self.ends_in_note = bool(tokens) and tokens[-1].type == "footnote_reference_close"
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.level == 0 and token.map:
                self._flush()
            if token.type == "footnote_reference_open":
                behind = _end_of_note(tokens, at)
                inner = _BlockReader().read(tokens[at + 1 : behind])
                self.notes.setdefault(str(token.meta["label"]), []).extend(flattened(inner.blocks))
                at = behind
            else:
                self._read_token(token)
            at += 1
        self._flush()
        return self

    def _read_token(self, token: Token) -> None:
        match token.type:
            case "inline" | "paragraph" | "math":
                self._add(token.content, self._kind, self._level)
                self._kind, self._level = "text", 0
            case "heading_open":
                self._kind, self._level = "heading", int(token.tag[1:])
            case "heading":
                self._add(token.content, "heading", int(token.tag[1:]))
            case "dt_open":
                self._kind = "term"
            case "summary" if token.content:
                self._add(token.content, "summary")
            case "hr":
                self._add("", "rule")
            case "fence":
                self._add_code(token)
            case "table":
                self._add_table(token)
            case _:
                self._enter_or_leave(token)

    def _enter_or_leave(self, token: Token) -> None:
        """Follow the beginnings and ends of lists and quotations."""
        match token.type:
            case "bullet_list_open" | "dd_open":
                self._lists.append(None)
            case "ordered_list_open":
                number, self._number = self._number, None
                self._lists.append(int(token.attrs.get("start", 1)) if number is None else number)
            case "bullet_list_close" | "ordered_list_close" | "dd_close":
                self._lists.pop()
            case "list_item_open":
                self._begin_item(token.markup)
            case "list_item_close":
                self._end_marker()
            case "blockquote_open":
                self._end_marker()
                self._flush()
                self._outside = self._outside if self._quote else len(self._lists)
                self._quote += 1
            case "blockquote_close":
                self._flush()
                self._quote -= 1
                self._outside = self._outside if self._quote else 0

    def _begin_item(self, sign: str) -> None:
        number = self._lists[-1]
        self._marker = BULLET if number is None else f"{number}{sign}"
        self._lists[-1] = None if number is None else number + 1

    def _end_marker(self) -> None:
        """Show the marker of an item that begins with no text."""
        if self._marker:
            self._add("", "text")

    def _add(self, text: str, kind: ParagraphKind = "text", level: int = 0) -> None:
        text, marker, self._marker = text.strip(), self._marker, ""
        if marker and (task := TASK.match(text)):
            box = BOXES[task[1] != " "]
            marker, text = (box, text[task.end() :]) if marker == BULLET else (marker, f"{box} {text[task.end() :]}")
        for at in range(0, max(1, len(text)), LONGEST):
            if at:
                self._flush()
            piece = text[at : at + LONGEST]
            self._prose.append(Paragraph(piece, kind, level, len(self._lists) - self._outside, "" if at else marker))

    def _add_code(self, token: Token) -> None:
        lines = token.content.split("\n")[:-1]
        language = (token.info.split() or [""])[0]
        if language == "math":  # LaTeX allows no blank lines
            self._add("\n".join(["$$", *(line for line in lines if line.strip()), "$$"]))
        elif language or any(map(str.strip, lines)):
            self._add_box(Block("code", text="\n".join(lines), language=language))

    def _add_table(self, token: Token) -> None:
        table = table_of(token)
        if table is not None:
            self._add_box(table)
            return
        for line in token.content.split("\n"):
            self._add(line)

    def _add_box(self, block: Block) -> None:
        self._end_marker()
        self._flush()
        depth = len(self._lists) - self._outside
        self.blocks.append(replace(block, depth=depth, quote=self._quote, outside=self._outside))

    def _flush(self) -> None:
        if self._prose:
            self.blocks.append(Block(paragraphs=tuple(self._prose), quote=self._quote, outside=self._outside))
            self._prose = []


def _end_of_note(tokens: list[Token], at: int) -> int:
    """Return the index of the token that closes the footnote whose first token has this index."""
    level = tokens[at].level
    return next(
        index
        for index in range(at + 1, len(tokens))
        if tokens[index].type == "footnote_reference_close" and tokens[index].level == level
    )


def table_of(token: Token) -> Block | None:
    """Return the table that a token holds; None if it has more columns or longer rows than anybody reads."""
    head, rule, *rows = token.content.split("\n")
    aligns = tuple(_align(cell) for cell in split_cells(rule))
    if len(aligns) > COLUMNS or max(map(len, [head, *rows])) > LONG:
        return None
    cells = tuple(_fitted(split_cells(row), len(aligns)) for row in (head, *rows))
    return Block("table", rows=cells, aligns=aligns)


def _align(rule: str) -> str:
    return {(True, True): "center", (False, True): "right", (True, False): "left"}.get(
        (rule.startswith(":"), rule.endswith(":")), ""
    )


def _fitted(cells: tuple[str, ...], columns: int) -> tuple[str, ...]:
    """Return a row with as many cells as the table has columns; more cells go into the last one."""
    cells += ("",) * (columns - len(cells))
    return cells if len(cells) == columns else (*cells[: columns - 1], " | ".join(cells[columns - 1 :]))


def flattened(blocks: list[Block]) -> list[Paragraph]:
    """Return the paragraphs of blocks that are shown as one text."""
    found: list[Paragraph] = []
    for block in blocks:
        depth = block.outside + block.depth
        if block.kind == "code":
            found.append(Paragraph(block.text, "code", indent=depth))
        found += [Paragraph(" | ".join(row), indent=depth) for row in block.rows]
        found += [replace(paragraph, indent=paragraph.indent + depth) for paragraph in block.paragraphs]
    return found


def _merged(notes: Notes, more: Notes) -> Notes:
    return notes | {label: [*notes.get(label, []), *paragraphs] for label, paragraphs in more.items()}


def _note_blocks(notes: Notes) -> list[Block]:
    """Return all footnotes, as a numbered list below a line; many notes are several blocks."""
    shown = [Paragraph("", "rule")]
    for number, paragraphs in enumerate(notes.values(), 1):
        inner = [replace(paragraph, indent=paragraph.indent + 1) for paragraph in paragraphs]
        if not inner or inner[0].marker:
            inner.insert(0, Paragraph("", indent=1))
        shown += [replace(inner[0], marker=f"{number}."), *inner[1:]]
    starts = range(0, len(shown) if notes else 0, NOTES)
    return [Block("notes", tuple(shown[at : at + NOTES])) for at in starts]


# --- finished texts ---------------------------------------------------------------------------------------------------


def split(text: str) -> list[Block]:
    """Return all blocks of a finished text."""
    return [block for block in split_in_steps(text) if block is not None]


def split_in_steps(text: str) -> Iterator[Block | None]:
    """Yield the blocks of a finished text; None marks a step of work that completed no block."""
    text, definitions = without_tool_marks(text), dict[str, str]()
    if _DEFINITION.search(text):  # a link reference or a footnote may be defined behind its use
        first = BlockSplitter()
        yield from _feed_in_steps(first, text)
        first.close()
        definitions = first.definitions
    splitter, yielded = BlockSplitter(definitions), 0
    for _ in _feed_in_steps(splitter, text):
        if len(splitter.finished) == yielded:
            yield None
        yield from splitter.finished[yielded:]
        yielded = len(splitter.finished)
    splitter.close()
    yield from splitter.finished[yielded:]


def _feed_in_steps(splitter: BlockSplitter, text: str) -> Iterator[None]:
    for at in range(0, len(text), PIECE):
        splitter.feed(text[at : at + PIECE])
        yield None


def question_blocks(text: str) -> Iterator[Block]:
    """Yield a user's message in pieces: fenced code, and text as it was typed, of which no piece takes long."""
    text_lines: list[str] = []
    code_lines: list[str] | None = None
    opening: tuple[str, str] = "", ""
    for line in map(clean, without_tool_marks(text).split("\n")):
        if code_lines is not None:
            if closes_fence(line.strip(), opening[0]):
                yield Block("code", text="\n".join(code_lines), language=opening[1])
                code_lines = None
            else:
                code_lines.append(line)
        elif fence := FENCE.match(line.strip()):
            yield from _plain_pieces("\n".join(text_lines))
            text_lines, code_lines, opening = [], [], (fence[1], (fence[2].split() or [""])[0])
        else:
            text_lines.append(line)
    if code_lines is not None:
        yield Block("code", text="\n".join(code_lines), language=opening[1])
    yield from _plain_pieces("\n".join(text_lines))


def _plain_pieces(text: str) -> Iterator[Block]:
    """Yield a text in pieces, cut at line ends."""
    text, at = text.strip("\n"), 0
    while at < len(text):
        end = at + LONG
        if end < len(text):
            end = text.rfind("\n", at, end) + 1 or text.rfind(" ", at, end) + 1 or end
        yield Block("plain", text=text[at:end].removesuffix("\n"))
        at = end


def code_of(text: str) -> list[str]:
    """Return the code blocks of a finished text, without their fences."""
    fenced = "```" in text or "~~~" in text
    return [block.text for block in split(text) if block.kind == "code"] if fenced else []


def last_code(answer: str) -> str | None:
    """Return the last code block, or None if there is none."""
    return next(reversed(code_of(answer)), None)
