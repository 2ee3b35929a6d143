from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.collections.passages import LEAST, MOST, passages_of

LINES = st.sampled_from(
    ("# Heading\n", "## Other one ##\n", "word " * 30 + "\n", "\n\n", "\x0c", "x" * 3_000, "中文。" * 90, "End. ")
)
TEXTS = st.one_of(st.text(max_size=4_000), st.lists(LINES, max_size=40).map("".join))


@given(TEXTS, st.lists(st.integers(0, 9_000), max_size=5, unique=True).map(sorted))
def test_passages_are_in_order_and_cover_all_but_blanks(text: str, pages: list[int]) -> None:
    passages = passages_of(text, pages=pages)
    at = 0
    for passage in passages:
        assert text[at : passage.begin].strip() == ""
        assert at <= passage.begin < passage.end <= len(text)
        assert passage.end - passage.begin <= MOST + 1
        assert text[passage.begin : passage.end] == text[passage.begin : passage.end].strip()
        at = passage.end
    assert text[at:].strip() == ""


@given(TEXTS)
def test_the_same_text_always_gives_the_same_passages(text: str) -> None:
    assert passages_of(text) == passages_of(text)


def test_a_heading_begins_a_passage_and_names_the_next_ones() -> None:
    text = "# One\n" + "a b. " * 100 + "\n# Two\n" + "c d. " * 500
    passages = passages_of(text)
    assert [passage.heading for passage in passages[:2]] == ["One", "Two"]
    assert {passage.heading for passage in passages[1:]} == {"Two"}
    assert len(passages) > 3


def test_a_section_shorter_than_a_passage_goes_with_the_next_one() -> None:
    (passage,) = passages_of("# One\n" + "a" * (LEAST // 2) + "\n# Two\nb")
    assert passage.heading == "One"


def test_comments_of_code_are_no_headings() -> None:
    assert passages_of("# a comment\nx = 1\n", "code")[0].heading == ""


def test_a_page_ends_a_passage_and_pages_count_from_one() -> None:
    text = "first. " * 60 + "second. " * 60
    border = text.index("second")
    passages = passages_of(text, "pdf", (0, border))
    assert [passage.page for passage in passages] == [1, 2]
    assert passages[1].begin == border


def test_passages_of_chinese_have_fewer_letters() -> None:
    assert max(p.end - p.begin for p in passages_of("这是一个很长的句子。" * 400)) <= MOST // 4
