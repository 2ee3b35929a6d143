"""Blocks of an answer: the same in whatever pieces the text arrives; nothing of the text is lost."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.markdown import blocks as module
from app.markdown.blocks import (
    COLUMNS,
    CUT_LONG,
    LONG,
    Block,
    BlockSplitter,
    code_of,
    question_blocks,
    split,
)
from app.markdown.inline import parse_inline
from app.markdown.joined import join_neighbours, layout_cost

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
        "<details>",
        "<summary>text</summary>",
        ": item",
        "> | a |",
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
        tail = splitter.tail
        assert unlinked([*splitter.finished, *tail]) == unlinked(shown(*pieces))  # reading `tail` changes nothing
        assert unlinked(splitter.finished[: len(seen)]) == seen
        seen = unlinked(splitter.finished)
    splitter.close()
    return splitter.finished


def unlinked(blocks: list[Block]) -> list[Block]:
    """Return the blocks without their links, which may be defined later."""
    return [replace(block, links=()) for block in blocks]


def shown(*pieces: str) -> list[Block]:
    """Return the blocks that are shown after these pieces."""
    splitter = BlockSplitter()
    for piece in pieces:
        splitter.feed(piece)
    tail = splitter.tail  # first, because it may define links
    return [*splitter.finished, *tail]


def outline(blocks: list[Block]) -> list[str]:
    """Return each block as one text: with the signs and indentations that are shown, and what kind it is."""
    return [_outline(block) for block in blocks]


def _outline(block: Block) -> str:
    place = ">" * block.quote + "  " * (block.outside + block.depth)
    if block.kind in ("code", "plain"):
        return f"{place}{block.kind} {block.language}: {block.text}"
    if block.rows:
        return f"{place}table: " + " / ".join(" | ".join(row) for row in block.rows)
    signs = {"heading": "#", "rule": "---", "term": "term", "summary": "summary", "code": "code", "text": ""}
    lines = []
    for paragraph in block.paragraphs:
        sign = f"{signs[paragraph.kind]}{paragraph.level or ''}"
        lines.append("  " * paragraph.indent + " ".join(filter(None, [paragraph.marker, sign, paragraph.text])))
    return place + ("notes: " if block.kind == "notes" else "") + "\n".join(lines)


def test_prose_and_code_are_told_apart() -> None:
    blocks = split("one\ntwo\n\nthree\n```python\nx = 1\n\ny = 2\n```\nfour")
    assert outline(blocks) == ["one\ntwo", "three", "code python: x = 1\n\ny = 2", "four"]


def test_footnotes_are_numbered_by_their_definitions_and_stand_at_the_end() -> None:
    text = (
        "One[^1] and `[^1]` and [^a-z] and two[^note].\n\n"
        "[^1]: The first,\n  which goes on.\n[^note]: The *second*[^1].\n\n    Its end.\n\nMore.\n\n| a[^1] |\n|---|\n"
    )
    blocks = split(text)
    assert outline(blocks) == [
        "One[^1] and `[^1]` and [^a-z] and two[^note].",
        "More.",
        "table: a[^1]",
        "notes: ---\n  1. The first,\nwhich goes on.\n  2. The *second*[^1].\n  Its end.",
    ]
    assert blocks[0].links == (("^1", "1"), ("^note", "2"))
    assert blocks[2].links == blocks[3].links == (("^1", "1"),)


def test_a_footnote_may_be_explained_before_or_after_its_mark_and_hold_a_list() -> None:
    blocks = split("[^late]: Why:\n\n    - one\n    - two\n\nText[^late] and[^2].\n\n[^2]: So.")
    assert outline(blocks) == [
        "Text[^late] and[^2].",
        "notes: ---\n  1. Why:\n    • one\n    • two\n  2. So.",
    ]
    assert blocks[0].links == (("^late", "1"), ("^2", "2"))


def test_a_footnote_shows_while_it_is_written() -> None:
    pieces = ("So", "[^", "1", "]", ".\n\n", "[^1]: Be", "cause.\n", "\nEnd")
    texts = [outline(shown(*pieces[:count])) for count in range(1, len(pieces) + 1)]
    note = "notes: ---\n  1. Because."
    assert texts == [
        ["So"], ["So"], ["So"], ["So[^1]"], ["So[^1]."], ["So[^1].", note[:-6]], ["So[^1].", note], ["So[^1].", "End"],
    ]  # fmt: skip
    assert shown(*pieces[:5])[0].links == ()
    assert shown(*pieces[:6])[0].links == (("^1", "1"),)


def test_a_mark_without_a_footnote_stays_text() -> None:
    """The definition of [^2] comes long after the finished block that names it."""
    filler = "Filler.\n\n" * 100
    text = f"Look[^abc], [^7], [^2] and [^word].\n\n{filler}[^2]: Here.\n[^word]: There.\n\nEnd."
    links = (("^2", "1"), ("^word", "2"))
    assert split(text)[0].links == links
    splitter = BlockSplitter()
    splitter.feed(text[:900])
    assert not splitter.finished[0].links
    splitter.feed(text[900:])
    assert splitter.tail
    assert splitter.finished[0].links == links
    splitter.close()
    assert splitter.finished == split(text)


def test_a_list_goes_on_after_a_blank_line() -> None:
    assert outline(split("1. a\n\n2. b\n\n   more\n\nend")) == ["  1. a\n  2. b\n  more", "end"]


def test_code_in_a_list_stands_in_its_item_and_the_list_goes_on() -> None:
    assert outline(split("1. a\n   ```sh\n   ls\n     -l\n   ```\n   more\n\n   - deep\n2. b\n3. c")) == [
        "  1. a",
        "  code sh: ls\n  -l",
        "  more\n    • deep\n  2. b\n  3. c",
    ]


def test_code_in_a_list_in_a_list() -> None:
    assert outline(split("- a\n  - b\n    ```\n    x\n    ```\n    after\n  - c\n- d")) == [
        "  • a\n    • b",
        "    code : x",
        "    after\n    • c\n  • d",
    ]


def test_an_item_that_begins_with_code_keeps_its_sign() -> None:
    assert outline(split("1. ```\n   x\n   ```\n2. b\n   - ```\n     y\n     ```")) == [
        "  1.",
        "  code : x",
        "  2. b\n    •",
        "    code : y",
    ]


@pytest.mark.parametrize("lines", ["ls\n   ```", "   ls\n```", "ls\n```", "     ls\n     ```"])
def test_code_in_a_list_may_be_indented_wrongly(lines: str) -> None:
    assert outline(split(f"1. a\n   ```sh\n{lines}\n2. b"))[-1].endswith("2. b")
    assert code_of(f"1. a\n   ```sh\n{lines}\n2. b")[0].strip() == "ls"


@pytest.mark.parametrize("before", ["text:\n", "- a\n", "- a\n\n", "> q\n", ""])
def test_code_may_be_indented_far(before: str) -> None:
    assert code_of(f"{before}        ```\n        x\n        ```") == ["x"]


def test_a_table_in_a_list_stands_in_its_item() -> None:
    assert outline(split("- a\n\n  | h |\n  |---|\n  | 1 |\n- b\n- | h |\n  |---|")) == [
        "  • a",
        "  table: h / 1",
        "  • b\n  •",
        "  table: h",
    ]


def test_the_columns_of_a_table_are_aligned_and_no_cell_is_lost() -> None:
    (table,) = split("| a | b | c |\n|:--|:-:|--:|\n| 1 |\n| 1 | 2 | 3 | 4 |")
    assert table.aligns == ("left", "center", "right")
    assert table.rows[1:] == (("1", "", ""), ("1", "2", "3 | 4"))


def test_a_table_wider_than_any_screen_is_text() -> None:
    row = "| x " * 3_000 + "|"
    blocks = split(f"{row}\n{'|---' * 3_000}|\n{row}")
    assert {block.kind for block in blocks} == {"prose"}
    assert sum(block.source.count("x") for block in blocks) == 6_000


def test_an_address_named_elsewhere_is_known_where_it_is_wanted() -> None:
    blocks = split("See [one][a].\n\n- and [B]\n\n[a]: https://a.example/x\n[b]: <b c>\n\nAgain [a].")
    known = ("A", "https://a.example/x")
    assert outline(blocks) == ["See [one][a].", "  • and [B]", "Again [a]."]
    assert [block.links for block in blocks] == [(known,), (("B", "b c"),), (known,)]
    assert streamed("[x]\n\n" + "text\n\n" * LONG + "[x]: /y", [100] * 200)[0].links == (("X", "/y"),)


def test_a_quotation_with_code() -> None:
    quote = "> a\n> > ```\n> > x\n> >\n> > - y\n> > ```\n> b"
    assert outline(split(f"{quote}\n\n```\nreal\n```")) == [">a", ">>code : x\n\n- y", ">b", "code : real"]


def test_a_quotation_in_a_list_and_a_list_in_a_quotation() -> None:
    assert outline(split("- a\n  > q\n  > - in\n- b")) == ["  • a", ">  q\n  • in", "  • b"]


def test_a_long_quotation_is_not_cut_within_its_code() -> None:
    quote = "> " + "words " * (LONG // 8) + "\n>\n> ```\n" + "> code\n" * 400 + "> ```\n> end"
    assert [block.text for block in split(quote) if block.kind == "code"] == ["\n".join(["code"] * 400)]


def test_a_numbered_list_that_is_cut_goes_on_with_its_numbers() -> None:
    blocks = split("\n".join(["1. " + "words " * 20] * 100))
    assert len(blocks) > 2
    markers = [paragraph.marker for block in blocks for paragraph in block.paragraphs]
    assert markers == [f"{number}." for number in range(1, 101)]


def test_terms_details_and_tasks() -> None:
    text = "T\n: one\n: two\n\n<details><summary>S</summary>\nin\n</details>\n\n- [x] a\n- [ ] b\n\n1. [x] c"
    assert outline(split(text)) == ["term T\n  one\n  two", "summary S", "in", "  ☑ a\n  ☐ b", "  1. ☑ c"]


def test_what_begins_with_dashes_is_shown() -> None:
    assert outline(split("---\nFirst.\n---\n\nThen.")) == ["---", "#2 First.", "Then."]


def test_what_only_looks_like_the_definition_of_a_link_is_shown() -> None:
    assert outline(split("[Alice]: Hello\n\n[10:32]: ok.\n\n[note]:\ntext")) == [
        "[Alice]: Hello",
        "[10:32]: ok.",
        "[note]:\ntext",
    ]


def test_marks_of_tools_are_not_shown() -> None:
    text = "Birds sing\ue200cite\ue202turn0search0\ue202turn1view2\ue201.\n```\nx\ue200y\ue201\n```\nan icon \ue300"
    assert outline(split(text)) == ["Birds sing.", "code : x", "an icon \ue300"]


def test_only_code_is_marked_in_a_question() -> None:
    text = "Why *this*:\n\n```py\nx = 1\n\n```\n  and\n\n- that\n~~~\nopen"
    assert outline([*question_blocks(text)]) == [
        "plain : Why *this*:",
        "code py: x = 1\n",
        "plain :   and\n\n- that",
        "code : open",
    ]


def test_a_longer_fence_holds_a_shorter_one() -> None:
    assert code_of("````\n```\nx\n```\n````") == ["```\nx\n```"]


def test_an_open_fence_is_code_and_its_closing_line_is_never_shown() -> None:
    assert outline(shown("```python\nx = 1\n``")) == ["code python: x = 1"]
    assert outline(shown("```python\nx = 1\n``", "`\n")) == ["code python: x = 1"]
    assert outline(shown("- a\n  ```python\n  x = 1\n  ``")) == ["  • a", "  code python: x = 1"]


def test_a_table_and_a_formula_are_blocks_of_their_own() -> None:
    assert outline(split("so:\n| a | b |\n|---|--:|\n| 1 | 2 |\nend\n$$\nx\n$$\nwhere")) == [
        "so:",
        "table: a | b / 1 | 2",
        "end",
        "$$\nx\n$$",
        "where",
    ]
    assert outline(split("```math\nx\n\ny\n```")) == ["$$\nx\ny\n$$"]


@pytest.mark.parametrize("marks", [("$$", "$$"), ("\\[", "\\]")])
def test_a_formula_may_have_lines_that_look_like_others(marks: tuple[str, str]) -> None:
    formula = "\n- x\n+ y\n= z\n# 1\n".join(marks)
    assert outline(split(f"so\n{formula}\nthus")) == ["so", formula, "thus"]
    in_list = "- a\n" + "\n".join(f"  {line}" for line in formula.split("\n")) + "\n- b"
    assert outline(split(in_list)) == [f"  • a\n  {formula}\n  • b"]
    half = formula[: len(formula) // 2]
    assert outline(shown(half)) == [half.rstrip()]


def test_a_formula_that_is_none_takes_nothing_with_it() -> None:
    assert outline(split("$$ is money\n\ntwo\n\nthree")) == ["$$ is money", "two", "three"]


def test_a_table_is_not_shown_as_text_first() -> None:
    assert outline(shown("so:\n| a | b |")) == ["so:"]
    assert outline(shown("so:\n| a | b |", "\n|--")) == ["so:"]
    assert outline(shown("so:\n| a | b |", "\n|--", "-|---|\n")) == ["so:", "table: a | b"]


def test_a_line_below_a_text_is_a_heading_and_behind_a_blank_line_a_rule() -> None:
    assert outline(split("Title\n---\ntext\n\n---\nmore\n===")) == ["#2 Title", "text", "---", "#1 more"]


@pytest.mark.parametrize("begun", ["-", "--", "=", "*", "+", "#", "``", "- "])
def test_what_may_become_another_thing_is_not_shown_yet(begun: str) -> None:
    assert outline(shown(f"text\n{begun}")) == ["text"]


def test_a_long_paragraph_is_cut_at_the_end_of_a_sentence() -> None:
    text = "One sentence of many. " * 1_000
    blocks = split(text)
    assert len(blocks) > 5
    assert all(block.source.endswith("many.") for block in blocks)
    assert " ".join(block.source for block in blocks) == text.strip()


def test_a_long_list_is_cut_between_its_items() -> None:
    blocks = split("\n".join(f"{n}. item\n     - below" for n in range(1, 500)))
    assert len(blocks) > 2
    assert all(block.paragraphs[0].text == "item" for block in blocks)


def test_long_code_and_long_tables_stay_whole() -> None:
    code = "\n".join(f"  line {number}" for number in range(1_000))
    rows = "\n".join(f"| {number} |" for number in range(1_000))
    text = f"- a\n  ```\n{code}\n  ```\n- b\n\n| n |\n|---|\n{rows}\n\nend"
    blocks = split(text)
    assert [block.kind for block in blocks] == ["prose", "code", "prose", "table", "prose"]
    assert blocks[1].text == code.replace("  ", "")
    assert blocks[3].rows == (("n",), *((str(number),) for number in range(1_000)))
    assert streamed(text, [97] * 300) == blocks


@settings(max_examples=30)
@given(st.integers(20, 400), st.sampled_from(["word ", "word. ", "字。", "x"]))
def test_the_pieces_of_a_long_text_make_no_difference(size: int, word: str) -> None:
    text = word * 3_000
    splitter = BlockSplitter()
    for at in range(0, len(text), size):
        splitter.feed(text[at : at + size])
        assert all(len(block.source) <= 2 * LONG + size for block in splitter.tail)
    splitter.close()
    assert splitter.finished == split(text)


def test_the_opening_fence_is_never_shown_as_text() -> None:
    assert outline(shown("look:\n```pyth")) == ["look:"]


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
    shown = " ".join(f"{block.language} {block.source}" for block in split(text))
    for word in ("text", "item", "head", "more", "python", "below", "note", "tab", "two"):
        assert shown.count(word) == text.count(word)


LETTERS = st.text(alphabet="abcdefg|-#>*_`[]()!<&\n\n 1.~\\é$^=:\t🐦", max_size=120)


@given(LETTERS)
def test_no_letter_is_lost(text: str) -> None:
    """What has no marks of link references is shown letter by letter, but for code's info and list numbers."""
    text = text.replace("]:", "] ")
    blocks = split(text)
    found = "".join(f"{block.language}{block.source}" for block in blocks)
    info = sum(
        line.count(letter) for line in text.split("\n") if "```" in line or "~~~" in line for letter in "abcdefgé"
    )
    lost = sum(text.count(letter) - found.count(letter) for letter in "abcdefgé🐦")
    assert 0 <= lost <= info


@given(TEXTS)
def test_runs_join_prose_and_keep_code(text: str) -> None:
    blocks = split(text)
    joined = [block for block in join_neighbours(blocks) if block is not None]
    assert [block for block in joined if block.kind != "prose"] == [block for block in blocks if block.kind != "prose"]
    for one, other in pairwise(joined):
        assert (
            one.kind != "prose"
            or other.kind != "prose"
            or one.quote != other.quote
            or len(one.source + other.source) > LONG // 4
        )


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


@pytest.mark.parametrize(
    "text",
    [
        "![" * 10_000,
        "x" * 50_000,
        "> " * 5_000 + "x",
        "- " * 5_000 + "x",
        "a\n" * 10_000,
        "> a\n" * 10_000,
        "- item\n" * 5_000,
        "a\n: b\n" * 2_000,
        "".join(f"[^{number}]: x\n" for number in range(2_000)),
        "| a |\n|---|\n| " + "word " * 20_000 + "|",
        "|" + "a|" * 3_000 + "\n|" + "-|" * 3_000,
    ],
    ids=lambda text: repr(text[:12]),
)
def test_no_block_is_more_than_can_be_laid_out_at_once(text: str) -> None:
    for block in split(text):
        assert layout_cost(block) <= 3 * CUT_LONG * LONG  # 40 ms; lines are parsed again when there are twice as many
        assert len(block.aligns) <= COLUMNS


@pytest.mark.parametrize("text", ["![" * 1_000, "[a]" * 1_000, "*a**b" * 1_000, "x" * 30_000])
def test_a_paragraph_with_more_marks_than_anybody_writes_stays_plain(text: str) -> None:
    assert [(token.type, token.content) for token in parse_inline(text)] == [("text", text)]
