"""Cuts a file's text into passages of about 250 tokens at headings, pages, paragraphs and sentences."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.attachments.attachment import WIDE
from app.attachments.kinds import AttachmentKind

TARGET = 1_000  # characters; 250 tokens of a language with spaces
LEAST, MOST = 200, 1_400  # a heading ends a passage of LEAST characters; nothing makes one longer than MOST
WIDE_LETTERS = 4  # letters of Chinese, Japanese and Korean are about a token each, so passages have fewer of them
SAMPLE = 4_000  # characters that show whether a text is in such a language
HEADING = re.compile(r"^#{1,6} +(\S.*?) *#*$", re.MULTILINE)
LONGEST_HEADING = 120  # characters
BREAKS = ("\n\n", "\n", ". ", "。", "! ", "? ", " ")  # the best first
WITHOUT_HEADINGS: frozenset[AttachmentKind] = frozenset(("code", "table"))  # there, # begins a comment


@dataclass(frozen=True, slots=True)
class Passage:
    """Passage `begin` to `end` (characters) of a file's text; `page` counts from 1, None without pages."""

    begin: int
    end: int
    heading: str = ""
    page: int | None = None


def passages_of(text: str, kind: AttachmentKind = "text", pages: Sequence[int] = ()) -> list[Passage]:
    """Return the passages, in order; together they cover everything but blanks.

    `pages` are the positions at which pages begin.
    """
    headings = [] if kind in WITHOUT_HEADINGS else [(match.start(), match[1]) for match in HEADING.finditer(text)]
    starts = [begin for begin, _ in headings]
    borders = sorted({*starts, *pages})
    passages = []
    for begin, end in _pieces(text, borders):
        at = bisect_right(starts, begin) - 1
        heading = headings[at][1][:LONGEST_HEADING] if at >= 0 else ""
        passages.append(Passage(begin, end, heading, bisect_right(pages, begin) or 1 if pages else None))
    return passages


def _pieces(text: str, borders: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (begin, end) of pieces without blanks around them; `borders` are good places to end one."""
    shrink = WIDE_LETTERS if _is_wide(text) else 1
    least, target, most = LEAST // shrink, TARGET // shrink, MOST // shrink
    begin = 0
    while begin < len(text):
        if text[begin].isspace():
            begin += 1
            continue
        end = _end(text, begin, borders, (least, target, most))
        yield begin, begin + len(text[begin:end].rstrip())
        begin = end


def _end(text: str, begin: int, borders: Sequence[int], sizes: tuple[int, int, int]) -> int:
    """Return where the passage that begins at `begin` ends."""
    least, target, most = sizes
    at = bisect_left(borders, begin + least)
    if at < len(borders) and borders[at] <= begin + most:
        return borders[at]
    if len(text) <= begin + most:
        return len(text)
    for mark in BREAKS:
        position = text.rfind(mark, begin + target // 2, begin + target + len(mark))
        if position >= 0:
            return position + len(mark)
    return begin + target


def _is_wide(text: str) -> bool:
    sample = text[:SAMPLE]
    return len(WIDE.findall(sample)) * 3 > len(sample)
