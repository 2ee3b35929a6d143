"""The marks inside a paragraph, by markdown-it with rules for formulas, raised and lowered text and a few HTML tags.

No Qt. A text with more marks than anybody writes stays plain, because reading it takes quadratic time.
"""

from __future__ import annotations

import re
import threading
from functools import cache
from typing import TYPE_CHECKING

from app.markdown.grammar import block_parser, new_parser
from app.markdown.guard import name_direction_marks
from app.markdown.math_text import formula_at

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

BRACKETS, OPEN_BRACKETS = 300, 60  # of one paragraph, and those without a closing one: 10,000 in a row took 5 s
STARS = 1_500  # delimiters of emphasis in one paragraph: 4,000 take 100 ms
SIGNS = 400  # of formulas in one paragraph: drawing 1,250 formulas took 200 ms
LONGEST = 20_000  # characters of a paragraph that are searched for marks
TAG_REACH = 2_000  # characters between an opening tag and its closing one
TAGS = {
    "b": "strong", "strong": "strong", "i": "em", "em": "em", "u": "u", "ins": "u", "s": "s", "del": "s", "sub": "sub",
    "sup": "sup", "kbd": "kbd", "mark": "mark",
}  # fmt: skip
_TAG = re.compile(rf"<({'|'.join(TAGS)})>", re.IGNORECASE)
_BREAK = re.compile(r"[ \t]*<br[ \t]*/?>[ \t]*\n?", re.IGNORECASE)
_PAIRS = {
    "~": ("sub", re.compile(r"~(?!~)[^\s~/]{1,20}~(?!~)")),
    "^": ("sup", re.compile(r"\^[^\s^]{1,40}\^")),
    "=": ("mark", re.compile(r"==(?=[^\s=])[^\n]{0,500}?(?<=[^\s=])==(?!=)")),
}
Links = tuple[tuple[str, str], ...]  # normalised labels, with the address of each; for a footnote ^LABEL and its number


def parse_inline(text: str, links: Links = ()) -> list[Token]:
    """Parse one paragraph, which may use these links and footnotes; return markdown-it's inline tokens."""
    return _parse(inline_parser(), text, links)


def parse_question(text: str) -> list[Token]:
    """Parse a piece of a user's message, in which only code has marks."""
    return _parse(_question_parser(), text, ())


def _parse(parser: MarkdownIt, text: str, links: Links) -> list[Token]:
    from markdown_it.token import Token

    text = name_direction_marks(text)
    brackets = text.count("[")
    has_many_brackets = brackets > BRACKETS or brackets - text.count("]") > OPEN_BRACKETS
    has_many_signs = text.count("*") > STARS or text.count("$") + text.count("\\(") > SIGNS
    if len(text) > LONGEST or has_many_brackets or has_many_signs:
        return [Token("text", "", 0, content=text)]
    notes = [(label[1:], number) for label, number in links if label[0] == "^"]
    names = {
        "references": {label: {"href": address, "title": ""} for label, address in links if label[0] != "^"},
        "footnotes": {
            "refs": {f":{label}": at for at, (label, _) in enumerate(notes)},
            "list": {at: {"label": number, "count": 0} for at, (_, number) in enumerate(notes)},
        },
    }
    tokens: list[Token] = []
    parser.inline.parse(text, parser, names, tokens)
    return tokens


@cache
def import_in_background() -> None:
    """Start importing markdown-it in a thread, because the import takes 40 ms."""
    threading.Thread(target=lambda: (block_parser(), inline_parser()), name="markdown-it", daemon=True).start()


@cache
def inline_parser() -> MarkdownIt:
    """Return the parser of marks inside a paragraph."""
    from mdit_py_plugins.gfm_autolink import gfm_autolink_plugin

    parser = new_parser().use(gfm_autolink_plugin).enable("strikethrough").disable("html_inline")
    rules = parser.inline.ruler
    rules.before("escape", "formula", _parse_formula)
    rules.before("emphasis", "pair", _parse_pair)
    rules.before("autolink", "tag", _parse_tag)
    return parser


@cache
def _question_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("zero").enable("backticks")


def _parse_formula(state: StateInline, silent: bool) -> bool:
    formula = formula_at(state.src, state.pos) if state.src[state.pos] in "$\\" else None
    if formula is None or state.pos + len(formula.source) > state.posMax:
        return False
    if not silent:
        state.push("formula", "", 0).meta = {"formula": formula}
    state.pos += len(formula.source)
    return True


def _parse_pair(state: StateInline, silent: bool) -> bool:
    """Parse H~2~O, x^2^ and ==marked== text."""
    kind, pattern = _PAIRS.get(state.src[state.pos], ("", None))
    match = pattern.match(state.src, state.pos, state.posMax) if pattern else None
    if match is None:
        return False
    width = 2 if kind == "mark" else 1
    return _add_pair(state, kind, match.start() + width, match.end() - width, match.end(), silent)


def _parse_tag(state: StateInline, silent: bool) -> bool:
    """Parse a line break, or one of TAGS that is closed again; any other HTML stays text."""
    if state.src[state.pos] != "<":
        return False
    if match := _BREAK.match(state.src, state.pos, state.posMax):
        if not silent:
            state.pending = state.pending.rstrip(" \t")
            state.push("hardbreak", "br", 0)
        state.pos = match.end()
        return True
    match = _TAG.match(state.src, state.pos, state.posMax)
    if match is None:
        return False
    closing = f"</{match[1]}>"
    end = state.src.find(closing, match.end(), min(state.posMax, match.end() + TAG_REACH))
    if end < 0:
        return False
    return _add_pair(state, TAGS[match[1].lower()], match.end(), end, end + len(closing), silent)


def _add_pair(state: StateInline, kind: str, first: int, last: int, behind: int, silent: bool) -> bool:
    """Add the tokens of what stands between an opening and a closing mark."""
    if not silent:
        outer = state.posMax
        state.pos, state.posMax = first, last
        state.push(f"{kind}_open", kind, 1)
        state.md.inline.tokenize(state)
        state.push(f"{kind}_close", kind, -1)
        state.posMax = outer
    state.pos = behind
    return True
