"""The grammar of answers: markdown-it's rules for blocks, with our own where models' answers differ. No Qt.

An opening or closing fence may have any indentation, because code inside lists is often not indented. A formula on
lines of its own stays whole whatever its lines contain. A table ends with its last row that contains a bar. What is
nested deeper than DEEP stays text. Marks inside a line: `inline.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from app.markdown.math_text import DISPLAY_LIMIT

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock
    from markdown_it.token import Token

FENCE = re.compile(r"(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\n]*)$")
MATH_ENDS = {"$$": "$$", "\\[": "\\]"}
MARKUP_STARTS = frozenset("`~$\\>*-+_[#<:0123456789")  # first characters of all lines with block markup, except tables
LIST_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+[^\W_]")
UNDERLINE = re.compile(r"(=+|-+)[ \t]*")
LISTS = ("bullet_list_open", "ordered_list_open")
DEEP = 24  # levels of nesting: a list item has two, a quotation one
TABLE_RULE = re.compile(r"^[ \t]{0,3}\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
TABLE_RULE_BEGUN = re.compile(r"^[ \t]{0,3}\|?[ \t:|-]*$")
_NO_ROW = re.compile(r"^[ \t]{0,3}(#|>|```|~~~)")
_CELL_END = re.compile(r"\\.|`+|\|")
_DEFINITIONS = re.compile(r"^[ \t>]*[:~][ \t]", re.MULTILINE)
_DETAILS = re.compile(
    r"</details>|(?=.)(?:<details(?:\s[^<>]*)?>)?\s*(?:<summary(?:\s[^<>]*)?>(.*)</summary>)?", re.IGNORECASE
)
_REFERENCE = re.compile(r"\[(?:[^\[\]\\]|\\.)+\]:\s*(\S+)")
_ADDRESS = re.compile(r"[/:#@<]|\w\.\w")
References = dict[str, tuple[str, int, int]]  # label: address, first line of the definition, the line behind its last


def parse(lines: Iterable[str]) -> tuple[list[Token], References]:
    """Parse the blocks of a text; return markdown-it's tokens and the link references that the text defines."""
    tokens: list[Token] = []
    text = "\n".join([*lines, ""])
    names: dict[str, Any] = {"terms": bool(_DEFINITIONS.search(text))}
    parser = block_parser()
    parser.block.parse(text, parser, names, tokens)
    return tokens, {label: (each["href"], *each["map"]) for label, each in names.get("references", {}).items()}


@lru_cache(20_000)
def normalize_label(label: str) -> str:
    """Normalise a link label for comparison: case and the number of spaces do not matter."""
    from markdown_it.common.utils import normalizeReference

    return normalizeReference(label)


def new_parser() -> MarkdownIt:
    """Return a parser that keeps addresses as written: `guard` decides what may be opened when a link is clicked."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.footnote import footnote_plugin

    class Parser(MarkdownIt):
        """The parser of CommonMark with footnotes, without HTML."""

        def normalizeLink(self, url: str) -> str:
            return url

        def validateLink(self, _url: str) -> bool:
            return True

    parser = Parser("commonmark", {"html": False, "maxNesting": 2 * DEEP})
    return parser.use(footnote_plugin, inline=False, move_to_end=False)


@cache
def block_parser() -> MarkdownIt:
    """Return the parser of blocks."""
    from mdit_py_plugins.deflist import deflist_plugin

    parser = new_parser().use(deflist_plugin).disable(["code", "html_block", "lheading"])
    ends = ["paragraph", "reference"]
    rules = parser.block.ruler
    rules.at("fence", _parse_fence, {"alt": [*ends, "blockquote", "list"]})
    rules.at("paragraph", _parse_paragraph)
    rules.at("reference", _parse_reference)
    rules.before("fence", "too_deep", _parse_too_deep)
    rules.before("fence", "plain", _parse_common_line)
    rules.before("fence", "math", _parse_math, {"alt": ends})
    rules.before("fence", "lines_of_table", _parse_table, {"alt": ends})
    rules.before("fence", "details", _parse_details, {"alt": [*ends, "blockquote", "list"]})
    return parser


def _line(state: StateBlock, number: int) -> str:
    """Return a line without its indentation."""
    return state.src[state.bMarks[number] + state.tShift[number] : state.eMarks[number]]


def _push(state: StateBlock, kind: str, first: int, behind: int) -> Token:
    """Add a token that holds lines of text."""
    token = state.push(kind, "", 0)
    token.map = [first, behind]
    token.content = state.getLines(first, behind, state.blkIndent, False)
    state.line = behind
    return token


def _parse_common_line(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Parse plain text and list items, the most frequent lines, before all other rules: trying every rule is slow."""
    line = _line(state, first)
    if silent or "|" in line or state.env["terms"]:
        return False
    if line[0] not in MARKUP_STARTS:
        return _parse_paragraph(state, first, end, silent)
    return bool(LIST_ITEM.match(line)) and _list_rule()(state, first, end, silent)


def _parse_reference(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Parse the definition of a link, which is not shown; in “[Alice]: Hello” nothing looks like an address."""
    from markdown_it.rules_block import reference

    match = _REFERENCE.match(state.src, state.bMarks[first] + state.tShift[first])
    return bool(match and _ADDRESS.search(match[1])) and reference(state, first, end, silent)


@cache
def _list_rule() -> Callable[[StateBlock, int, int, bool], bool]:
    from markdown_it.rules_block import list_block

    return list_block


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
    token = _push(state, kind, first, last)
    if kind == "heading":
        token.content, _, underline = token.content.rstrip().rpartition("\n")
        token.tag = "h1" if "=" in underline else "h2"
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


def _parse_too_deep(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    """Keep as text what is nested deeper than anybody reads: markdown-it would drop it."""
    if silent or state.level < DEEP:
        return False
    _push(state, "paragraph", first, end)
    return True


def _parse_details(state: StateBlock, first: int, _end: int, silent: bool) -> bool:
    """Parse a line of the tags that fold a text: its summary is shown above the text, which is not folded."""
    line = _line(state, first).strip()
    match = _DETAILS.fullmatch(line) if line.startswith("<") else None
    if match and not silent:
        _push(state, "summary", first, first + 1).content = (match[1] or "").strip()
    return bool(match)


def _parse_fence(state: StateBlock, first: int, end: int, silent: bool) -> bool:
    opening = FENCE.match(_line(state, first))
    if opening is None or silent:
        return opening is not None
    last, mark = first + 1, opening[1]
    while last < end and not closes_fence(_line(state, last).rstrip(), mark):
        last += 1
    token = _push(state, "fence", first, min(last + 1, end))
    token.info = opening[2]
    token.content = state.getLines(first + 1, last, state.sCount[first], True)
    token.meta = {"open": last >= end}
    return True


def closes_fence(line: str, mark: str) -> bool:
    """Return whether the line, without blanks around it, closes code that `mark` has opened."""
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


@lru_cache(5_000)
def split_cells(row: str) -> tuple[str, ...]:
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
    return tuple(cell.strip().replace("\\|", "|") for cell in cells)
