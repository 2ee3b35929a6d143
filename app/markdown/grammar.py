"""Groups the lines of a markdown text into segments, by markdown-it's block grammar with our own rules. No Qt.

Our rules differ where models' answers differ from CommonMark. An opening or closing fence may have any indentation,
because code inside lists is often not indented. A formula on lines of its own stays whole whatever its lines contain. A
table ends with its last row that contains a bar. Inline marks are left to Qt.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from app.markdown.footnotes import FOOTNOTE_LABEL
from app.markdown.math_text import DISPLAY_LIMIT

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([^`\n]*)$")
MATH_ENDS = {"$$": "$$", "\\[": "\\]"}
MARKUP_STARTS = frozenset("`~$\\>*-+_[#0123456789")  # first characters of all lines with block markup, except tables
THEMATIC_BREAK = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}$")
LIST_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+[^\W_]")
UNDERLINE = re.compile(r"(=+|-+)[ \t]*")
LISTS = ("bullet_list_open", "ordered_list_open")
NESTED = 100  # nested lists and quotations; beyond markdown-it's default of 20 a text would no longer be parsed
TABLE_RULE = re.compile(r"^[ \t]{0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
TABLE_RULE_BEGUN = re.compile(r"^[ \t]{0,3}\|?[ \t:|-]*$")
_LIST_MARKERS = re.compile(r"(?:[ \t]*(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$))+[ \t]*")
_NO_ROW = re.compile(r"^[ \t]{0,3}(#|>|```|~~~)")
_ADDRESS = re.compile(r"(?<=\])\([^)]*\)|\$[^$]*\$")
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)  # breaks the line within a table's cell
_MARKS = re.compile(r"[*_`~\[\]\\]")
_CELL_END = re.compile(r"\\.|`+|\|")
References = dict[str, tuple[str, int, int]]  # label: address, first line of the definition, the line behind its last


def parse(lines: Iterable[str]) -> tuple[list[Token], References]:
    """Parse the blocks of a text; return markdown-it's tokens and the link references that the text defines."""
    tokens: list[Token] = []
    names: dict[str, Any] = {}
    parser = _parser()
    parser.block.parse("\n".join([*lines, ""]), parser, names, tokens)
    return tokens, {label: (each["href"], *each["map"]) for label, each in names.get("references", {}).items()}


def normalize_label(label: str) -> str:
    """Normalise a link label for comparison: case and the number of spaces do not matter."""
    from markdown_it.common.utils import normalizeReference

    return normalizeReference(label)


@cache
def import_in_background() -> None:
    """Start importing markdown-it in a thread, because the import takes 40 ms."""
    threading.Thread(target=_parser, name="markdown-it", daemon=True).start()


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.footnote import footnote_plugin

    class Parser(MarkdownIt):
        """A parser that keeps addresses as written: `guard` decides what may be opened when a link is clicked."""

        def normalizeLink(self, url: str) -> str:
            return url

        def validateLink(self, _url: str) -> bool:
            return True

    parser = Parser("commonmark", {"html": False, "maxNesting": NESTED})
    parser.use(footnote_plugin, inline=False, move_to_end=False).disable(["code", "html_block", "lheading"])
    ends = ["paragraph", "reference"]
    rules = parser.block.ruler
    rules.at("fence", _parse_fence, {"alt": [*ends, "blockquote", "list"]})
    rules.at("hr", _parse_thematic_break, {"alt": [*ends, "blockquote", "list"]})
    rules.at("paragraph", _parse_paragraph)
    rules.before("fence", "plain", _parse_common_line)
    rules.before("fence", "math", _parse_math, {"alt": ends})
    rules.before("fence", "lines_of_table", _parse_table, {"alt": ends})
    return parser


def _line(state: StateBlock, number: int) -> str:
    """Return a line without its indentation."""
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _push(state: StateBlock, kind: str, first: int, behind: int) -> Token:
    token = state.push(kind, "", 0)
    token.map = [first, behind]
    state.line = behind
    return token


def _parse_common_line(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Parse plain text and list items, the most frequent lines, before all other rules: trying every rule is slow."""
    line = _line(state, first)
    if silent or "|" in line:
        return False
    if line[0] not in MARKUP_STARTS:
        return _parse_paragraph(state, first, end, silent)
    return bool(LIST_ITEM.match(line)) and _list_rule()(state, first, end, silent)


@cache
def _list_rule() -> Callable[[StateBlock, int, int, bool], bool]:
    from markdown_it.rules_block import list_block

    return list_block


def _parse_thematic_break(state: StateBlock, first: int, _end: int, silent: bool) -> bool:
    match = THEMATIC_BREAK.match(_line(state, first))
    if match and not silent:
        _push(state, "hr", first, first + 1)
    return bool(match)


def _parse_paragraph(state: StateBlock, first: int, end: int, _silent: bool) -> bool:
    """Parse a paragraph, or a heading that is underlined with = or -."""
    kind, last, end = "paragraph", first + 1, state.lineMax
    outer_type, state.parentType = state.parentType, "paragraph"
    while kind == "paragraph" and last < end and not state.isEmpty(last):
        line, indent = _line(state, last), state.sCount[last]
        if 0 <= indent - state.blkIndent <= 3 and UNDERLINE.fullmatch(line):
            kind = "heading"
        elif indent >= 0 and _ends_paragraph(state, last, end):
            break
        last += 1
    state.parentType = outer_type
    _push(state, kind, first, last)
    return True


def _ends_paragraph(state: StateBlock, number: int, end: int) -> bool:
    """Return whether this line ends the paragraph above it.

    A line that is indented by more than three columns continues the paragraph, unless it is a fence.
    """
    line = _line(state, number)
    if (line[0] not in MARKUP_STARTS and "|" not in line) or FENCE.match(line):
        return bool(FENCE.match(line))
    rules = state.md.block.ruler.getRules("paragraph")
    return state.sCount[number] - state.blkIndent <= 3 and any(rule(state, number, end, True) for rule in rules)


def _parse_fence(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    opening = FENCE.match(_line(state, first))
    if opening is None or silent:
        return opening is not None
    last, mark = first + 1, opening[1]
    while last < end and not _closes_fence(_line(state, last).rstrip(), mark):
        last += 1
    token = _push(state, "fence", first, min(last + 1, end))
    token.info = opening[2]
    token.content = state.getLines(first + 1, last, state.sCount[first], True)
    token.meta["open"] = last >= end
    return True


def _closes_fence(line: str, mark: str) -> bool:
    return line.startswith(mark) and set(line) == {mark[0]}


def _parse_math(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    line = _line(state, first)
    closing = MATH_ENDS.get(line[:2])
    if closing is None or (closing in line[2:] and not line.rstrip().endswith(closing)):
        return False  # a formula inside a sentence
    if silent:
        return True
    last, size, closed = first + 1, len(line), closing in line[2:]
    while not closed and last < end and state.sCount[last] >= state.blkIndent and not state.isEmpty(last):
        line = _line(state, last)
        size += len(line)
        if FENCE.match(line) or size > DISPLAY_LIMIT:
            break
        last, closed = last + 1, line.rstrip().endswith(closing)
    _push(state, "math", first, last)
    return True


def _parse_table(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    last = first + 2
    if last > end or state.sCount[first + 1] < state.blkIndent:
        return False
    if not is_table_head([_line(state, first), _line(state, first + 1)]):
        return False
    if not silent:
        while last < end and state.sCount[last] >= state.blkIndent and belongs_to_table(_line(state, last)):
            last += 1
        _push(state, "table", first, last)
    return True


@dataclass(frozen=True, slots=True)
class Segment:
    """The lines of a text that become one block.

    `lines` are the block's own lines: without fences and without the indentation of a list. `start` and `end`
    (exclusive) number the lines of the text that they come from; `depth` counts the list items around them.
    """

    kind: Literal["prose", "code", "table", "note"]
    lines: list[str]
    start: int
    end: int
    depth: int = 0
    name: str = ""  # the language of code, the label of a footnote
    open: bool = False  # whether the code, table or list may continue


class SegmentReader:
    """A parser that groups lines into segments by their tokens; prose across line `cut` becomes two segments."""

    def __init__(self, lines: list[str], cut: int, open_items: list[str], parsed: dict[int, list[str]]) -> None:
        self._lines, self._cut, self._open_items, self._parsed = lines, cut, open_items, parsed
        self._segments: list[Segment] = []
        self._items: list[int] = []  # end lines of the list items that are open
        self._prose_start: Token | None = None  # the first token of the open prose, at list depth `_depth`
        self._depth = 0

    def read(self, tokens: Iterable[Token]) -> list[Segment]:
        inside, end = -1, 0  # the level of a quotation or footnote whose inner tokens are skipped
        for token in tokens:
            if inside >= 0 and (token.nesting >= 0 or token.level > inside):
                continue
            if token.map and token.type != "inline":
                if token.level == 0:
                    if not (token.type in LISTS and self._prose_start and self._prose_start.type in LISTS):
                        self._flush(end)
                    end = token.map[1]
                self._open_block(token)
                inside = token.level if token.type in ("blockquote_open", "footnote_reference_open") else -1
            elif token.type == "list_item_close":
                item = self._items.pop()
                if self._depth > len(self._items):
                    self._flush(item)
            elif token.nesting < 0:
                inside = -1
        self._flush(end)
        return self._segments

    def _open_block(self, token: Token) -> None:
        assert token.map
        if token.type in ("fence", "table") or (token.type == "footnote_reference_open" and _label(token)):
            self._flush(token.map[0], box=True)
            self._add_box(token, *token.map)
        elif self._prose_start is None:
            self._prose_start, self._depth = token, len(self._items)
        if token.type == "list_item_open":
            self._items.append(token.map[1])

    def _add_box(self, token: Token, start: int, end: int) -> None:
        depth, lines = len(self._items), self._lines[start:end]
        if token.type == "fence":
            lines = self._parsed.get(start + 1, []) + token.content.split("\n")[:-1]
            name = (token.info.split() or [""])[0]
            self._segments.append(Segment("code", lines, start, end, depth, name, token.meta["open"]))
        elif token.type == "table":
            if depth:
                lines = [*map(str.strip, [_LIST_MARKERS.sub("", lines[0]), *lines[1:]])]
            lines = [*lines[:2], *self._parsed.get(start + 2, []), *lines[2:]]
            self._segments.append(Segment("table", lines, start, end, depth, open=True))
        else:
            self._segments.append(Segment("note", lines, start, end, depth, _label(token)))

    def _flush(self, end: int, box: bool = False) -> None:
        """End the open prose before line `end`; `box` says that a code block, table or footnote begins on that line."""
        prose_start, self._prose_start = self._prose_start, None
        if prose_start is None or not prose_start.map:
            return
        start = prose_start.map[0]
        width = _indent(self._lines[start]) if self._depth or prose_start.type in LISTS else 0
        for first, behind in ((start, min(end, self._cut)), (max(start, self._cut), end)):
            if first < behind:
                lines = [_dedent(line, width) for line in self._lines[first:behind]]
                self._add_prose(lines, first, behind, prose_start.type in LISTS)
        if box and (items := _LIST_MARKERS.match(self._lines[end])):  # the box is the beginning of a list item
            line, last = _dedent(items[0].rstrip(), width), self._segments[-1] if start < end != self._cut else None
            if last is not None:
                # Behind a blank line: directly below text, the marker of an empty item would underline a heading.
                self._segments[-1] = replace(last, lines=[*last.lines, "", line], end=end + 1)
            else:
                self._add_prose([line], end, end + 1)

    def _add_prose(self, lines: list[str], first: int, behind: int, listed: bool = False) -> None:
        open_items = self._open_items if first == 0 else []
        self._segments.append(Segment("prose", [*open_items, *lines], first, behind, self._depth, open=listed))


def _label(note: Token) -> str:
    label = str(note.meta["label"])
    return label if FOOTNOTE_LABEL.fullmatch(label) else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _dedent(line: str, width: int) -> str:
    return line[min(width, _indent(line)) :]


def is_table_head(lines: Sequence[str]) -> bool:
    """Return whether these two lines are a table's header row and the rule below it."""
    if len(lines) != 2 or "|" not in lines[0] or "-" not in lines[1] or not TABLE_RULE.match(lines[1]):
        return False
    return lines[0].lstrip()[:1] != ">" and len(split_cells(lines[0])) == len(split_cells(lines[1]))


def may_be_table_head(lines: Sequence[str]) -> bool:
    """Return whether the last one or two lines written so far may become a table's head."""
    if len(lines) == 2 and lines[0].lstrip().startswith("|"):
        return bool(TABLE_RULE_BEGUN.match(lines[1]))
    return bool(lines) and lines[-1].lstrip().startswith("|")


def belongs_to_table(line: str) -> bool:
    """Return whether `line`, which follows a table's rows, is one more row."""
    return "|" in line and not _NO_ROW.match(line)


def split_cells(row: str) -> list[str]:
    """Split a row into the markdown of its cells.

    A bar behind a backslash separates nothing; neither does a bar inside a code span, unlike on GitHub.
    """
    row = row.strip()
    row = row[1:] if row.startswith("|") else row
    cells, start, at = [], 0, 0
    while end := _CELL_END.search(row, at):
        at = end.end()
        if end[0][0] == "`":
            closing = re.compile(rf"(?<!`){end[0]}(?!`)").search(row, at)
            at = closing.end() if closing else at
        elif end[0] == "|":
            cells.append(row[start : end.start()])
            start = at
    if row[start:].strip():
        cells.append(row[start:])
    return [cell.strip().replace("\\|", "|") for cell in cells]


def words_of_cell(cell: str) -> list[str]:
    """Return the words that a cell shows, without markdown's marks, link addresses and formulas."""
    return _MARKS.sub("", _ADDRESS.sub("", BREAK.sub(" ", cell))).split()
