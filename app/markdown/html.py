"""Markdown as HTML, for files that are read elsewhere and for the guide, by the grammar of the window.

The text is hostile: nothing in it is HTML, nothing is loaded, and only web pages are linked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

from app.markdown.blocks import BOXES, TASK, Block, Paragraph, clean, question_blocks, table_of
from app.markdown.grammar import normalize_label, parse
from app.markdown.guard import name_direction_marks
from app.markdown.inline import parse_inline, parse_question
from common.tool_marks import without_tool_marks

if TYPE_CHECKING:
    from markdown_it.token import Token

_LINKED = re.compile(r"https?://|mailto:|#", re.IGNORECASE)
BREAK = "<br>\n"


def render_html(text: str, pictures: Mapping[str, str] | None = None, is_question: bool = False) -> str:
    """Return the text as HTML; in a question only code has marks.

    `pictures` has the address that is loaded in place of an image's; other images become links.
    """
    text = name_direction_marks(without_tool_marks(text))
    if is_question:
        return "".join(map(_question, question_blocks(text)))
    tokens, references = parse(map(clean, text.split("\n")))
    notes = dict.fromkeys(token.meta["label"] for token in tokens if token.type == "footnote_reference_open")
    definitions = {label: address for label, (address, *_) in references.items()}
    definitions |= {normalize_label(f"^{label}"): str(number) for number, label in enumerate(notes, 1)}
    writer = _Writer(text, definitions, pictures or {})
    return "".join(writer.block(token, before) for before, token in zip([None, *tokens], tokens, strict=False))


def _question(block: Block) -> str:
    if block.kind == "code":
        return _code(block.text)
    return f"<p>{_Writer('', {}, {}).line(parse_question(block.text))}</p>\n"


class _Writer:
    """A writer of HTML for markdown-it's tokens."""

    def __init__(self, text: str, definitions: dict[str, str], pictures: Mapping[str, str]) -> None:
        self._text, self._definitions, self._pictures = text, definitions, pictures

    def block(self, token: Token, before: Token | None) -> str:
        """Return the HTML of a token of blocks; `before` is the token in front of it."""
        text = token.content
        match token.type:
            case "heading_open" | "heading_close":
                return ""
            case "inline" if before and before.type == "heading_open":
                return self._heading(before.tag, text)
            case "heading":
                return self._heading(token.tag, text)
            case "inline":
                return self._line(text)
            case "paragraph" | "math":
                return self._paragraph(text, before)
            case "summary":
                return f"<p><strong>{self._line(text)}</strong></p>\n" if text else ""
            case "fence":
                return _code(text)
            case "table":
                return self._table(token)
            case "footnote_reference_open":
                return f'<ol start="{self._number(token)}"><li>'
            case "footnote_reference_close":
                return "</li></ol>\n"
            case _:
                return f"{_tag(token)}\n"

    def _heading(self, tag: str, text: str) -> str:
        """Return a heading, with the id that it has on GitHub if a link leads to it."""
        name = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        start = f'{tag} id="{name}"' if f"(#{name})" in self._text else tag
        return f"<{start}>{self._line(text)}</{tag}>\n"

    def _paragraph(self, text: str, before: Token | None) -> str:
        """Return a paragraph; the first one of an item has no space above it."""
        if before is None or before.type not in ("list_item_open", "dd_open", "footnote_reference_open"):
            return f"<p>{self._line(text)}</p>\n"
        task = TASK.match(text) if before.type == "list_item_open" else None
        return f"{BOXES[task[1] != ' ']} {self._line(text[task.end() :])}" if task else self._line(text)

    def _table(self, token: Token) -> str:
        table = table_of(token)
        if table is None:  # with more columns than anybody reads
            return f"<p>{self._line(token.content)}</p>\n"
        rows = (
            "".join(self._cell("td" if number else "th", *each) for each in zip(table.aligns, row, strict=True))
            for number, row in enumerate(table.rows)
        )
        return "<table>\n" + "".join(f"<tr>{row}</tr>\n" for row in rows) + "</table>\n"

    def _cell(self, tag: str, align: str, text: str) -> str:
        aligned = f' align="{align}"' if align else ""
        return f"<{tag}{aligned}>{self._line(text)}</{tag}>"

    def _line(self, text: str) -> str:
        """Return the HTML of a paragraph's text."""
        links = Block(paragraphs=(Paragraph(text.strip()),)).linked(self._definitions).links
        return self.line(parse_inline(text.strip(), links))

    def line(self, tokens: Iterable[Token]) -> str:
        return "".join(map(self._mark, tokens))

    def _mark(self, token: Token) -> str:
        """Return the HTML of a token within a paragraph."""
        match token.type:
            case "softbreak" | "hardbreak":
                return BREAK
            case "code_inline":
                return f"<code>{escape(token.content)}</code>"
            case "formula":
                return escape(token.meta["formula"].source)
            case "image":
                return self._image(str(token.attrs.get("src", "")), escape(token.content))
            case "footnote_ref":
                return f"<sup>{self._number(token)}</sup>"
            case "link_open" if _LINKED.match(address := str(token.attrs.get("href", ""))):
                return f'<a href="{escape(address)}">'
            case _ if token.nesting:
                return _tag(token)
            case _:
                return escape(token.content).replace("\n", BREAK)

    def _image(self, address: str, words: str) -> str:
        if shown := self._pictures.get(address):
            return f'<img alt="{words}" src="{shown}">'
        name = words or escape(address)
        return f'<a href="{escape(address)}">{name}</a>' if _LINKED.match(address) else name

    def _number(self, token: Token) -> str:
        """Return the number of the footnote that the token defines or refers to."""
        return self._definitions[normalize_label(f"^{token.meta['label']}")]


def _code(text: str) -> str:
    return f"<pre><code>{escape(text)}</code></pre>\n"


def _tag(token: Token) -> str:
    start = f' start="{token.attrs["start"]}"' if "start" in token.attrs else ""
    return f"<{'/' * (token.nesting < 0)}{token.tag}{start}>"
