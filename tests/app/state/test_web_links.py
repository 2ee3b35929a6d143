"""Links in what a user types: where they begin and end, and which are offered."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.state.web_links import MOST_OFFERED, SENTENCE_SIGNS, links_in, offered_links


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("See https://example.org/a.", ("https://example.org/a",)),
        ("(https://example.org/a_(b))", ("https://example.org/a_(b)",)),
        ("[page](https://example.org/?q=1&r=2)!", ("https://example.org/?q=1&r=2",)),
        ("<https://example.org>", ("https://example.org",)),
        ("总结https://example.org/山雀，谢谢", ("https://example.org/山雀",)),
        ("看《https://example.org/x》。", ("https://example.org/x",)),
        ("www.example.org and WWW.Example.org/B", ("https://www.example.org", "https://WWW.Example.org/B")),
        ("http://192.168.1.7/", ("http://192.168.1.7/",)),
        (
            "http://nas/ http://localhost:8080 http://[::1]/x",
            ("http://nas/", "http://localhost:8080", "http://[::1]/x"),
        ),
        ("https://a.org https://a.org", ("https://a.org",)),
        ("https://exa http://nas https:// https://. https://..org", ()),
        ("main.py, a.b@www.example.org, ftp://example.org, file:///etc/passwd, javascript:x", ()),
        ("https://user:password@example.org https://example.org:0/ https://[", ()),
        ("https://example.org:port/", ()),
    ],
)
def test_links(text: str, links: tuple[str, ...]) -> None:
    assert links_in(text) == links


def test_read_and_declined_pages_are_not_offered() -> None:
    text = "https://a.org/x https://b.org https://c.org https://d.org https://e.org"
    assert offered_links(text, ["http://A.org/x/#part"], ["https://b.org"]) == (
        "https://c.org", "https://d.org", "https://e.org",
    )  # fmt: skip
    assert len(offered_links(text, (), ())) == MOST_OFFERED


PIECES = st.sampled_from(
    [
        "http://",
        "https://",
        "www.",
        "a.org",
        "例.org",
        "localhost",
        ":80",
        ":0",
        "/x",
        "(",
        ")",
        "[",
        "]",
        "@",
        "#",
        ".",
        " ",
        ",",
    ]
)


@given(st.lists(PIECES, max_size=8).map("".join), st.lists(PIECES, max_size=8).map("".join))
def test_a_link_in_any_text_is_written_there_without_the_signs_around_it(before: str, behind: str) -> None:
    text = f"{before} https://example.org{behind}"
    links = links_in(text)
    assert len(links) == len(set(links))
    for link in links:
        assert link.startswith(("http://", "https://"))
        assert link in text or link.removeprefix("https://") in text
        assert link[-1] not in SENTENCE_SIGNS
