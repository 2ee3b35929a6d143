"""Finds words in a text as the reader sees it: without marks of Markdown, without regard to case and accents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import replace

from app.look.theme import theme
from app.markdown.blocks import question_blocks, split_in_steps
from app.markdown.code_view import display_rows
from app.markdown.document import MarkdownDocument, render
from app.markdown.joined import join_neighbours

ROWS = 10  # of a table that are read in one step
_BEYOND = re.compile("[\U00010000-\U0010ffff]")


class _Letters(dict[int, int]):
    """Table for `str.translate`: each character's code → that of its small letter without accents."""

    def __missing__(self, code: int) -> int:
        letter = chr(code)
        plain = "".join(part for part in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(part))
        small = plain.lower() if len(plain) == 1 else letter.lower()
        self[code] = ord(small) if len(small) == 1 else code
        return self[code]


_LETTERS = _Letters()


def comparable(text: str) -> str:
    """Return the text in small letters without accents; one character for each UTF-16 unit, in which Qt counts."""
    if not text.isascii():
        text = _BEYOND.sub(_as_pair, text)
    return text.translate(_LETTERS)


def _as_pair(match: re.Match[str]) -> str:
    high, low = divmod(ord(match[0]) - 0x10000, 0x400)
    return chr(0xD800 + high) + chr(0xDC00 + low)


def places(text: str, words: str) -> list[int]:
    """Return the positions of `words` in `text`, both made by `comparable`; places do not overlap."""
    positions, at = [], text.find(words) if words else -1
    while at >= 0:
        positions.append(at)
        at = text.find(words, at + len(words))
    return positions


def readable_pieces(text: str, is_question: bool) -> Iterator[str]:
    """Yield the text of each block as it is shown, in small steps; "" marks a step that completed no block."""
    document = MarkdownDocument()
    blocks = question_blocks(text) if is_question else join_neighbours(split_in_steps(text))
    for block in blocks:
        if block is None:
            yield ""
        elif block.kind == "code":
            yield "\n".join(display_rows(block.text))
        else:
            for at in range(0, len(block.rows) or 1, ROWS):
                render(document, replace(block, rows=block.rows[at : at + ROWS]), theme(), draws=False)
                yield document.toPlainText()
