"""Colours code with Pygments in a process of its own: `python -m app.services.colour_worker`. Knows no Qt.

Some lexers take exponential time for some texts, and a regular expression cannot be interrupted: the window then ends
this process.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from app.services.worker import WorkerResult, serve

LONGEST = 200_000  # characters of code that is coloured
COLUMNS = 200  # coloured columns of a line: Qt paints even invisible spans, which takes 3 µs each per frame
Span = tuple[int, int, str]  # start and length, in the UTF-16 units in which Qt counts, and the name of the colour
_NAMES = ("Name.Function", "Name.Class", "Name.Builtin", "Name.Decorator", "Name.Tag", "Name.Attribute")


class Code(msgspec.Struct, frozen=True):
    """One text to colour, in a language that may be unknown."""

    language: str
    text: str


class Colours(WorkerResult, frozen=True):
    """The coloured spans of each line of a text; none if the work failed."""

    lines: list[list[Span]] = msgspec.field(default_factory=list)


def colour(code: Code) -> Colours:
    """Return the coloured spans of each line; no lines if the language is unknown."""
    lexer = _lexer(code.language)
    if lexer is None:
        return Colours()
    lines: list[list[Span]] = [[]]
    column = 0
    for _, kind, value in lexer.get_tokens_unprocessed(code.text):
        name = _colour_name(kind)
        for number, part in enumerate(value.split("\n")):
            if number:
                lines.append([])
                column = 0
            length = len(part) if part.isascii() else len(part.encode("utf-16-le", "replace")) // 2
            if name and length and column < COLUMNS:
                lines[-1].append((column, length, name))
            column += length
    return Colours(lines)


@cache
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None


@cache
def _colour_name(token: object) -> str:
    kind = str(token).removeprefix("Token.")
    if kind.startswith("Comment"):
        return "comment"
    if kind.startswith("Keyword") or kind == "Operator.Word":
        return "keyword"
    if kind.startswith("Literal.String"):
        return "string"
    if kind.startswith("Literal.Number"):
        return "number"
    return "name_" if kind.startswith(_NAMES) else ""


def main() -> None:
    serve(Code, colour, Colours(), lambda: colour(Code("python", "x = 1")))


if __name__ == "__main__":
    main()
