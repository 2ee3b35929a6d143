"""Finds the LaTeX in a piece of markdown and takes it out before markdown can mangle it. No Qt.

`$x$` is a formula by pandoc's rules: no space inside next to the dollars, no digit behind the closing one; and, as on
GitHub, no letter or digit before the opening one. So "$5 and $10" stays money, and so does "$20 or 30$", which begins
with a number and contains words but nothing mathematical. Nothing inside code is a formula.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

INLINE_LIMIT = 1_000  # characters: longer text is not an inline formula, and searching on takes time
DISPLAY_LIMIT = 4_000
STANDINS = range(0xE100, 0xF700)  # private-use characters, without the engine's two and the icons of common fonts

_SIGN = re.compile(r"\\[\\`]|\\[(\[$]|`+|\$\$?")
_CLOSING_DOLLAR = re.compile(r"(?<![\s\\])\$(?!\d)")
_MONEY = re.compile(r"\d[^\\^_=+<>{}*/-]*\s[A-Za-z]{2}[^\\^_=+<>{}*/-]*")
_MATHEMATICAL = re.compile(r"[\\^_=+<>{}]")
_BLANK_LINE = re.compile(r"\n[ \t>]*\n")
_QUOTE_MARK = re.compile(r"\n[ \t]*(?:>[ \t]?)+")
_LINE_HEAD = re.compile(r"[ \t>]*")
_LINE_TAIL = re.compile(r"[ \t]*(?=\n|$)")


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula: `source` as in the text, with its dollars; `tex` without; `display`: meant for a line of its own."""

    source: str
    tex: str
    display: bool


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int
    formula: Formula


def extract_formulas(markdown: str) -> tuple[str, dict[str, Formula]]:
    """Replace each formula by one private-use character; return the markdown and each character's formula."""
    if "$" not in markdown and "\\(" not in markdown and "\\[" not in markdown:
        return markdown, {}
    free = (chr(code) for code in STANDINS if chr(code) not in markdown)
    pieces: list[str] = []
    formulas: dict[str, Formula] = {}
    at = 0
    for span in _find(markdown):
        standin = next(free, None)
        if standin is None:
            break
        formulas[standin] = span.formula
        pieces.append(markdown[at : span.start])
        pieces.append(_set_apart(markdown, span, standin))
        at = span.end
    return "".join([*pieces, markdown[at:]]), formulas


def restore_sources(text: str, formulas: dict[str, Formula]) -> str:
    """Replace the stand-in characters by the formulas' sources."""
    for standin, formula in formulas.items():
        text = text.replace(standin, formula.source)
    return text


def _find(text: str) -> Iterator[_Span]:
    at = 0
    while sign := _SIGN.search(text, at):
        span = None
        mark = sign[0]
        if mark[0] == "`":
            at = _behind_code(text, sign.end(), mark)
            continue
        if mark == "$$":
            span = _until(text, sign, "$$", True)
        elif mark == "$":
            span = _dollars(text, sign)
        elif mark == "\\[":
            span = _brackets(text, sign)
        elif mark == "\\(":
            span = _until(text, sign, "\\)", False)
        if span:
            yield span
        at = span.end if span else sign.end()


def _behind_code(text: str, at: int, ticks: str) -> int:
    """Return the position behind the code span that `ticks` open, or behind the ticks if nothing closes the span."""
    closing = re.compile(rf"(?<!`){ticks}(?!`)").search(text, at)
    return closing.end() if closing else at


def _until(text: str, sign: re.Match[str], closing: str, display: bool) -> _Span | None:
    limit = DISPLAY_LIMIT if display else INLINE_LIMIT
    end = text.find(closing, sign.end(), sign.end() + limit)
    return _span_of(text, sign.start(), sign.end(), end, end + len(closing), display) if end >= 0 else None


def _dollars(text: str, sign: re.Match[str]) -> _Span | None:
    start, inside = sign.start(), sign.end()
    if text[inside : inside + 1].isspace() or text[max(0, start - 1) : start].isalnum():
        return None
    closing = _CLOSING_DOLLAR.search(text, inside, inside + INLINE_LIMIT)
    if closing is None or _MONEY.fullmatch(text, inside, closing.start()):
        return None
    return _span_of(text, start, inside, closing.start(), closing.end(), False)


def _brackets(text: str, sign: re.Match[str]) -> _Span | None:
    r"""Return the formula between `\[` and `\]`, or None.

    Markdown also escapes a bracket as `\[`, so within a line the text between must look mathematical.
    """
    span = _until(text, sign, "\\]", True)
    if span and not _MATHEMATICAL.search(span.formula.tex) and not _alone(text, span):
        return None
    return span


def _span_of(text: str, start: int, inside: int, end: int, behind: int, display: bool) -> _Span | None:
    tex = text[inside:end]
    if not tex.strip() or _BLANK_LINE.search(tex):
        return None
    return _Span(start, behind, Formula(text[start:behind], _QUOTE_MARK.sub("\n", tex).strip(), display))


def _alone(text: str, span: _Span) -> str | None:
    """Return the text before the formula in its line if nothing else stands on that line, else None."""
    line = text.rfind("\n", 0, span.start) + 1
    head = _LINE_HEAD.match(text, line, span.start)
    if head is None or head.end() != span.start or not _LINE_TAIL.match(text, span.end):
        return None
    return head[0]


def _set_apart(text: str, span: _Span, standin: str) -> str:
    """Return the replacement text; a formula alone on its line becomes a paragraph of its list or quotation."""
    if not span.formula.display or (head := _alone(text, span)) is None:
        return standin
    between = head.rstrip() if ">" in head else ""
    before = f"\n{between}\n{head}" if text[: span.start].strip() else ""
    after = f"\n{between}" if text[span.end :].strip() else ""
    return f"{before}{standin}{after}"
