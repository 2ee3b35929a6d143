"""Text of a web page as its reader would see it: without scripts, hidden parts and, where asked, menus around it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Literal

# All of a page, what is visible of it, that without menus and footers, or its main part alone.
Region = Literal["whole", "visible", "body", "main"]

DROPPED = frozenset(
    ("script", "style", "template", "noscript", "svg", "math", "iframe", "object", "canvas", "audio", "video", "select")
)
BLOCK_NAMES = """address article aside blockquote body br dd details div dl dt fieldset figcaption figure footer form
h1 h2 h3 h4 h5 h6 header hr li main nav ol p pre section summary table title tr ul"""
BLOCKS = frozenset(BLOCK_NAMES.split())
HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
VOID_NAMES = "area base br col embed hr img input link meta source track wbr"  # elements without an end
VOID = frozenset(VOID_NAMES.split(" "))
MAIN = frozenset(("main", "article"))
AROUND = frozenset(("nav", "footer", "aside", "header"))  # what stands around the text; a header in the text is its own
MAIN_ROLES = frozenset(("main", "article"))
AROUND_ROLES = frozenset(("navigation", "banner", "contentinfo", "complementary", "search", "dialog"))
INVISIBLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
ENOUGH = 200  # characters of a page's main part; fewer are a teaser or a mistake of its makers
SHARE = 0.2  # of the whole text
CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
CHARSET_WITHIN = 4096  # bytes
# Browsers read these names as the larger encoding (https://encoding.spec.whatwg.org/#names-and-labels).
LARGER = {
    "gb2312": "gb18030", "gbk": "gb18030", "iso-8859-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252",
    "ascii": "cp1252", "iso-8859-9": "cp1254", "shift_jis": "cp932", "shift-jis": "cp932", "x-sjis": "cp932",
    "euc-kr": "cp949", "ks_c_5601-1987": "cp949", "big5": "big5hkscs",
}  # fmt: skip
# Only these: Python has codecs of other kinds too, some of which need long for a little text.
KNOWN = re.compile(r"utf-?8|(?:windows-|cp)(?:125\d|874|932|949)|iso-8859-\d\d?|koi8-[ru]|gb18030|big5hkscs|euc-jp")


def text_of_page(source: str) -> str:
    """Return the page's text; headings and list items are marked, and the cells of a table row stand between bars."""
    return _read(source, "whole").text


def main_text_of_page(source: str) -> tuple[str, str]:
    """Return a page's title and its main text: without menus and footers, if its makers have marked them."""
    visible = _read(source, "visible")
    for region in ("main", "body"):
        main = _read(source, region)
        if len(main.text) >= max(ENOUGH, SHARE * len(visible.text)):
            return visible.title, main.text
    return visible.title, visible.text


def declared_encoding(raw: bytes, named: str = "") -> str:
    """Return the codec that the server (`named`), else the page itself declares; "" if there is none that we know."""
    match = CHARSET.search(raw[:CHARSET_WITHIN])
    for name in (named, match[1].decode("ascii", "replace") if match else ""):
        name = name.strip().casefold()
        name = LARGER.get(name, name)
        if KNOWN.fullmatch(name):
            return name
    return ""


def _read(source: str, region: Region) -> _Page:
    page = _Page(region)
    page.feed(source)
    page.close()
    return page


@dataclass
class _Open:
    """An open element that decides what of its content is read; `nested` counts elements of its name inside it."""

    tag: str
    what: Literal["main", "around", "hidden"]
    nested: int = 0


class _Page(HTMLParser):
    """Reader of one region of a page; the title is part of the whole page alone."""

    def __init__(self, region: Region) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._title: list[str] = []
        self._region = region
        self._dropped: list[str] = []  # open elements whose content is skipped
        self._open: list[_Open] = []
        self._in_title = False
        self._verbatim = 0

    @property
    def text(self) -> str:
        text = re.sub(r"[ \t]+\n", "\n", "".join(self.pieces))
        return re.sub(r"\n{3,}", "\n\n", text).strip()

    @property
    def title(self) -> str:
        return " ".join("".join(self._title).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in DROPPED:
            self._dropped.append(tag)
        if self._dropped:
            return
        self._enter(tag, dict(attrs))
        self._in_title = tag == "title" and not self._title
        if not self._is_wanted():
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
        if tag in self._dropped:  # elements left open inside end too
            del self._dropped[self._dropped.index(tag) :]
            return
        if self._dropped:
            return
        self._in_title = False
        if self._is_wanted():
            if tag == "pre":
                self._verbatim = max(0, self._verbatim - 1)
            if tag in BLOCKS:
                self.pieces.append("\n")
            elif tag in ("td", "th"):
                self.pieces.append(" ")
        self._leave(tag)

    def handle_data(self, data: str) -> None:
        if self._dropped:
            return
        if self._in_title:
            self._title.append(data)
        if not self._is_wanted():
            return
        if self._verbatim:
            self.pieces.append(data)
            return
        text = re.sub(r"\s+", " ", data)
        if text != " " or (self.pieces and not self.pieces[-1].endswith(("\n", " "))):
            at_start = not self.pieces or self.pieces[-1].endswith(("\n", " "))
            self.pieces.append(text.lstrip() if at_start else text)

    # --- where the reader is ------------------------------------------------------------------------------------------

    def _enter(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag in VOID:
            return
        what = self._kind_of(tag, attributes)
        if what is not None:
            self._open.append(_Open(tag, what))
        elif self._open and self._open[-1].tag == tag:
            self._open[-1].nested += 1

    def _kind_of(self, tag: str, attributes: dict[str, str | None]) -> Literal["main", "around", "hidden"] | None:
        role = (attributes.get("role") or "").casefold()
        if "hidden" in attributes or attributes.get("aria-hidden") == "true":
            return "hidden"
        if INVISIBLE.search(attributes.get("style") or ""):
            return "hidden"
        if tag in MAIN or role in MAIN_ROLES:
            return "main"
        own = tag == "header" and any(each.what == "main" for each in self._open)
        return "around" if (tag in AROUND and not own) or role in AROUND_ROLES else None

    def _leave(self, tag: str) -> None:
        """Close the innermost open element of this name, with all elements in it that were left open."""
        at = next((at for at in range(len(self._open) - 1, -1, -1) if self._open[at].tag == tag), None)
        if at is None:
            return
        if self._open[at].nested:
            self._open[at].nested -= 1
        else:
            del self._open[at:]

    def _is_wanted(self) -> bool:
        kinds = {each.what for each in self._open}
        if self._region == "whole":
            return True
        if "hidden" in kinds or self._in_title:
            return False
        if self._region == "visible":
            return True
        return "around" not in kinds and (self._region == "body" or "main" in kinds)
