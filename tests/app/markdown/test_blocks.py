"""Blocks of an answer: the same in whatever pieces the text arrives; finished ones never change."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.markdown import blocks as module
from app.markdown.blocks import LONG, Block, BlockSplitter, code_of, join_neighbours, split

LINES = st.sampled_from(
    [
        "",
        "",
        "text",
        "- item",
        "* item",
        "-",
        "1. one",
        "2) two",
        "  - below",
        "   more",
        "      much more",
        "```",
        "```python",
        "~~~",
        "    ```",
        "- ```",
        "# head",
        "===",
        "---",
        "| a |",
        "|---|",
        "   | a |",
        "   |---|",
        "$$",
        "\\[",
        "x\\]",
        "> q",
        "> ```",
        "> > q",
        "> - q",
        "`",
        "``",
        "a[^1]",
        "[^1]: n",
        "[^word]: w",
        "    in a note",
        "see [x] and [text][y]",
        "[x]: /address",
        "[y]:",
        "<b>",
        "\ttab",
        "two words. " * 5,
    ]
)
TEXTS = st.lists(LINES, max_size=25).map("\n".join)


def streamed(text: str, sizes: list[int]) -> list[Block]:
    splitter, at, seen, pieces = BlockSplitter(), 0, list[Block](), list[str]()
    for size in [*sizes, len(text)]:
        pieces.append(text[at : at + size])
        splitter.feed(pieces[-1])
        at += size
        assert splitter.finished[: len(seen)] == seen
        assert [*splitter.finished, *splitter.tail] == shown(*pieces)  # reading `tail` earlier makes no difference
        seen = list(splitter.finished)
    splitter.close()
    return splitter.finished


def shown(*pieces: str) -> list[Block]:
    """Return the blocks that are shown after these pieces."""
    splitter = BlockSplitter()
    for piece in pieces:
        splitter.feed(piece)
    return [*splitter.finished, *splitter.tail]


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


def test_a_footnote_may_be_explained_before_or_after_its_mark_and_hold_a_list() -> None:
    assert split("[^late]: Why:\n\n    - one\n    - two\n\nText[^late] and[^2].\n\n[^2]: So.") == [
        Block("Text¹ and²."),
        Block("---\n\n¹ Why:\n\n- one\n- two\n\n² So.", "notes"),
    ]


def test_a_footnote_shows_while_it_is_written() -> None:
    pieces = ("So", "[^", "1", "]", ".\n\n", "[^1]: Be", "cause.\n", "\nEnd")
    texts = [[block.text for block in shown(*pieces[:count])] for count in range(1, len(pieces) + 1)]
    note = "---\n\n¹ Because."
    assert texts == [
        ["So"], ["So"], ["So"], ["So[^1]"], ["So[^1]."], ["So¹.", note[:-6]], ["So¹.", note], ["So¹.", "End"],
    ]  # fmt: skip


def test_a_mark_without_a_footnote_stays_text() -> None:
    """The definition of [^2] comes long after the finished block that names it."""
    filler = "Filler.\n\n" * 100
    text = f"Look[^abc], [^7], [^2] and [^word].\n\n{filler}[^2]: Here.\n[^word]: There.\n\nEnd."
    assert split(text)[0] == Block("Look[^abc], [^7], ² and ¹.")
    splitter = BlockSplitter()
    splitter.feed(text[:900])
    assert splitter.finished[0] == Block("Look[^abc], [^7], [^2] and [^word].")
    splitter.feed(text[900:-1])
    assert splitter.tail
    assert splitter.finished[0] == Block("Look[^abc], [^7], ² and ¹.")
    splitter.feed(".")
    splitter.close()
    assert splitter.finished == split(text)


def test_a_list_goes_on_after_a_blank_line() -> None:
    assert split("1. a\n\n2. b\n\n   more\n\nend") == [Block("1. a\n\n2. b\n\n   more"), Block("end")]


def test_code_in_a_list_stands_in_its_item_and_the_list_goes_on() -> None:
    assert split("1. a\n   ```sh\n   ls\n     -l\n   ```\n   more\n\n   - deep\n2. b\n3. c") == [
        Block("1. a"),
        Block("ls\n  -l", "code", "sh", depth=1),
        Block("more\n\n- deep", depth=1),
        Block("2. b\n3. c"),
    ]


def test_code_in_a_list_in_a_list() -> None:
    assert split("- a\n  - b\n    ```\n    x\n    ```\n    after\n  - c\n- d") == [
        Block("- a\n  - b"),
        Block("x", "code", depth=2),
        Block("after", depth=2),
        Block("- c", depth=1),
        Block("- d"),
    ]


def test_an_item_that_begins_with_code_keeps_its_sign() -> None:
    assert split("1. ```\n   x\n   ```\n2. b\n   - ```\n     y\n     ```") == [
        Block("1."),
        Block("x", "code", depth=1),
        Block("2. b\n\n   -"),
        Block("y", "code", depth=2),
    ]


@pytest.mark.parametrize("lines", ["ls\n   ```", "   ls\n```", "ls\n```", "     ls\n     ```"])
def test_code_in_a_list_may_be_indented_wrongly(lines: str) -> None:
    blocks = split(f"1. a\n   ```sh\n{lines}\n2. b")
    assert [(block.text.strip(), block.kind) for block in blocks] == [
        ("1. a", "prose"),
        ("ls", "code"),
        ("2. b", "prose"),
    ]


@pytest.mark.parametrize("before", ["text:\n", "- a\n", "- a\n\n", "> q\n", ""])
def test_code_may_be_indented_far(before: str) -> None:
    blocks = split(f"{before}        ```\n        x\n        ```")
    assert (blocks[-1].text, blocks[-1].kind) == ("x", "code")


def test_a_table_in_a_list_stands_in_its_item() -> None:
    assert split("- a\n\n  | h |\n  |---|\n  | 1 |\n- b") == [
        Block("- a"),
        Block("| h |\n|---|\n| 1 |", "table", depth=1),
        Block("- b"),
    ]


def test_an_address_named_elsewhere_is_known_where_it_is_wanted() -> None:
    blocks = split("See [one][a].\n\n- and [B]\n\n[a]: https://a.example/x\n[b]: <b c>\n\nAgain [a].")
    assert blocks == [
        Block("See [one][a].", links="[a]: <https://a.example/x>"),
        Block("- and [B]", links="[B]: <b c>"),
        Block("Again [a].", links="[a]: <https://a.example/x>"),
    ]
    assert streamed("[x]\n\n" + "text\n\n" * LONG + "[x]: /y", [100] * 200)[0].links == "[x]: </y>"


def test_addresses_that_a_text_names_do_not_grow_without_end() -> None:
    names = "\n".join(f"[n{number}]: /{'x' * 1_000}" for number in range(100))
    text = " ".join(f"[n{number}]" for number in range(100))
    assert len(split(f"{text}\n\n{names}")[0].markdown) < 20_000


def test_a_quotation_with_code_is_one_block() -> None:
    quote = "> a\n> > ```\n> > x\n> >\n> > - y\n> > ```\n> b"
    assert split(f"{quote}\n\n```\nreal\n```") == [Block(quote), Block("real", "code")]


def test_a_long_quotation_is_not_cut_within_its_code() -> None:
    quote = "> " + "words " * (LONG // 8) + "\n>\n> ```\n" + "> code\n" * 400 + "> ```\n> end"
    for block in split(quote):
        assert block.text.count("```") in (0, 2)


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert split("````\n```\nx\n```\n````") == [Block("```\nx\n```", "code")]


def test_an_open_fence_is_code_and_its_closing_line_is_never_shown() -> None:
    assert shown("```python\nx = 1\n``") == [Block("x = 1", "code", "python")]
    assert shown("```python\nx = 1\n``", "`\n") == [Block("x = 1", "code", "python")]
    assert shown("- a\n  ```python\n  x = 1\n  ``") == [Block("- a"), Block("x = 1", "code", "python", depth=1)]


def test_a_table_and_a_formula_are_blocks_of_their_own() -> None:
    assert split("so:\n| a | b |\n|---|--:|\n| 1 | 2 |\nend\n$$\nx\n$$\nwhere") == [
        Block("so:"),
        Block("| a | b |\n|---|--:|\n| 1 | 2 |", "table"),
        Block("end"),
        Block("$$\nx\n$$"),
        Block("where"),
    ]
    assert split("```math\nx\n\ny\n```") == [Block("$$\nx\ny\n$$")]


@pytest.mark.parametrize("marks", [("$$", "$$"), ("\\[", "\\]")])
def test_a_formula_may_have_lines_that_look_like_others(marks: tuple[str, str]) -> None:
    formula = "\n- x\n+ y\n= z\n# 1\n".join(marks)
    assert split(f"so\n{formula}\nthus") == [Block("so"), Block(formula), Block("thus")]
    in_list = "- a\n" + "\n".join(f"  {line}" for line in formula.split("\n")) + "\n- b"
    assert split(in_list) == [Block(in_list)]
    half = formula[: len(formula) // 2]
    assert shown(half) == [Block(half.rstrip())]


def test_a_formula_that_is_none_takes_nothing_with_it() -> None:
    assert split("$$ is money\n\ntwo\n\nthree") == [Block("$$ is money"), Block("two"), Block("three")]


def test_a_table_is_not_shown_as_text_first() -> None:
    assert shown("so:\n| a | b |") == [Block("so:")]
    assert shown("so:\n| a | b |", "\n|--") == [Block("so:")]
    assert shown("so:\n| a | b |", "\n|--", "-|---|\n") == [Block("so:"), Block("| a | b |\n|---|---|", "table")]


def test_a_line_below_a_text_is_a_heading_and_behind_a_blank_line_a_rule() -> None:
    assert split("Title\n---\ntext\n\n---\nmore\n===") == [
        Block("Title\n---"),
        Block("text"),
        Block("---"),
        Block("more\n==="),
    ]


@pytest.mark.parametrize("begun", ["-", "--", "=", "*", "+", "#", "``", "- "])
def test_what_may_become_another_thing_is_not_shown_yet(begun: str) -> None:
    assert shown(f"text\n{begun}") == [Block("text")]


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


def test_long_code_and_long_tables_stay_whole() -> None:
    code = "\n".join(f"  line {number}" for number in range(1_000))
    rows = "\n".join(f"| {number} |" for number in range(1_000))
    text = f"- a\n  ```\n{code}\n  ```\n- b\n\n| n |\n|---|\n{rows}\n\nend"
    blocks = [Block("- a"), Block(code.replace("  ", ""), "code", depth=1), Block("- b")]
    blocks += [Block(f"| n |\n|---|\n{rows}", "table"), Block("end")]
    assert split(text) == blocks
    assert streamed(text, [97] * 300) == blocks


@settings(max_examples=30)
@given(st.integers(20, 400), st.sampled_from(["word ", "word. ", "字。", "x"]))
def test_the_pieces_of_a_long_text_make_no_difference(size: int, word: str) -> None:
    text = word * 3_000
    splitter = BlockSplitter()
    for at in range(0, len(text), size):
        splitter.feed(text[at : at + size])
        assert all(len(block.text) <= 2 * LONG + size for block in splitter.tail)
    splitter.close()
    assert splitter.finished == split(text)


def test_the_opening_fence_is_never_shown_as_text() -> None:
    assert shown("look:\n```pyth") == [Block("look:")]


@given(TEXTS, st.lists(st.integers(1, 9)))
def test_the_pieces_a_text_arrives_in_make_no_difference(text: str, sizes: list[int]) -> None:
    assert streamed(text, sizes) == split(text)


@given(st.text(alphabet="ab|-#>*_`[]()!<&\n\n 1.~\\é$^:=\t\r", max_size=80), st.lists(st.integers(1, 9)))
def test_the_pieces_of_any_text_make_no_difference(text: str, sizes: list[int]) -> None:
    assert streamed(text, sizes) == split(text)


@given(TEXTS, st.lists(st.integers(1, 9)), st.integers(1, 40), st.integers(1, 80))
def test_where_texts_are_read_again_and_cut_the_pieces_make_no_difference(
    text: str, sizes: list[int], step: int, long: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "STEP", step)
        patch.setattr(module, "LONG", long)
        assert streamed(text, sizes) == split(text)


@given(TEXTS)
@example("```python")
@example("~~~python\n~~~\ntext")
def test_no_word_is_lost(text: str) -> None:
    shown = " ".join(f"{block.language} {block.text}" for block in split(text))
    for word in ("text", "item", "head", "more", "python", "below", "note", "tab", "two"):
        assert shown.count(word) == text.count(word)


@given(TEXTS)
def test_runs_join_prose_and_keep_code(text: str) -> None:
    blocks = split(text)
    joined = [block for block in join_neighbours(blocks) if block is not None]
    assert [block for block in joined if block.kind != "prose"] == [block for block in blocks if block.kind != "prose"]
    for one, other in pairwise(joined):
        assert one.kind != "prose" or other.kind != "prose" or one.depth != other.depth


def test_the_code_of_an_answer() -> None:
    assert code_of("- a\n  ~~~\n  b\n  ~~~\n\n```c\nd") == ["b", "d"]
    assert code_of("no `code`") == []


@pytest.mark.parametrize(
    "text",
    [
        ">" * 50_000,
        "- " * 20_000,
        "".join("  " * depth + "- a\n" for depth in range(300)),
        "[" * 50_000,
        "[a\n" * 10_000,
        "- a\n" + "  - b\n" * 10_000,
        "\n".join(f"[{number}]: /x" for number in range(3_000)),
        "$$\nx" * 10_000,
        "| a |\n" * 5_000,
        "[^1]: x\n" * 5_000,
        "1. ```\n" * 5_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_no_text_takes_long(text: str) -> None:
    before = time.process_time()
    split(text)
    assert time.process_time() - before < 20  # quadratic time would be minutes
