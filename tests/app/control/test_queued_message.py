"""Enter while an answer is written: the message waits, is sent by itself, edited, removed, and kept over a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.control import draft_controller
from app.state.draft_keeper import DraftStore
from app.wiring import Chickadee
from engine.protocol.requests import Generate
from tests.app.conftest import Opener, Requests
from tests.app.event_loop import settle

Ask = Callable[[Chickadee, str], None]
Key = Qt.Key


def asked(chickadee: Chickadee) -> list[str]:
    """Return the user's messages in the open chat."""
    return [message.content for message in chickadee.open_chats.current.messages if message.role == "user"]


def answering(chickadee: Chickadee) -> bool:
    return chickadee.open_chats.current.phase == "answering"


def idle(chickadee: Chickadee, questions: int) -> bool:
    return len(asked(chickadee)) == questions and not chickadee.open_chats.current.busy


def queued(chickadee: Chickadee) -> str:
    """Return the waiting message as it is shown, "" while none waits."""
    line = chickadee.window.composer.queued
    return "" if line.isHidden() else line.text.text()


def answer_slowly(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    """Have an answer begin that goes on until it is stopped, or told by AnswerNow to end."""
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: answering(chickadee))


def test_a_message_waits_for_the_answer_and_is_sent_by_itself(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(draft_controller, "announce", lambda _source, text: said.append(text))
    ask(chickadee, "ponder")
    qtbot.waitUntil(lambda: answering(chickadee))
    ask(chickadee, "And then?")
    assert queued(chickadee) == "And then?"
    assert chickadee.window.composer.queued.state.text() == "Will be sent when the answer has ended"
    assert said == ["Your message will be sent when the answer has ended."]
    assert chickadee.window.composer.text.toPlainText() == ""
    assert asked(chickadee) == ["ponder"]
    assert chickadee.engine.answer_now(chickadee.open_chats.current)
    qtbot.waitUntil(lambda: idle(chickadee, 2))
    assert asked(chickadee) == ["ponder", "And then?"]
    assert queued(chickadee) == ""
    generated = [request for request in requests() if isinstance(request, Generate)]
    assert generated[-1].messages[-1].content == "And then?"


def test_more_messages_become_one_and_are_edited(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    answer_slowly(chickadee, ask, qtbot)
    ask(chickadee, "One.")
    ask(chickadee, "Two.")
    assert queued(chickadee) == "One.\nTwo."
    composer = chickadee.window.composer
    qtbot.keyClicks(composer.text, "Three")
    composer.queued.edit.setFocus()
    qtbot.keyClick(composer.queued.edit, Key.Key_Return)
    assert composer.text.toPlainText() == "One.\n\nTwo.\n\nThree"
    assert (queued(chickadee), QApplication.focusWidget()) == ("", composer.text)
    qtbot.keyClick(composer.text, Key.Key_Return)
    qtbot.keyClick(composer.text, Key.Key_Up)  # in the empty composer
    assert composer.text.toPlainText() == "One.\n\nTwo.\n\nThree"


def test_what_is_removed_can_be_brought_back(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    answer_slowly(chickadee, ask, qtbot)
    ask(chickadee, "Not this.")
    qtbot.mouseClick(chickadee.window.composer.queued.remove, Qt.MouseButton.LeftButton)
    assert queued(chickadee) == ""
    assert DraftStore(chickadee.store).load(chickadee.open_chats.current.chat.id).queued.empty
    qtbot.mouseClick(chickadee.window.notice.button, Qt.MouseButton.LeftButton)
    assert queued(chickadee) == "Not this."


@pytest.mark.parametrize("end", ["stopped", "failed"])
def test_after_an_answer_that_did_not_end_well_one_press_sends(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, end: str
) -> None:
    answer_slowly(chickadee, ask, qtbot)
    ask(chickadee, "Next")
    if end == "stopped":
        qtbot.keyClick(chickadee.window.composer.text, Key.Key_Escape)
    else:
        psutil.Process(chickadee.process.pid).kill()
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    settle()  # in which it would be sent
    assert queued(chickadee) == "Next"
    assert chickadee.window.composer.queued.state.text() == "Not sent yet. Press Enter to send it."
    assert chickadee.window.composer.button.accessibleName() == "Send"
    qtbot.mouseClick(chickadee.window.composer.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: idle(chickadee, 2))
    assert asked(chickadee)[-1] == "Next"


def test_the_waiting_message_and_its_file_outlive_a_restart(
    chickadee: Chickadee, open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("Chickadees store seeds.\n" * 4)
    answer_slowly(chickadee, ask, qtbot)
    chickadee.window.composer.text.attached.emit([notes])
    ask(chickadee, "Next")
    assert queued(chickadee) == "Next\nnotes.txt"
    qtbot.keyClicks(chickadee.window.composer.text, "half a thought")
    chickadee.window.close()
    again = open_window()
    qtbot.waitUntil(lambda: again.engine.state.phase == "ready")
    assert queued(again) == "Next\nnotes.txt"
    assert again.window.composer.text.toPlainText() == "half a thought"
    assert asked(again) == ["slow"]
    qtbot.keyClick(again.window.composer.text, Key.Key_Up)  # not in an empty composer: it moves the cursor
    assert queued(again) == "Next\nnotes.txt"
    again.window.composer.text.clear()
    qtbot.keyClick(again.window.composer.text, Key.Key_Return)
    qtbot.waitUntil(lambda: idle(again, 2))
    question = again.open_chats.current.messages[-2]
    assert (question.content, [file.name for file in question.attachments]) == ("Next", ["notes.txt"])


def test_it_is_sent_while_another_chat_is_open(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "ponder")
    first = chickadee.open_chats.current
    qtbot.waitUntil(lambda: answering(chickadee))
    ask(chickadee, "Next")
    chickadee.window.commands.run("new_chat")
    assert queued(chickadee) == ""
    qtbot.keyClicks(chickadee.window.composer.text, "elsewhere")
    assert chickadee.engine.answer_now(first)
    qtbot.waitUntil(lambda: len(first.messages) == 4 and not first.busy)
    assert chickadee.window.composer.text.toPlainText() == "elsewhere"


def test_it_is_not_sent_in_a_deleted_chat(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "ponder")
    qtbot.waitUntil(lambda: answering(chickadee))
    ask(chickadee, "Next")
    chat = chickadee.open_chats.current
    chickadee.open_chats.delete([chat.chat.id])
    assert chickadee.engine.answer_now(chat)
    qtbot.waitUntil(lambda: not chat.busy)
    settle()  # in which it would be sent
    assert len(chat.messages) == 2
    chickadee.open_chats.restore([chat.chat.id])
    chickadee.chats.chat.open(chat.chat.id)
    assert queued(chickadee) == "Next"
