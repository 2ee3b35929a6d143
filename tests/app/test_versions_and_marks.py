"""Answers edited by hand, chats branched off, and the marks of busy and unread chats, in the real window."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.sidebar.chat_rows import MARK, Row
from app.state.open_chats import OpenChats
from app.wiring import Chickadee
from tests.app.conftest import SECONDS
from tests.app.test_window import label_text

Ask = Callable[[Chickadee, str], None]
CONTROL = Qt.KeyboardModifier.ControlModifier


def answered(chickadee: Chickadee, ask: Ask, qtbot: QtBot, text: str) -> str:
    """Ask in a new chat and return its id when the answer has ended."""
    chickadee.window.commands.run("new_chat")
    ask(chickadee, text)
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    return chickadee.open_chats.current.chat.id


def row(chickadee: Chickadee, id: str) -> Row:
    return next(row for row in chickadee.window.sidebar.list.rows.rows if row.id == id)


def mark(chickadee: Chickadee, id: str) -> str:
    model = chickadee.window.sidebar.list.rows
    number = next((number for number, row in enumerate(model.rows) if row.id == id), None)
    return "" if number is None else str(model.data(model.index(number), MARK))


def test_an_answer_is_edited_by_hand(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    answered(chickadee, ask, qtbot, "hello")
    chat, transcript = chickadee.open_chats.current, chickadee.window.transcript
    answer = chat.messages[-1]
    view = transcript.view_of(answer.id)
    assert view is not None
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_F2)
    assert view.editor is not None
    editor = view.editor.text
    assert editor.toPlainText() == "echo: hello"
    qtbot.keyClick(editor, Qt.Key.Key_Return)  # breaks the line
    qtbot.keyClicks(editor, "my own words")
    qtbot.keyClick(editor, Qt.Key.Key_Return, CONTROL)
    edited = chat.messages[-1]
    assert edited.content == "echo: hello\nmy own words"
    assert (edited.role, edited.parent_id, edited.model) == ("assistant", answer.parent_id, answer.model)
    assert edited.edited_at
    shown = transcript.view_of(edited.id)
    assert shown is not None
    assert label_text(shown, "aside") == "Edited by you"
    assert shown.position.versions == 2
    # On a busy machine it is stored a moment later.
    qtbot.waitUntil(lambda: OpenChats(chickadee.store).open(chat.chat.id).messages[-1] == edited, timeout=SECONDS)
    chickadee.chats.messages.show_version(edited.id, -1)
    assert chat.messages[-1].content == "echo: hello"


def test_a_chat_branches_into_a_new_one(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    first = answered(chickadee, ask, qtbot, "hello")
    ask(chickadee, "more")
    qtbot.waitUntil(lambda: len(chickadee.open_chats.current.messages) == 4 and not chickadee.open_chats.current.busy)
    answer = chickadee.open_chats.current.messages[1]
    view = chickadee.window.transcript.view_of(answer.id)
    assert view is not None
    entry = next(entry for entry in view.menu().actions() if entry.text() == "Branch into a new chat")
    entry.trigger()
    copy = chickadee.open_chats.current
    assert copy.chat.id != first
    assert copy.chat.title == "hello (branch)"
    assert [message.content for message in copy.messages] == ["hello", "echo: hello"]
    ask(chickadee, "another way")
    qtbot.waitUntil(lambda: len(copy.messages) == 4 and not copy.busy)
    stored = OpenChats(chickadee.store)
    assert [message.content for message in stored.open(copy.chat.id).messages][2:] == [
        "another way",
        "echo: another way",
    ]
    assert [message.content for message in stored.open(first).messages][2:] == ["more", "echo: more"]


def test_the_list_marks_chats_that_are_busy_and_unread(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    other = answered(chickadee, ask, qtbot, "hello")
    chickadee.window.commands.run("new_chat")
    ask(chickadee, "slow words")
    busy = chickadee.open_chats.current
    qtbot.waitUntil(lambda: mark(chickadee, busy.chat.id) == "busy")
    chickadee.chats.chat.open(other)
    folder = chickadee.open_chats.add_folder("Work")
    chickadee.open_chats.move([busy.chat.id], folder.id)
    chickadee.open_chats.fold(folder.id, True)
    chickadee.chats.list.list_now()
    assert mark(chickadee, folder.id) == "busy"  # the chat is in a collapsed folder
    chickadee.engine.stop(busy)
    qtbot.waitUntil(lambda: mark(chickadee, folder.id) == "")  # the user has stopped it, so it is nothing new
    chickadee.open_chats.fold(folder.id, False)
    ask(chickadee, "hello again")
    first = chickadee.open_chats.current
    chickadee.chats.chat.open(busy.chat.id)
    qtbot.waitUntil(lambda: mark(chickadee, other) == "unread")
    assert OpenChats(chickadee.store).load(other).chat.unread_at  # after a restart too
    assert row(chickadee, other).unread
    chickadee.chats.chat.open(other)
    assert chickadee.open_chats.current is first
    qtbot.waitUntil(lambda: mark(chickadee, other) == "")
    assert OpenChats(chickadee.store).load(other).chat.unread_at is None
