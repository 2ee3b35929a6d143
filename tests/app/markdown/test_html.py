"""HTML of Markdown: the texts are hostile, and the page must neither load nor run anything of theirs."""

from __future__ import annotations

import pytest

from app.markdown.html import render_html


@pytest.mark.parametrize("address", ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "../x.html"])
def test_only_web_pages_are_linked(address: str) -> None:
    page = render_html(f"[a]({address}) ![b]({address}) [c][d]\n\n[d]: <{address}>")
    assert "href" not in page
    assert "src" not in page
    assert page.startswith("<p><a>a</a> b <a>c</a>")


def test_nothing_in_the_text_is_html() -> None:
    text = '<script>a()</script> <img src=x onerror=b()>\n\n| <u |\n|---|\n| `"<x>` |\n\n```"><d>\n<e>\n```\n# <f>'
    page = render_html(text)
    for tag in ("<script", "<img", "<u", "<x", "<d", "<e", "<f"):
        assert tag not in page


def test_an_address_cannot_leave_its_attribute() -> None:
    assert '"><b>' not in render_html('[a](<http://b.example/"><b>>) ![c](<http://d.example/"><b>>)')


def test_structure_is_kept() -> None:
    page = render_html("3. a\n   - [x] b\n\n   c\n4. d[^n]\n\n> # Two *words*\n\n[f](#two-words)\n\n[^n]: e")
    assert '<ol start="3">\n<li>\na<ul>\n<li>\n☑ b</li>' in page
    assert "<p>c</p>\n</li>\n<li>\nd<sup>1</sup></li>" in page
    assert '<blockquote>\n<h1 id="two-words">Two <em>words</em></h1>\n</blockquote>' in page
    assert '<ol start="1"><li>e</li></ol>' in page


def test_a_heading_has_a_name_where_a_link_leads_to_it() -> None:
    page = render_html("[a](#two-words) [b](#c)\n\n## Two words\n\n## d")
    assert (
        page == '<p><a href="#two-words">a</a> <a href="#c">b</a></p>\n<h2 id="two-words">Two words</h2>\n<h2>d</h2>\n'
    )


def test_a_question_is_shown_as_it_was_typed() -> None:
    page = render_html("What *is* <b>?\n1. `<i>`\n```\n<u>\n```", is_question=True)
    assert page == "<p>What *is* &lt;b&gt;?<br>\n1. <code>&lt;i&gt;</code></p>\n<pre><code>&lt;u&gt;</code></pre>\n"


def test_a_picture_is_loaded_from_the_address_that_it_is_given() -> None:
    assert render_html("![a](x)", {"x": "data:y"}) == '<p><img alt="a" src="data:y"></p>\n'


def test_texts_that_would_deceive_are_shown_as_they_are_stored() -> None:
    assert "\u202e" not in render_html("a\u202eb `c\u202ed`\n```\ne\u202ef\n```")
