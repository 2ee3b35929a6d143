"""The text of web pages: the main part, declared encodings, and hostile HTML, which costs time but nothing else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.attachments.attachment import Refused
from app.attachments.extraction import Extracted, read_page
from app.attachments.plain_text import decode
from app.attachments.web_page import declared_encoding, main_text_of_page, text_of_page
from engine.protocol.events import PageRead
from tests.app.attachments.samples import pdf_of
from tests.engine.remote.page_server import CHINESE, MAIN_TEXT, PAGE

LONG = "A sentence about birds that is long enough to count. " * 6


def page(data: bytes | str, kind: str = "text/html", charset: str = "") -> tuple[Extracted, str]:
    raw = data.encode() if isinstance(data, str) else data
    return read_page(PageRead(1, "https://example.org/", kind, charset, raw))


def refused(data: bytes | str, kind: str = "text/html") -> str:
    with pytest.raises(Refused) as caught:
        page(data, kind)
    return caught.value.code


def test_the_main_part_is_read() -> None:
    file, title = page(PAGE)
    assert title == "Chickadees & winter"
    assert file.text == f"# In winter\n\n{MAIN_TEXT.strip()}\n\n| weight | 11 g"
    assert file.kind == "web"
    assert len(file.parts) == 1


def test_without_a_main_part_what_stands_around_is_left_out() -> None:
    source = f"""<title>T</title><div role="navigation"><div>Menu</div>Menu too</div><p>{LONG}</p>
    <section hidden><p>secret</p></section><div aria-hidden=true>x</div><footer>Imprint</footer>"""
    assert main_text_of_page(source) == ("T", LONG.strip())
    assert page(source)[0].text == f"# T\n\n{LONG.strip()}"


def test_a_page_whose_marks_are_wrong_is_read_whole() -> None:
    """The makers forgot to close the menu, or put everything into it."""
    assert LONG.strip() in main_text_of_page(f"<nav><p>{LONG}</p>")[1]
    assert LONG.strip() in main_text_of_page(f"<main>Short</main><p>{LONG}</p>")[1]


def test_a_header_in_an_article_belongs_to_it() -> None:
    text = main_text_of_page(f"<header>Site</header><article><header><h2>News</h2></header><p>{LONG}</p></article>")[1]
    assert text == f"## News\n\n{LONG.strip()}"


def test_elements_end_where_their_own_end_is() -> None:
    text = main_text_of_page(f"<div role=main><div>{LONG}<div>inner</div></div>more</div><div>other</div>")[1]
    assert text.endswith("more")


@pytest.mark.parametrize(
    ("raw", "named", "codec"),
    [
        (b"<meta charset=gb2312>", "", "gb18030"),
        (b'<meta http-equiv=Content-Type content="text/html; charset=Shift_JIS">', "", "cp932"),
        (b"<meta charset=utf-8>", "windows-1251", "windows-1251"),
        (b"", "ISO-8859-1", "cp1252"),
        (b"<meta charset='zip'>", "hex", ""),
        (b"<meta charset=unicode_escape>", "utf-7", ""),
        (b"x" * 5_000 + b"<meta charset=gbk>", "", ""),
    ],
)
def test_declared_encodings(raw: bytes, named: str, codec: str) -> None:
    assert declared_encoding(raw, named) == codec


def test_a_declared_encoding_counts_where_it_fits() -> None:
    short = "Хлеб"  # too short to be recognised
    assert page(f"<p>{short}".encode("koi8-r"), charset="koi8-r")[0].text == short
    assert page(f"<p>{CHINESE}".encode("gb18030"), charset="gb2312")[0].text == CHINESE
    assert page(f"<p>{CHINESE}", charset="gb2312")[0].text == CHINESE  # it is UTF-8, whatever the server says
    german = "Die Größe der Straße überrascht. Schöne Grüße aus München."
    assert page(german.encode("cp1252"), charset="shift_jis")[0].text == german


def test_other_kinds() -> None:
    assert page("# Notes\nplain", "text/plain")[0].text == "# Notes\nplain"
    assert page(f"<html><p>{LONG}", "text/plain")[0].kind == "web"  # a server that is wrong about its page
    pdf = page(pdf_of(["Page one", "Page two"]), "application/pdf")[0]
    assert (pdf.kind, len(pdf.pages)) == ("pdf", 2)


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("", "empty_page"),
        (" \n", "empty_page"),
        ("<html><title>App</title><script>draw()</script><div id=root></div>", "empty_page"),
        (b"\x89PNG\r\n\x1a\n", "binary"),
        (b"PK\3\4zip", "binary"),
        (random.Random(3).randbytes(5_000), "binary"),
        (b"\x1f\x8b\x08 packed", "archive"),
        (b"%PDF-1.4 nothing more", "damaged"),
        ("<p>" + "x" * 3_000_001, "too_long"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_page_is_told(data: bytes | str, code: str) -> None:
    assert refused(data) == code


@pytest.mark.parametrize(
    "source",
    [
        "<div>" * 100_000 + LONG,
        "<nav role=main>" * 10_000 + LONG,
        "</div>" * 100_000 + LONG,
        "<" * 50_000 + LONG,
        "<p " + "a='b' " * 50_000 + ">" + LONG,
        "<!--" * 8_000 + LONG,
        "&#x" * 50_000 + LONG,
        "<script>" * 20_000,
        "<table>" + "<tr><td>" * 50_000 + LONG,
    ],
    ids=lambda source: source[:12],
)
@pytest.mark.timeout(100)
def test_hostile_html_is_read_to_the_end(source: str) -> None:
    """A reader of quadratic time would need minutes for pages of half a megabyte, and the process has one."""
    title, text = main_text_of_page(source)
    assert title == title.strip()
    assert text == text.strip()


@given(st.text(alphabet="<>/!-='\" amindvptg&#x;\n", max_size=400))
def test_any_html_is_read(source: str) -> None:
    title, text = main_text_of_page(source)
    assert "\n" not in title
    assert text == text.strip()
    assert text_of_page(source) == text_of_page(source).strip()


def test_decode_ignores_a_codec_that_does_not_fit() -> None:
    assert decode("naïve café".encode("cp1252"), "cp932") == "naïve café"
