"""Blocks of an answer: the same for every way the text arrives, and finished ones never change."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.blocks import Block, BlockSplitter, runs, split

LINES = st.sampled_from(
    [
        "",
        "text",
        "- item",
        "1. one",
        "   more",
        "```",
        "```python",
        "~~~",
        "    ```",
        "# head",
        "| a |",
        "> q",
        "`",
        "``",
    ]
)
TEXTS = st.lists(LINES, max_size=25).map("\n".join)


def test_prose_and_code_are_told_apart() -> None:
    blocks = split("one\ntwo\n\nthree\n```python\nx = 1\n\ny = 2\n```\nfour")
    assert blocks == [
        Block("one\ntwo"),
        Block("three"),
        Block("x = 1\n\ny = 2", True, "python"),
        Block("four"),
    ]


def test_a_list_goes_on_after_a_blank_line() -> None:
    assert split("1. a\n\n2. b\n\n   more\n\nend") == [Block("1. a\n\n2. b\n\n   more"), Block("end")]


def test_code_in_a_list_loses_its_indentation() -> None:
    assert split("1. a\n   ```sh\n   ls\n     -l\n   ```\n2. b")[1] == Block("ls\n  -l", True, "sh")


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert split("````\n```\nx\n```\n````") == [Block("```\nx\n```", True)]


def test_an_open_fence_is_code_and_its_closing_line_is_never_shown() -> None:
    splitter = BlockSplitter()
    splitter.feed("```python\nx = 1\n``")
    assert splitter.open == Block("x = 1", True, "python")
    splitter.feed("`\n")
    assert [*splitter.finished, splitter.open] == [Block("x = 1", True, "python"), None]


def test_the_opening_fence_is_never_shown_as_text() -> None:
    splitter = BlockSplitter()
    splitter.feed("look:\n```pyth")
    assert splitter.open == Block("look:")


@given(TEXTS, st.lists(st.integers(1, 9)))
def test_the_pieces_a_text_arrives_in_make_no_difference(text: str, sizes: list[int]) -> None:
    splitter, at, seen = BlockSplitter(), 0, list[Block]()
    for size in [*sizes, len(text)]:
        splitter.feed(text[at : at + size])
        at += size
        assert splitter.finished[: len(seen)] == seen
        seen = list(splitter.finished)
    splitter.close()
    assert splitter.finished == split(text)


@given(TEXTS)
def test_no_word_is_lost(text: str) -> None:
    shown = " ".join(f"{block.language} {block.text}" for block in split(text))
    for word in ("text", "item", "head", "more", "python"):
        assert shown.count(word) == text.count(word)


@given(TEXTS)
def test_runs_join_prose_and_keep_code(text: str) -> None:
    blocks = split(text)
    joined = list(runs(blocks))
    assert [block for block in joined if block.code] == [block for block in blocks if block.code]
    assert all(one.code or other.code for one, other in pairwise(joined))
