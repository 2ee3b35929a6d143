"""Blocks of an answer: the same for every way the text arrives, and finished ones never change."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from app.markdown.blocks import LONG, Block, BlockSplitter, runs, split

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
        "|---|",
        "$$",
        "\\[",
        "x\\]",
        "> q",
        "`",
        "``",
        "a[^1]",
        "[^1]: n",
        "[^word]: w",
    ]
)
TEXTS = st.lists(LINES, max_size=25).map("\n".join)


def test_prose_and_code_are_told_apart() -> None:
    blocks = split("one\ntwo\n\nthree\n```python\nx = 1\n\ny = 2\n```\nfour")
    assert blocks == [
        Block("one\ntwo"),
        Block("three"),
        Block("x = 1\n\ny = 2", "code", "python"),
        Block("four"),
    ]


def test_footnotes_are_raised_numbers_and_stand_at_the_end() -> None:
    text = (
        "One[^1] and `[^1]` and [^a-z] and two[^note].\n\n"
        "[^1]: The first,\n  which goes on.\n[^note]: The *second*[^1].\n\n    Its end.\n\nMore.\n\n| a[^1] |\n|---|\n"
    )
    assert split(text) == [
        Block("One¹ and `[^1]` and [^a-z] and two²."),
        Block("More."),
        Block("| a¹ |\n|---|", "table"),
        Block("---\n\n¹ The first,\nwhich goes on.\n\n² The *second*¹.\n\nIts end.", "notes"),
    ]


def test_a_footnote_shows_while_it_is_written() -> None:
    splitter = BlockSplitter()
    shown = []
    for piece in ("So", "[^", "1", "]", ".\n\n", "[^1]: Be", "cause.\n", "\nEnd"):
        splitter.feed(piece)
        shown.append(splitter.open)
    assert [block.text if block else None for block in shown] == [
        "So", "So", "So", "So¹", "So¹.\n\n", "So¹.\n", "---\n\n¹ Because.", "End",
    ]  # fmt: skip


def test_a_list_goes_on_after_a_blank_line() -> None:
    assert split("1. a\n\n2. b\n\n   more\n\nend") == [Block("1. a\n\n2. b\n\n   more"), Block("end")]


def test_code_in_a_list_loses_its_indentation() -> None:
    assert split("1. a\n   ```sh\n   ls\n     -l\n   ```\n2. b")[1] == Block("ls\n  -l", "code", "sh")


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert split("````\n```\nx\n```\n````") == [Block("```\nx\n```", "code")]


def test_an_open_fence_is_code_and_its_closing_line_is_never_shown() -> None:
    splitter = BlockSplitter()
    splitter.feed("```python\nx = 1\n``")
    assert splitter.open == Block("x = 1", "code", "python")
    splitter.feed("`\n")
    assert [*splitter.finished, splitter.open] == [Block("x = 1", "code", "python"), None]


def test_a_table_and_a_formula_are_blocks_of_their_own() -> None:
    assert split("so:\n| a | b |\n|---|--:|\n| 1 | 2 |\nend\n$$\nx\n$$\nwhere") == [
        Block("so:"),
        Block("| a | b |\n|---|--:|\n| 1 | 2 |", "table"),
        Block("end"),
        Block("$$\nx\n$$"),
        Block("where"),
    ]
    assert split("```math\nx\n\ny\n```") == [Block("$$\nx\ny\n$$")]


def test_a_formula_that_is_none_takes_nothing_with_it() -> None:
    assert split("$$ is money\n\ntwo\n\nthree") == [Block("$$ is money"), Block("two"), Block("three")]


def test_a_table_is_not_shown_as_text_first() -> None:
    splitter = BlockSplitter()
    splitter.feed("so:\n| a | b |")
    assert splitter.open == Block("so:")
    splitter.feed("\n|--")
    assert splitter.open == Block("so:")
    splitter.feed("-|---|\n")
    assert splitter.open == Block("| a | b |\n|---|---|", "table")


def test_a_long_paragraph_is_cut_at_the_end_of_a_sentence() -> None:
    text = "One sentence of many. " * 1_000
    blocks = split(text)
    assert len(blocks) > 5
    assert all(block.text.endswith("many.") for block in blocks)
    assert " ".join(block.text for block in blocks) == text.strip()


def test_a_long_list_is_cut_between_its_items() -> None:
    blocks = split("\n".join(f"{n}. item\n   - below" for n in range(1, 500)))
    assert len(blocks) > 2
    assert all(block.text.split("\n")[0].endswith("item") for block in blocks)


@settings(max_examples=30)
@given(st.integers(20, 400), st.sampled_from(["word ", "word. ", "字。", "x"]))
def test_the_pieces_of_a_long_text_make_no_difference(size: int, word: str) -> None:
    text = word * 3_000
    splitter = BlockSplitter()
    for at in range(0, len(text), size):
        splitter.feed(text[at : at + size])
        assert splitter.open is None or len(splitter.open.text) <= 2 * LONG + size
    splitter.close()
    assert splitter.finished == split(text)


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
    joined = [block for block in runs(blocks) if block is not None]
    assert [block for block in joined if block.kind != "prose"] == [block for block in blocks if block.kind != "prose"]
    assert all(one.kind != "prose" or other.kind != "prose" for one, other in pairwise(joined))
