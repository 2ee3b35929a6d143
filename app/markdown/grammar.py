"""Which lines of a markdown text belong together: markdown-it's block grammar with rules of our own. Knows no Qt.

Our rules differ where models' answers do. A fence and what closes it may be indented in any way: within a list, code is
often not. A formula on lines of its own is whole whatever its lines look like. A table ends with its last row that has
a bar. Inline marks are left to Qt.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from app.markdown.math_text import DISPLAY_LIMIT

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([^`\n]*)$")
MATH_ENDS = {"$$": "$$", "\\[": "\\]"}
NOTE = re.compile(r"\d{1,3}|[^\W\d_]{3}[\w-]{0,40}")  # what a footnote may be called
SIGNS = frozenset("`~$\\>*-+_[#0123456789")  # what lines that are not text begin with, but for tables
LINE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}$")
ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+[^\W_]")
UNDERLINE = re.compile(r"(=+|-+)[ \t]*")
LISTS = ("bullet_list_open", "ordered_list_open")
NESTED = 100  # lists and quotations in each other; markdown-it's own limit is 20, and there it gives up on the text
RULE = re.compile(r"^[ \t]{0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
RULE_BEGUN = re.compile(r"^[ \t]{0,3}\|?[ \t:|-]*$")
_ITEMS = re.compile(r"(?:[ \t]*(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$))+[ \t]*")
_NO_ROW = re.compile(r"^[ \t]{0,3}(#|>|```|~~~)")
_ADDRESS = re.compile(r"(?<=\])\([^)]*\)|\$[^$]*\$")
_MARKS = re.compile(r"[*_`~\[\]\\]")
_CELL_END = re.compile(r"\\.|`+|\|")
References = dict[str, tuple[str, int, int]]  # of a label: the address, the definition's first line, the one behind it


def parse(lines: Iterable[str]) -> tuple[list[Token], References]:
    """The blocks of a text, as markdown-it's tokens, and the addresses that it gives names to."""
    tokens: list[Token] = []
    names: dict[str, Any] = {}
    parser = _parser()
    parser.block.parse("\n".join([*lines, ""]), parser, names, tokens)
    return tokens, {label: (each["href"], *each["map"]) for label, each in names.get("references", {}).items()}


def normal_label(label: str) -> str:
    """As the names of addresses are compared: neither case nor the number of spaces matters."""
    from markdown_it.common.utils import normalizeReference

    return normalizeReference(label)


@cache
def prepare() -> None:
    """Begin to import the library, in a thread: it takes 40 ms."""
    threading.Thread(target=_parser, name="markdown-it", daemon=True).start()


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.footnote import footnote_plugin

    class Parser(MarkdownIt):
        """Takes addresses as they are written: what may be opened is decided when a link is clicked."""

        def normalizeLink(self, url: str) -> str:
            return url

        def validateLink(self, _url: str) -> bool:
            return True

    parser = Parser("commonmark", {"html": False, "maxNesting": NESTED})
    parser.use(footnote_plugin, inline=False, move_to_end=False).disable(["code", "html_block", "lheading"])
    ends = ["paragraph", "reference"]
    rules = parser.block.ruler
    rules.at("fence", _fence, {"alt": [*ends, "blockquote", "list"]})
    rules.at("hr", _rule, {"alt": [*ends, "blockquote", "list"]})
    rules.at("paragraph", _text)
    rules.before("fence", "plain", _plain)
    rules.before("fence", "math", _math, {"alt": ends})
    rules.before("fence", "lines_of_table", _table, {"alt": ends})
    return parser


def _line(state: StateBlock, number: int) -> str:
    """A line without its indentation."""
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _push(state: StateBlock, kind: str, first: int, behind: int) -> Token:
    token = state.push(kind, "", 0)
    token.map = [first, behind]
    state.line = behind
    return token


def _plain(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Most lines are plain text or a list's item; to ask each rule what they are takes longer than all the rest."""
    line = _line(state, first)
    if silent or "|" in line:
        return False
    if line[0] not in SIGNS:
        return _text(state, first, end, silent)
    return bool(ITEM.match(line)) and _list()(state, first, end, silent)


@cache
def _list() -> Callable[[StateBlock, int, int, bool], bool]:
    from markdown_it.rules_block import list_block

    return list_block


def _rule(state: StateBlock, first: int, _end: int, silent: bool) -> bool:
    found = LINE.match(_line(state, first))
    if found and not silent:
        _push(state, "hr", first, first + 1)
    return bool(found)


def _text(state: StateBlock, first: int, end: int, _silent: bool) -> bool:
    """A paragraph, or a heading that is underlined."""
    kind, last, end = "paragraph", first + 1, state.lineMax
    around, state.parentType = state.parentType, "paragraph"
    while kind == "paragraph" and last < end and not state.isEmpty(last):
        line, indent = _line(state, last), state.sCount[last]
        if 0 <= indent - state.blkIndent <= 3 and UNDERLINE.fullmatch(line):
            kind = "heading"
        elif indent >= 0 and _begins_another(state, last, end):
            break
        last += 1
    state.parentType = around
    _push(state, kind, first, last)
    return True


def _begins_another(state: StateBlock, number: int, end: int) -> bool:
    """Does this line end the text above it? One that is indented further goes on with it, were it not for code."""
    line = _line(state, number)
    if (line[0] not in SIGNS and "|" not in line) or FENCE.match(line):
        return bool(FENCE.match(line))
    rules = state.md.block.ruler.getRules("paragraph")
    return state.sCount[number] - state.blkIndent <= 3 and any(rule(state, number, end, True) for rule in rules)


def _fence(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    opening = FENCE.match(_line(state, first))
    if opening is None or silent:
        return opening is not None
    last, mark = first + 1, opening[1]
    while last < end and not _closes(_line(state, last).rstrip(), mark):
        last += 1
    token = _push(state, "fence", first, min(last + 1, end))
    token.info = opening[2]
    token.content = state.getLines(first + 1, last, state.sCount[first], True)
    token.meta["open"] = last >= end
    return True


def _closes(line: str, mark: str) -> bool:
    return line.startswith(mark) and set(line) == {mark[0]}


def _math(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    line = _line(state, first)
    closing = MATH_ENDS.get(line[:2])
    if closing is None or (closing in line[2:] and not line.rstrip().endswith(closing)):
        return False  # in a sentence
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


def _table(state: StateBlock, first: int, end: int, silent: bool) -> bool:
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
class Part:
    """What of a text's lines becomes one block: `lines` as the block has them, `start` and `end` where they stood."""

    kind: Literal["prose", "code", "table", "note"]
    lines: list[str]
    start: int
    end: int
    depth: int = 0
    name: str = ""  # code's language, a note's label
    open: bool = False  # code, a table or a list may go on


class Reader:
    """Finds the parts of some lines; prose that runs over the line `cut` becomes two."""

    def __init__(self, lines: list[str], cut: int, before: list[str], known: dict[int, list[str]]) -> None:
        self._lines, self._cut, self._before, self._known = lines, cut, before, known
        self._found: list[Part] = []
        self._items: list[int] = []  # where each of the list items that are open ends
        self._begun: Token | None = None  # what the prose begins with, and how far in
        self._depth = 0

    def read(self, tokens: Iterable[Token]) -> list[Part]:
        inside, end = -1, 0  # of what at which level: a quotation is one piece
        for token in tokens:
            if inside >= 0 and (token.nesting >= 0 or token.level > inside):
                continue
            if token.map and token.type != "inline":
                if token.level == 0:
                    if not (token.type in LISTS and self._begun and self._begun.type in LISTS):
                        self._flush(end)
                    end = token.map[1]
                self._open(token)
                inside = token.level if token.type in ("blockquote_open", "footnote_reference_open") else -1
            elif token.type == "list_item_close":
                item = self._items.pop()
                if self._depth > len(self._items):
                    self._flush(item)
            elif token.nesting < 0:
                inside = -1
        self._flush(end)
        return self._found

    def _open(self, token: Token) -> None:
        assert token.map
        if token.type in ("fence", "table") or (token.type == "footnote_reference_open" and _label(token)):
            self._flush(token.map[0], box=True)
            self._box(token, *token.map)
        elif self._begun is None:
            self._begun, self._depth = token, len(self._items)
        if token.type == "list_item_open":
            self._items.append(token.map[1])

    def _box(self, token: Token, start: int, end: int) -> None:
        depth, lines = len(self._items), self._lines[start:end]
        if token.type == "fence":
            lines = self._known.get(start + 1, []) + token.content.split("\n")[:-1]
            name = (token.info.split() or [""])[0]
            self._found.append(Part("code", lines, start, end, depth, name, token.meta["open"]))
        elif token.type == "table":
            if depth:
                lines = [*map(str.strip, [_ITEMS.sub("", lines[0]), *lines[1:]])]
            lines = [*lines[:2], *self._known.get(start + 2, []), *lines[2:]]
            self._found.append(Part("table", lines, start, end, depth, open=True))
        else:
            self._found.append(Part("note", lines, start, end, depth, _label(token)))

    def _flush(self, end: int, box: bool = False) -> None:
        """The prose that has begun ends here, before a `box` perhaps."""
        begun, self._begun = self._begun, None
        if begun is None or not begun.map:
            return
        start = begun.map[0]
        width = _indent(self._lines[start]) if self._depth or begun.type in LISTS else 0
        for first, behind in ((start, min(end, self._cut)), (max(start, self._cut), end)):
            if first < behind:
                lines = [_dedent(line, width) for line in self._lines[first:behind]]
                self._prose(lines, first, behind, begun.type in LISTS)
        if box and (items := _ITEMS.match(self._lines[end])):  # what is in the box is an item's beginning
            line, last = _dedent(items[0].rstrip(), width), self._found[-1] if start < end != self._cut else None
            if last is not None:
                # Behind a blank line: below a text, the sign of an empty item would underline a heading.
                self._found[-1] = replace(last, lines=[*last.lines, "", line], end=end + 1)
            else:
                self._prose([line], end, end + 1)

    def _prose(self, lines: list[str], first: int, behind: int, listed: bool = False) -> None:
        before = self._before if first == 0 else []
        self._found.append(Part("prose", [*before, *lines], first, behind, self._depth, open=listed))


def _label(note: Token) -> str:
    label = str(note.meta["label"])
    return label if NOTE.fullmatch(label) else ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _dedent(line: str, width: int) -> str:
    return line[min(width, _indent(line)) :]


def is_table_head(lines: Sequence[str]) -> bool:
    """Are these two lines a row of names and the rule below it?"""
    if len(lines) != 2 or "|" not in lines[0] or "-" not in lines[1] or not RULE.match(lines[1]):
        return False
    return lines[0].lstrip()[:1] != ">" and len(cells(lines[0])) == len(cells(lines[1]))


def may_be_table_head(lines: Sequence[str]) -> bool:
    """May these last one or two lines of what is written so far become a table's head?"""
    if len(lines) == 2 and lines[0].lstrip().startswith("|"):
        return bool(RULE_BEGUN.match(lines[1]))
    return bool(lines) and lines[-1].lstrip().startswith("|")


def belongs_to_table(line: str) -> bool:
    """Is `line`, below a table's rows, another one?"""
    return "|" in line and not _NO_ROW.match(line)


def cells(row: str) -> list[str]:
    """The markdown of each cell. A bar behind a backslash, and for us one inside code, separates nothing."""
    row = row.strip()
    row = row[1:] if row.startswith("|") else row
    found, start, at = [], 0, 0
    while end := _CELL_END.search(row, at):
        at = end.end()
        if end[0][0] == "`":
            closing = re.compile(rf"(?<!`){end[0]}(?!`)").search(row, at)
            at = closing.end() if closing else at
        elif end[0] == "|":
            found.append(row[start : end.start()])
            start = at
    if row[start:].strip():
        found.append(row[start:])
    return [cell.strip().replace("\\|", "|") for cell in found]


def words_of(cell: str) -> list[str]:
    """Of what a cell shows: neither marks nor a link's address."""
    return _MARKS.sub("", _ADDRESS.sub("", cell)).split()
