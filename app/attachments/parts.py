"""Cuts a text into parts of about 300 tokens that overlap a little, at borders of paragraphs where there are some."""

from __future__ import annotations

import re
from collections.abc import Iterator

PART = 300  # tokens, as estimated
UNIT = 90  # no piece that is longer is repeated in the next part
OVERLAP = 60
LETTERS_A_TOKEN = 4
WIDE = re.compile(r"[\u2e80-\U0003ffff]")  # about a token each
PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
LINE = re.compile(r"\n")
SENTENCE = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；])")


def estimated_tokens(text: str) -> float:
    """Good to a third for text in most languages; the engine counts exactly."""
    wide = len(WIDE.findall(text))
    return wide + (len(text) - wide) / LETTERS_A_TOKEN


def parts_of(text: str) -> tuple[tuple[int, int], ...]:
    """(begin, end) of each part; together they cover everything but blanks at the ends."""
    units = [(begin, end, estimated_tokens(text[begin:end])) for begin, end in _units(text, 0, len(text))]
    parts: list[tuple[int, int]] = []
    first, size = 0, 0.0
    for number, (_, end, tokens) in enumerate(units):
        size += tokens
        if size >= PART or number == len(units) - 1:
            parts.append((units[first][0], end))
            first, size = _overlap(units, first, number)
    return tuple(parts)


def _overlap(units: list[tuple[int, int, float]], first: int, last: int) -> tuple[int, float]:
    """The unit at which the next part begins, and the tokens of what it repeats."""
    repeated, begin = 0.0, last + 1
    while begin - 1 > first and repeated + units[begin - 1][2] <= OVERLAP:
        begin -= 1
        repeated += units[begin][2]
    return begin, repeated


def _units(
    text: str, begin: int, end: int, borders: tuple[re.Pattern[str], ...] = (PARAGRAPH, LINE, SENTENCE)
) -> Iterator[tuple[int, int]]:
    """Paragraphs, or where they are long their lines, sentences, or pieces of them; blanks belong to what is before."""
    if estimated_tokens(text[begin:end]) <= UNIT:
        if text[begin:end].strip():
            yield begin, end
        return
    if not borders:
        step = UNIT if WIDE.search(text, begin, end) else UNIT * LETTERS_A_TOKEN
        yield from ((at, min(at + step, end)) for at in range(begin, end, step))
        return
    at = begin
    for border in borders[0].finditer(text, begin, end):
        yield from _units(text, at, border.end(), borders[1:])
        at = border.end()
    yield from _units(text, at, end, borders[1:])
