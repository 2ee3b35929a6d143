"""Finds words in a text as the reader sees it: without marks of Markdown, without regard to case and accents."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from PySide6.QtGui import QTextDocument, QTextTable

from app.look.theme import theme
from app.markdown.blocks import Block, join_neighbours, plain_pieces, split_in_steps
from app.markdown.code_view import display_rows
from app.markdown.document import MarkdownDocument, render
from app.markdown.guard import name_direction_marks
from app.markdown.math_text import extract_formulas

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


def readable_pieces(text: str, is_plain: bool) -> Iterator[str]:
    """Yield the text of each block as it is shown, in small steps; "" marks a step that completed no block.

    `is_plain` is whether the text is a user's message, which is shown without markdown.
    """
    if is_plain:
        yield from (block.text for block in plain_pieces(text))
        return
    document = MarkdownDocument()
    for block in join_neighbours(split_in_steps(text)):
        if block is None:
            yield ""
        elif block.kind == "code":
            yield "\n".join(display_rows(block.text))
        elif block.kind == "table":
            yield from _table_pieces(document, block)
        else:
            yield _rendered(document, block.markdown)


def _rendered(document: QTextDocument, markdown: str) -> str:
    # Nothing is drawn here, so formulas stay the single characters that stand for them.
    standing_in, _ = extract_formulas(name_direction_marks(markdown))
    render(document, standing_in, theme())
    return document.toPlainText()


def _table_pieces(document: QTextDocument, table: Block) -> Iterator[str]:
    lines = table.text.split("\n")
    head, rows = lines[:2], lines[2:]
    for at in range(0, max(1, len(rows)), ROWS):
        text = _rendered(document, "\n".join([*head, *rows[at : at + ROWS], "", table.links]))
        if at:
            frames = document.rootFrame().childFrames()
            shown = next((frame for frame in frames if isinstance(frame, QTextTable)), None)
            if shown is not None and shown.rows() > 1:
                shown.removeRows(0, 1)  # the head was in the first piece
                text = document.toPlainText()
        yield text
