"""Reading thoughts takes linear time whatever is written: what no model writes is text, in pieces and as a whole."""

from __future__ import annotations

import pytest

from common.reasoning import (
    MOST_BLANKS,
    MOST_SECTIONS,
    MOST_STRAY_MARKERS,
    Piece,
    ReasoningParser,
    sections_of,
    without_thoughts,
)

STRAY = "a</think>b "


def pieces_of(*texts: str) -> list[Piece]:
    parser = ReasoningParser()
    return [*(piece for text in texts for piece in parser.feed(text)), *parser.close()]


def in_letters(text: str) -> list[str]:
    return list(text)


def whole(text: str) -> list[str]:
    return [text]


@pytest.mark.parametrize("cut", [in_letters, whole])
def test_a_thought_begins_behind_a_limited_number_of_blanks(cut):
    thought = "<think>Hm.</think>Yes."
    assert next(piece.kind for piece in pieces_of(*cut(" " * MOST_BLANKS + thought))) == "opened"
    assert {piece.kind for piece in pieces_of(*cut(" " * (MOST_BLANKS + 1) + thought))} == {"text"}


def test_an_answer_of_blanks_alone_is_not_held_back():
    parser = ReasoningParser()
    released = sum(len(piece.text) for _ in range(50_000) for piece in parser.feed(" "))
    assert 50_000 - MOST_BLANKS - 1 <= released <= 50_000
    assert released + sum(len(piece.text) for piece in parser.close()) == 50_000


@pytest.mark.parametrize("cut", [in_letters, whole])
def test_an_answer_has_a_limited_number_of_thoughts(cut):
    text = "<think>Hm.</think>\n" * (MOST_SECTIONS + 2)
    pieces = pieces_of(*cut(text))
    assert sum(piece.kind == "opened" for piece in pieces) == MOST_SECTIONS
    assert "".join(piece.text for piece in pieces) == text
    assert without_thoughts(text) == "<think>Hm.</think>\n<think>Hm.</think>"


@pytest.mark.parametrize("cut", [in_letters, whole])
@pytest.mark.parametrize(("stray", "is_thought"), [(MOST_STRAY_MARKERS - 1, True), (MOST_STRAY_MARKERS, False)])
def test_a_closing_marker_behind_many_in_the_middle_of_lines_is_text(cut, stray, is_thought):
    text = STRAY * stray + "\n</think>\nYes."
    assert any(piece.kind == "unopened" for piece in pieces_of(*cut(text))) is is_thought
    assert sections_of(text)[0].thought is is_thought
