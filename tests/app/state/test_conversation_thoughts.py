"""Thoughts: separated from the answer however they arrive, folded, measured, and not sent back."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.markdown.prose_view import ProseView
from app.state.answer import ThoughtTimer
from app.state.prompt import prompt_of
from app.store.chat import ChatMessage
from app.transcript.answer_view import AnswerView, thought_line
from app.wiring import Chickadee
from common.reasoning import (
    MARKERS,
    Piece,
    PieceKind,
    ReasoningParser,
    Section,
    open_sections,
    sections_of,
    without_thoughts,
)
from tests.app.conftest import SECONDS
from tests.app.event_loop import turn

PIECES = st.sampled_from(
    ["<think>", "</think>", "[THINK]", "[/THINK]", "<thin", "<", "\n", " ", "`", "```\n", "word", "<|channel>", "◁"]
)


def sections(text: str) -> list[tuple[bool, str]]:
    return [(section.thought, section.text.strip()) for section in sections_of(text)]


@pytest.mark.parametrize(("opening", "closings"), MARKERS)
def test_the_markers_of_many_models(opening: str, closings: tuple[str, ...]) -> None:
    for closing in closings:
        assert sections(f"\n{opening}hm{closing}\n\nyes") == [(True, "hm"), (False, "yes")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hm\n</think>\n\nyes", [(True, "hm"), (False, "yes")]),
        ("<think>a</think><think>b</think>c", [(True, "a"), (True, "b"), (False, "c")]),
        ("<think>a <think> b</think> c</think>", [(True, "a <think> b"), (False, "c</think>")]),
        ("<think>never closed", [(True, "never closed")]),
        ("<thin", [(False, "<thin")]),
        ("use `</think>` to end", [(False, "use `</think>` to end")]),
        ("```\n</think>\n```\nx", [(False, "```\n</think>\n```\nx")]),
        ("the <think>tag</think> is", [(False, "the <think>tag</think> is")]),
        ("<think>a</think>b\n</think>\nc", [(True, "a"), (False, "b\n</think>\nc")]),
        ("<THINK>a</THINK>", [(False, "<THINK>a</THINK>")]),
        ("", []),
    ],
)
def test_what_is_a_thought(text: str, expected: list[tuple[bool, str]]) -> None:
    assert sections(text) == expected


@given(st.lists(PIECES, max_size=12).map("".join), st.lists(st.integers(1, 5), max_size=20))
@example(" </think><think>", [1, 2])
@example("\n </thin", [1, 1, 3])
def test_the_pieces_a_text_arrives_in_make_no_difference(text: str, sizes: list[int]) -> None:
    assert sections_from(pieces_of(text, sizes)) == sections_of(text)


def pieces_of(text: str, sizes: list[int], begun: str = "") -> list[Piece]:
    """Return the pieces that the engine emits for a text that arrives in chunks of these sizes."""
    parser, at, pieces = ReasoningParser(), 0, []
    parser.resume(begun)
    for size in [*sizes, len(text)]:
        pieces += parser.feed(text[at : at + size])
        at += size
    return [*pieces, *parser.close()]


def sections_from(pieces: list[Piece], begun: str = "") -> list[Section]:
    sections = open_sections(begun)
    for piece in pieces:
        sections.add(piece)
    for section in sections.all[-1:]:
        section.closed = True
    return sections.all


@given(st.lists(PIECES, max_size=12).map("".join), st.lists(st.integers(1, 5), max_size=20), st.integers(0, 60))
def test_pieces_are_the_answer_as_it_was_written(text: str, sizes: list[int], cut: int) -> None:
    """That also holds for a continued answer, wherever it was cut."""
    begun, rest = text[:cut], text[cut:]
    assert begun + "".join(piece.text for piece in pieces_of(rest, sizes, begun)) == text


@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_word_is_lost(text: str) -> None:
    assert sum(section.text.count("word") for section in sections_of(text)) == text.count("word")


def test_time_is_measured_while_the_model_thinks() -> None:
    now = [10.0]
    timer = ThoughtTimer(lambda: now[0])
    parser = ReasoningParser()
    for text in ("<thi", "nk>", "hm", " hm", "</think>", "yes", "!"):
        for piece in parser.feed(text):
            timer.add_piece(piece.kind)
        now[0] += 1
    assert timer.seconds == 3  # from the marker's end to the closing one
    timer = ThoughtTimer(lambda: now[0], "no thought")
    timer.add_piece("text")
    assert timer.seconds is None


def test_time_of_a_thought_that_only_its_end_shows() -> None:
    now = [10.0]
    timer = ThoughtTimer(lambda: now[0])
    parser = ReasoningParser()
    for text in ("hm", " hm", "</think>", "\nyes", "!"):
        for piece in parser.feed(text):
            timer.add_piece(piece.kind)
        now[0] += 1
    assert timer.seconds == 3


def test_a_thought_goes_on_being_measured() -> None:
    now = [0.0]
    timer = ThoughtTimer(lambda: now[0], "<think>so far", 5.0)
    timer.add_piece("thought")
    now[0] = 2.0
    timer.add_piece("closed")
    assert timer.seconds == 7


def test_thoughts_are_not_sent_back() -> None:
    def message(role: str, content: str) -> ChatMessage:
        return ChatMessage("c", None, role, content)  # type: ignore[arg-type]

    chat = [message("user", "<think>mine</think>"), message("assistant", "<think>hm</think>\nyes")]
    assert [turn.content for turn in prompt_of(chat)] == ["<think>mine</think>", "yes"]
    assert [turn.content for turn in prompt_of(chat, continuing=True)][1] == "<think>hm</think>\nyes"
    assert without_thoughts("a thinking cap") == "a thinking cap"


def test_the_line_tells_how_long() -> None:
    assert thought_line(None, True) == "Thinking…"
    assert thought_line(3.2, True) == "Thinking… 3 s"
    assert thought_line(12.4, False) == "Thought for 12 s"
    assert thought_line(0.1, False) == "Thought for 1 s"
    assert thought_line(75, False) == "Thought for 1 min 15 s"
    assert thought_line(None, False) == "Thought"
    assert thought_line(12.4, False, 340) == "Thought for 12 s · 340 tokens"
    assert thought_line(12.4, False, 1) == "Thought for 12 s · 1 token"
    assert thought_line(12.4, True, 340) == "Thinking… 12 s"
    assert thought_line(None, False, 12_340) == "Thought · 12,340 tokens"


@pytest.fixture
def view(qtbot: QtBot) -> AnswerView:
    view = AnswerView()
    qtbot.addWidget(view)
    view.resize(500, 400)
    view.show()
    return view


def test_a_thought_is_folded_and_opens_by_the_keyboard(view: AnswerView, qtbot: QtBot) -> None:
    view.set_text("<think>first\n\nsecond</think>\n\nThe answer.", 12.0)
    (thought,) = view.thoughts
    assert thought.line.text() == "Thought for 12 s"
    assert [each.open for each in view.thoughts] == [False]
    folded = view.heightForWidth(500)
    assert view.text_to_copy() == "The answer."
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Space):
        qtbot.keyClick(thought.line, key)
        assert [each.open for each in view.thoughts] == [True]
        assert view.heightForWidth(500) > folded
        assert view.text_to_copy() == "first\n\nsecond\n\nThe answer."
        qtbot.keyClick(thought.line, key)
        assert [each.open for each in view.thoughts] == [False]
        assert view.heightForWidth(500) == folded


def test_an_empty_thought_is_not_shown(view: AnswerView) -> None:
    view.set_text("<think>\n\n</think>\n\nyes")
    assert [thought.isHidden() for thought in view.thoughts] == [True]


@pytest.mark.parametrize("start", ["<think>", ""])
def test_a_thought_streams_into_its_fold(view: AnswerView, qtbot: QtBot, start: str) -> None:
    view.start("")
    parser = ReasoningParser()
    for text in (start, "hm ", "and ", "hm", "</thi", "nk>", "\n\n", "The ", "answer."):
        for piece in parser.feed(text):
            view.grow(piece.text, piece.kind)
    assert [thought.text.strip() for thought in view.thoughts] == ["hm and hm"]
    view.finish(4.0)
    assert [thought.line.text() for thought in view.thoughts] == ["Thought for 4 s"]
    assert [part.toPlainText() for part in view.stacks[0].block_views if isinstance(part, ProseView)] == ["The answer."]


def test_an_open_thought_is_seen_growing(view: AnswerView, qtbot: QtBot) -> None:
    view.start("<think>one")
    (thought,) = view.thoughts
    assert thought.line.text() == "Thinking…"
    thought.line.click()
    view.grow(" two", "thought")
    view.finish()
    assert thought.body is not None
    assert [part.toPlainText() for part in thought.body.block_views if isinstance(part, ProseView)] == ["one two"]


def test_how_long_it_took_is_there_after_a_restart(chickadee: Chickadee, qtbot: QtBot) -> None:
    chickadee.chats.drafts.send("<think>hm hm hm</think> yes")  # the scripted engine echoes it behind a word
    conversation = chickadee.open_chats.current
    qtbot.waitUntil(lambda: not conversation.busy, timeout=SECONDS)
    assert conversation.messages[-1].thought_seconds is None
    chickadee.store.writer.wait()  # a slow disk is still at the first answer, and later writes would wait for that
    turn()
    conversation.send("think")
    conversation.begin_answer("model")
    pieces: list[tuple[str, PieceKind]] = [
        ("<think>", "opened"),
        ("hm", "thought"),
        ("</think>", "closed"),
        ("yes", "text"),
    ]
    for text, kind in pieces:
        conversation.append_text(text, kind)
    conversation.fail_answer(None, reason="cancelled")
    stored = chickadee.store.messages(conversation.chat)[-1]
    assert stored.content == "<think>hm</think>yes"
    assert stored.thought_seconds is not None
    view = chickadee.window.transcript.views[-1]
    assert isinstance(view.body, AnswerView)
    assert view.body.thoughts[0].line.text().startswith("Thought for")
    view.copy()
    assert QGuiApplication.clipboard().text() == "yes"
