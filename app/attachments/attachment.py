"""A file's text that goes along with a message, as a plain value: its name, its parts, which of them are sent."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "code", "table", "web", "pdf", "word", "pasted"]
MOST_NAME = 120  # characters


@dataclass(frozen=True, slots=True)
class Attachment:
    """`size`: the file's bytes. `parts`: (begin, end) in `text`, which overlap. `pages`: where each page begins in it.

    `sent`: indices of the parts that the model reads, in order; None: the whole text."""

    name: str
    kind: Kind
    size: int
    text: str
    parts: tuple[tuple[int, int], ...] = ()
    pages: tuple[int, ...] = ()
    sent: tuple[int, ...] | None = None

    def part(self, index: int) -> str:
        begin, end = self.parts[index]
        return self.text[begin:end]

    def pages_of(self, index: int) -> tuple[int, int] | None:
        """First and last page of a part, counted from 1; None where the file has no pages."""
        if not self.pages:
            return None
        begin, end = self.parts[index]
        return max(1, bisect_right(self.pages, begin)), max(1, bisect_right(self.pages, max(begin, end - 1)))


def clean_name(name: str) -> str:
    """A file's name as one short line: no control or direction characters, no lone surrogates."""
    name = name.encode("utf-8", "replace").decode()
    kept = "".join(c for c in name if unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp")).strip()
    if len(kept) > MOST_NAME:  # its end tells what it is
        kept = f"{kept[: MOST_NAME - 20]}…{kept[-19:]}"
    return kept or "file"
