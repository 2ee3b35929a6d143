"""A web page as text: what a reader would see of it. Scripts, styles and everything embedded are dropped."""

from __future__ import annotations

import re
from html.parser import HTMLParser

DROPPED = frozenset(
    ("script", "style", "template", "noscript", "svg", "math", "iframe", "object", "canvas", "audio", "video", "select")
)
BLOCK_NAMES = """address article aside blockquote body br dd details div dl dt fieldset figcaption figure footer form
h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table title tr ul"""
BLOCKS = frozenset(BLOCK_NAMES.split())
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}


def text_of_page(source: str) -> str:
    """The page's text: headings and list items marked, cells of a table's row between bars."""
    parser = _Page()
    parser.feed(source)
    parser.close()
    text = "".join(parser.pieces)
    text = re.sub(r"[ \t]+\n", "\n", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._dropped: list[str] = []  # the open elements that are not read
        self._verbatim = 0

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        if tag in DROPPED:
            self._dropped.append(tag)
        if self._dropped:
            return
        if tag in BLOCKS:
            self.pieces.append("\n")
        if tag in HEADINGS:
            self.pieces.append("\n" + HEADINGS[tag])
        elif tag == "li":
            self.pieces.append("- ")
        elif tag in ("td", "th"):
            self.pieces.append("| ")
        elif tag == "p":
            self.pieces.append("\n")
        self._verbatim += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in self._dropped:  # whatever was left open in it ends too
            del self._dropped[self._dropped.index(tag) :]
            return
        if self._dropped:
            return
        if tag == "pre":
            self._verbatim = max(0, self._verbatim - 1)
        if tag in BLOCKS:
            self.pieces.append("\n")
        elif tag in ("td", "th"):
            self.pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if self._dropped:
            return
        if self._verbatim:
            self.pieces.append(data)
            return
        text = re.sub(r"\s+", " ", data)
        if text != " " or (self.pieces and not self.pieces[-1].endswith(("\n", " "))):
            at_start = not self.pieces or self.pieces[-1].endswith(("\n", " "))
            self.pieces.append(text.lstrip() if at_start else text)
