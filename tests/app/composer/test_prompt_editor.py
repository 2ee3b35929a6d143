"""Enter and Esc in both editors for messages, with an input method and without."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.composer.prompt_editor import PromptEditor
from app.transcript.message_editor import MessageEditor
from app.wiring import Chickadee
from tests.app.test_window import done, last_text

Ask = Callable[[Chickadee, str], None]
ENTER, ESC = Qt.Key.Key_Return, Qt.Key.Key_Escape


def compose(editor: PromptEditor, letters: str, committed: str = "") -> None:
    """Send what an input method sends: the letters being composed, and the text that they have become."""
    event = QInputMethodEvent(letters, [])
    event.setCommitString(committed)
    QApplication.sendEvent(editor, event)


@pytest.fixture(params=["composer", "message"])
def editor(request: pytest.FixtureRequest, chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> PromptEditor:
    """Return the composer's editor, then the editor of a sent message, in the real window."""
    ask(chickadee, "one")
    qtbot.waitUntil(lambda: done(chickadee))
    if request.param == "composer":
        return chickadee.window.composer.text
    view = chickadee.window.transcript.views[0]
    chickadee.chats.messages.edit(view.message.id)
    assert isinstance(view.editor, MessageEditor)
    view.editor.text.clear()
    return view.editor.text


@pytest.mark.parametrize("key", [Qt.Key.Key_Return, Qt.Key.Key_Enter])
def test_enter_sends_and_shift_enter_breaks_the_line(
    editor: PromptEditor, chickadee: Chickadee, qtbot: QtBot, key: Qt.Key
) -> None:
    qtbot.keyClicks(editor, "a")
    qtbot.keyClick(editor, key, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(editor, "b")
    qtbot.keyClick(editor, key)
    qtbot.waitUntil(lambda: last_text(chickadee) == "echo: a\nb")


def test_nothing_is_sent_while_an_input_method_composes(
    editor: PromptEditor, chickadee: Chickadee, qtbot: QtBot
) -> None:
    before = len(chickadee.open_chats.current.tree)
    compose(editor, "ni")
    qtbot.keyClick(editor, ENTER)
    assert len(chickadee.open_chats.current.tree) == before
    compose(editor, "", "你")
    assert editor.toPlainText().strip() == "你"
    qtbot.keyClick(editor, ENTER)
    qtbot.waitUntil(lambda: last_text(chickadee).startswith("echo: 你"))


def test_a_composition_that_ended_without_a_word_does_not_keep_enter(
    editor: PromptEditor, chickadee: Chickadee, qtbot: QtBot
) -> None:
    """Another text replaced the composition, and the input method sends no event about that."""
    compose(editor, "ni")
    editor.setPlainText("other words")
    qtbot.keyClick(editor, ENTER)
    qtbot.waitUntil(lambda: last_text(chickadee) == "echo: other words")


def test_esc_in_a_composition_does_not_stop_the_answer(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: "word5" in last_text(chickadee))
    text = chickadee.window.composer.text
    compose(text, "ni")
    qtbot.keyClick(text, ESC)
    assert chickadee.open_chats.current.phase == "answering"
    compose(text, "")
    qtbot.keyClick(text, ESC)
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    assert chickadee.open_chats.current.messages[-1].stop_reason == "cancelled"


def test_keys_go_to_the_chat_where_the_text_has_no_more_room(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "many words")
    qtbot.waitUntil(lambda: len(chickadee.open_chats.current.messages) == 2 and not chickadee.open_chats.current.busy)
    text, bar = chickadee.window.composer.text, chickadee.window.transcript.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.value() == bar.maximum() > 1000)
    qtbot.keyClick(text, Qt.Key.Key_PageUp)
    page = bar.maximum() - bar.value()
    assert 0 < page < chickadee.window.transcript.viewport().height()
    qtbot.keyClick(text, Qt.Key.Key_Home)
    assert bar.value() == 0
    qtbot.keyClicks(text, "words")
    qtbot.keyClick(text, Qt.Key.Key_Home)  # moves the cursor first
    assert text.textCursor().position() == 0
    qtbot.keyClick(text, Qt.Key.Key_End)
    assert bar.value() == 0
    qtbot.keyClick(text, Qt.Key.Key_End)
    assert bar.value() == bar.maximum()
    view = chickadee.window.transcript.views[-1]
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_Home)
    assert bar.value() == 0


def test_up_in_an_empty_composer_recalls_the_last_prompt(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    text = chickadee.window.composer.text
    qtbot.keyClick(text, Qt.Key.Key_Up)
    assert text.toPlainText() == ""
    ask(chickadee, "hello there")
    qtbot.waitUntil(lambda: len(chickadee.open_chats.current.messages) == 2 and not chickadee.open_chats.current.busy)
    qtbot.keyClick(text, Qt.Key.Key_Up)
    assert text.toPlainText() == "hello there"
    text.setPlainText("draft")
    qtbot.keyClick(text, Qt.Key.Key_Up)
    assert text.toPlainText() == "draft"
