"""The open chat: what is shown of it, and which views are told of an answer that is being written."""

from __future__ import annotations

from collections.abc import Callable

from pytestqt.qtbot import QtBot

from app.wiring import Chickadee

Ask = Callable[[Chickadee, str], None]


def test_a_piece_of_an_answer_is_told_to_the_one_view_that_shows_it(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask
) -> None:
    ask(chickadee, "slow")
    answered, transcript = chickadee.open_chats.current, chickadee.window.transcript
    qtbot.waitUntil(lambda: "word3" in answered.answer_text)
    assert len(answered.text_appended._listeners) == 1
    chickadee.chats.chat.new()
    assert answered.text_appended._listeners == []
    before = len(answered.answer_text)
    qtbot.waitUntil(lambda: len(answered.answer_text) > before + 20)
    chickadee.chats.chat.open(answered.chat.id)
    assert len(answered.text_appended._listeners) == 1
    before = len(answered.answer_text)
    qtbot.waitUntil(lambda: len(answered.answer_text) > before + 20)
    assert transcript.views[-1].text == answered.answer_text
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: not answered.busy)
    assert answered.text_appended._listeners == []
    assert transcript.views[-1].text == answered.messages[-1].content


def test_what_is_waited_for_is_said_in_the_language_that_is_chosen_meanwhile(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask
) -> None:
    ask(chickadee, "read and wait")
    line = chickadee.window.composer.progress
    qtbot.waitUntil(lambda: line.text().startswith("Reading 1,200 of 3,000 tokens"))
    chickadee.settings.change({"window.language": "zh_CN"})
    assert "1,200" in line.text()
    assert "Reading" not in line.text()
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
