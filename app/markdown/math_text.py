"""Finds the LaTeX in a paragraph, before markdown can mangle it. No Qt.

`$x$` is a formula by pandoc's rules: no space inside next to the dollars, no digit behind the closing one; and, as on
GitHub, no letter or digit before the opening one. So "$5 and $10" stays money, and so does "$20 or 30$", which begins
with a number and contains words but nothing mathematical. Nothing inside code is a formula.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

INLINE_LIMIT = 1_000  # characters: longer text is not an inline formula, and searching on takes time
DISPLAY_LIMIT = 4_000

_CLOSING_DOLLAR = re.compile(r"(?<![\s\\])\$(?!\d)")
_MONEY = re.compile(r"\d[^\\^_=+<>{}*/-]*\s[A-Za-z]{2}[^\\^_=+<>{}*/-]*")
_MATHS = re.compile(r"[\\^_=+<>{}]")


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula: `source` as in the text, with its dollars; `tex` without; `display`: meant for a line of its own."""

    source: str
    tex: str
    display: bool


def formula_at(text: str, at: int) -> Formula | None:
    """Return the formula that begins at this position of a paragraph, or None."""
    if text.startswith("$$", at):
        return _formula(text, at, 2, text.find("$$", at + 2, at + DISPLAY_LIMIT), 2)
    if text.startswith("$", at):
        return _dollars(text, at)
    if text.startswith("\\[", at):
        return _brackets(text, at)
    if text.startswith("\\(", at):
        return _formula(text, at, 2, text.find("\\)", at + 2, at + INLINE_LIMIT), 2)
    return None


def _dollars(text: str, at: int) -> Formula | None:
    if text[at + 1 : at + 2].isspace() or text[max(0, at - 1) : at].isalnum():
        return None
    closing = _CLOSING_DOLLAR.search(text, at + 1, at + INLINE_LIMIT)
    if closing is None or _MONEY.fullmatch(text, at + 1, closing.start()):
        return None
    return _formula(text, at, 1, closing.start(), 1)


def _brackets(text: str, at: int) -> Formula | None:
    r"""Return the formula between `\[` and `\]`, or None.

    Markdown also escapes a bracket as `\[`, so within a line the text between must look mathematical.
    """
    formula = _formula(text, at, 2, text.find("\\]", at + 2, at + DISPLAY_LIMIT), 2)
    if formula and not _MATHS.search(formula.tex):
        before, behind = text[:at].rpartition("\n")[2], text[at + len(formula.source) :].partition("\n")[0]
        return None if before.strip() or behind.strip() else formula
    return formula


def _formula(text: str, at: int, opening: int, end: int, closing: int) -> Formula | None:
    """Return the formula from `at` to `end` and its closing mark; `end` is negative if there is none."""
    tex, source = text[at + opening : end], text[at : end + closing]
    return Formula(source, tex.strip(), closing == 2 and source[:2] != "\\(") if end >= 0 and tex.strip() else None
