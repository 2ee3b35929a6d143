"""What is shown of CommonMark's own examples equals the text of the HTML that the specification expects.

The examples are under CC BY-SA 4.0, so they are not part of this repository. They stand in the source distribution of
markdown-it-py; `docs/contributing.md` says how to get them. Texts that hypothesis makes are always compared with what
markdown-it's own renderer makes of them.
"""

from __future__ import annotations

import json
import os
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.utils import read_fixture_file

from app.look.theme import LIGHT
from app.markdown.blocks import split
from app.markdown.document import MarkdownDocument, render
from app.markdown.html import render_html

SUITES = Path(os.environ.get("MARKDOWN_SUITES", "/nonexistent"))
HERE = pytest.mark.skipif(not SUITES.exists(), reason="the examples of the specification are not here")
EXCEPTIONS = {
    "HTML is shown as text": {
        21, 31, *range(148, 168), *range(169, 192), 201, 308, 309, 344, *range(475, 478), 491, 494, 524, 536,
        *range(613, 618), 623, *range(625, 632), 642, 643,
    },
    "indented text is no code, because models indent what is none": {18, 36, 48, 69, 110, 211, 231, 238, 289, 313},
    "a fence may have any indentation, because models indent it wrongly in lists": {134, 137},
    "text between \\[ and \\] that looks like one is a formula": {12},
    "text behind [word]: is shown unless it looks like an address": {194, 203, 204},
    "an image in a link has no address of its own": {517, 531},
}  # fmt: skip
OF_MARKDOWN_IT = {
    "tables": {
        "Delimiter escaping (deprecated):": "a backslash before a bar is no backslash",
        "Pipes inside backticks DO split cells, unless `\\` escaped:": "code in a cell may have bars",
        "An amount of rows might be different across table (issue #171), "
        "but header and alignment rows must be equal (#697):": "cells beyond the last column are not dropped",
        "GFM 4.10 Tables (extension), Example 204": "cells beyond the last column are not dropped",
        "Tables should not be indented more than 4 spaces (1st line):": "indented text is no code",
        "Tables should not be indented more than 4 spaces (2nd line):": "indented text is no code",
        "Tables should not be indented more than 4 spaces (3rd line):": "indented text is no code",
        "A list takes precedence in case of ambiguity": "a rule that begins with a dash is one",
    },
    "strikethrough": {"Coverage: single tilde": "text between single tildes is lowered"},
}


class _Text(HTMLParser):
    """The text of a piece of HTML, with images as we name them."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "img":
            self.text += f"[picture: {named.get('alt') or 'picture'}] {named.get('src')}"


def text_of_html(html: str) -> str:
    parser = _Text()
    parser.feed(html)
    parser.close()
    return "".join(parser.text.split())


def shown_text(markdown: str) -> str:
    """Return what is shown of an answer, without blanks."""
    document, text = MarkdownDocument(), ""
    for block in split(markdown):
        if block.kind == "code":
            text += block.text
        else:
            render(document, block, LIGHT, draws=False)
            text += document.toPlainText()
    return "".join(text.split())


@HERE
def test_the_examples_of_commonmark(qapp: object) -> None:
    examples = json.loads((SUITES / "test_cmark_spec" / "commonmark.json").read_text())
    assert len(examples) > 600
    different = {
        int(each["example"]) for each in examples if shown_text(each["markdown"]) != text_of_html(each["html"])
    }
    assert different == set().union(*EXCEPTIONS.values())


@HERE
@pytest.mark.parametrize("name", OF_MARKDOWN_IT)
def test_the_examples_of_markdown_it(qapp: object, name: str) -> None:
    examples = read_fixture_file(SUITES / "test_port" / "fixtures" / f"{name}.md")
    different = {title for _, title, text, html in examples if shown_text(text) != text_of_html(html)}
    assert different == OF_MARKDOWN_IT[name].keys()


LINES = st.text(alphabet="ab*_[]()!`\\&;. ", max_size=20).map(lambda line: line.replace("```", "``").strip())
STARTS = st.sampled_from(["", "", "", "> ", "- ", "1. ", "# ", "> - ", "---", "===", "  - "])


@given(st.lists(st.tuples(STARTS, LINES).map("".join), max_size=8).map("\n".join))
@example("- a\n\n| b | c |\n|---|--:|\n| `d|e` | H~2~O ==f== |\n\nT\n: g\n\n<details><summary>h</summary>")
@example('- ```\n  <i>\n- [a]\n\n[a]: http://b.example "c"')
def test_a_web_page_says_what_is_shown(qapp: object, text: str) -> None:
    """Images become links in a page, formulas stay as they are written, and the numbers of lists are no text there."""
    text = text.replace("![", "[").replace("\\(", "(").replace("\\[", "[")
    assert text_of_html(render_html(text)) == shown_text(text)


@given(st.lists(st.tuples(STARTS, LINES).map("".join), max_size=8).map("\n".join))
@example("*a **b* c**\n[a](b) ![c](d)")
def test_what_is_shown_is_what_markdown_it_renders(qapp: object, text: str) -> None:
    text = text.replace("]:", "] ").replace("\\(", "(").replace("\\[", "[")
    assert shown_text(text) == text_of_html(MarkdownIt("commonmark").disable(["code", "html_block"]).render(text))
