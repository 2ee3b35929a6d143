"""The window through its real widgets, with the scripted engine."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from app.folders import Folders
from app.markdown.blocks import Block
from app.markdown.code_view import CodeView
from app.markdown.prose_view import ProseView
from app.transcript.answer_view import AnswerView
from app.transcript.message_view import MessageView
from app.wiring import Chickadee
from tests.app.conftest import SECONDS, Opener

Ask = Callable[[Chickadee, str], None]


def done(chickadee: Chickadee) -> bool:
    conversation = chickadee.open_chats.current
    return len(conversation.messages) > 1 and not conversation.busy


def last_text(chickadee: Chickadee) -> str:
    return chickadee.window.transcript.views[-1].text


def label_text(view: MessageView, name: str) -> str:
    """Return the text of a message's label `sources`, `problem`, `aside`, `details` or `modelName`; "" if hidden."""
    label = view.findChild(QLabel, name, Qt.FindChildOption.FindDirectChildrenOnly)
    return label.text() if label and not label.isHidden() else ""


def stored(folders: Folders) -> list[tuple[str, str, str | None]]:
    db = sqlite3.connect(folders.store)
    rows = db.execute("SELECT role, content, stop_reason FROM messages ORDER BY number").fetchall()
    db.close()
    return rows


def test_a_message_is_sent_streamed_and_stored(chickadee: Chickadee, ask: Ask, qtbot: QtBot, folders: Folders) -> None:
    assert chickadee.window.pages.currentWidget() is chickadee.window.welcome
    ask(chickadee, "hello *you*")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert last_text(chickadee) == "echo: hello *you*"
    written = [("user", "hello *you*", "end"), ("assistant", "echo: hello *you*", "end")]
    qtbot.waitUntil(lambda: stored(folders) == written)  # a slow disk takes longer
    qtbot.waitUntil(lambda: chickadee.window.sidebar.titles() == ["hello you"])
    assert chickadee.window.status.speed.text() == "20 tok/s"
    assert chickadee.window.status.context.text() == "30 / 4,096"


def test_shift_enter_breaks_the_line(chickadee: Chickadee, qtbot: QtBot) -> None:
    text = chickadee.window.composer.text
    height = text.height()
    qtbot.keyClicks(text, "one")
    qtbot.keyClick(text, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(text, "two")
    assert text.toPlainText() == "one\ntwo"
    assert text.height() > height
    assert not chickadee.open_chats.current.messages


def test_stop_keeps_what_was_written(chickadee: Chickadee, ask: Ask, qtbot: QtBot, folders: Folders) -> None:
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: "word5" in last_text(chickadee), timeout=SECONDS)
    assert chickadee.window.composer.button.accessibleName() == "Stop"
    qtbot.keyClick(chickadee.window, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert chickadee.window.composer.button.accessibleName() == "Send"
    role, text, reason = stored(folders)[-1]
    assert (role, reason) == ("assistant", "cancelled")
    assert "word5" in text
    assert text == last_text(chickadee)


def test_the_prompt_being_read_is_shown(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "read wait")
    progress = chickadee.window.composer.progress
    qtbot.waitUntil(lambda: progress.text().startswith("Reading 1,200 of 3,000 tokens · "), timeout=SECONDS)
    assert progress.text().endswith(" s left")
    qtbot.mouseClick(chickadee.window.composer.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    assert progress.isHidden()


def test_a_view_that_is_scrolled_up_does_not_jump(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "many")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    bar = chickadee.window.transcript.verticalScrollBar()
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: "word5" in last_text(chickadee), timeout=SECONDS)
    assert bar.value() == bar.maximum()
    bar.setValue(100)
    height = chickadee.window.transcript.column.height()
    qtbot.waitUntil(lambda: chickadee.window.transcript.column.height() > height + 100, timeout=SECONDS)
    assert bar.value() == 100
    down = chickadee.window.transcript.findChild(QPushButton, "down")
    assert down
    assert down.isVisible()
    qtbot.mouseClick(down, Qt.MouseButton.LeftButton)
    assert bar.value() == bar.maximum()
    assert down.isHidden()


def test_finished_blocks_are_not_laid_out_again(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    plain = ProseView.set_block

    def counting(view: ProseView, block: Block) -> None:
        drawn.append(block.source)
        plain(view, block)

    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: bool(chickadee.window.transcript.views[1:]), timeout=SECONDS)
    body = chickadee.window.transcript.views[-1].body
    assert isinstance(body, AnswerView)
    qtbot.waitUntil(lambda: bool(body.stacks) and len(body.stacks[0].block_views) > 2, timeout=SECONDS)
    monkeypatch.setattr(ProseView, "set_block", counting)
    qtbot.waitUntil(lambda: "paragraph 40" in last_text(chickadee) and bool(drawn), timeout=SECONDS)
    assert sum("word5 " in text for text in drawn) <= 2  # short paragraphs are joined, then left as they are


def test_code_is_copied(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    chickadee.chats.drafts.send("look:\n```python\nprint(1)\n```\nend")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    code = chickadee.window.transcript.views[-1].findChild(CodeView)
    assert code
    assert code.language == "python"
    button = next(each for each in code.findChildren(QPushButton) if each.text() == "Copy")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == "print(1)"
    assert button.text() == "Copied"


def test_delete_and_undo(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    chickadee.window.sidebar.list.action_requested.emit("delete", [chickadee.open_chats.current.chat.id], None)
    assert chickadee.window.sidebar.titles() == []
    assert chickadee.window.notice.button.text() == "Undo"
    qtbot.mouseClick(chickadee.window.notice.button, Qt.MouseButton.LeftButton)
    assert chickadee.window.sidebar.titles() == ["first"]
    qtbot.waitUntil(lambda: last_text(chickadee) == "echo: first", timeout=SECONDS)


def test_stop_before_the_prompt_is_made(chickadee: Chickadee, ask: Ask, qtbot: QtBot, folders: Folders) -> None:
    ask(chickadee, "mute")
    qtbot.waitUntil(lambda: chickadee.engine.active is not None, timeout=SECONDS)
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    qtbot.waitUntil(lambda: [row[2] for row in stored(folders)][-1] == "cancelled", timeout=SECONDS)


def test_deleting_a_chat_stops_its_answer(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: "word5" in last_text(chickadee), timeout=SECONDS)
    chickadee.window.commands.run("delete_chat")
    qtbot.waitUntil(lambda: chickadee.engine.active is None, timeout=SECONDS)
    assert chickadee.window.sidebar.titles() == []


def test_a_chat_is_renamed_in_place(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, open_window: Opener, folders: Folders
) -> None:
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    qtbot.waitUntil(lambda: chickadee.window.sidebar.titles() == ["first"])
    sidebar = chickadee.window.sidebar
    sidebar.rename(chickadee.open_chats.current.chat.id)
    editor = sidebar.list.findChild(QLineEdit)
    assert editor
    editor.setText("A better title")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert chickadee.open_chats.current.chat.title == "A better title"
    qtbot.waitUntil(lambda: sidebar.titles() == ["A better title"])
    chickadee.window.close()
    assert open_window().window.sidebar.titles() == ["A better title"]


def test_the_last_answer_can_be_written_again(chickadee: Chickadee, ask: Ask, qtbot: QtBot, folders: Folders) -> None:
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    chickadee.window.transcript.views[-1].action_requested.emit("again", None)
    qtbot.waitUntil(lambda: done(chickadee) and len(stored(folders)) == 3, timeout=SECONDS)
    assert len(chickadee.window.transcript.views) == 2
    assert [role for role, _, _ in stored(folders)] == ["user", "assistant", "assistant"]


def test_an_answer_goes_on_while_another_chat_is_open(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: "word5" in last_text(chickadee), timeout=SECONDS)
    first = chickadee.open_chats.current
    chickadee.window.commands.run("new_chat")
    ask(chickadee, "second")
    assert chickadee.window.composer.progress.text() == "Waiting: another chat is being answered first"
    length = len(first.answer_text)
    qtbot.waitUntil(lambda: len(first.answer_text) > length + 50, timeout=SECONDS)
    chickadee.chats.chat.open(first.chat.id)
    qtbot.waitUntil(lambda: last_text(chickadee) == first.answer_text, timeout=SECONDS)
    chickadee.chats.chat.stop()
    qtbot.waitUntil(lambda: not first.busy, timeout=SECONDS)


def test_closing_stops_and_stores_the_answer(chickadee: Chickadee, ask: Ask, qtbot: QtBot, folders: Folders) -> None:
    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: "word5" in last_text(chickadee), timeout=SECONDS)
    text = last_text(chickadee)
    client = chickadee.process
    chickadee.window.close()
    assert not client.running
    assert stored(folders)[-1] == ("assistant", text, "cancelled")


def test_a_narrow_window_has_the_list_above_the_page(chickadee: Chickadee, qtbot: QtBot) -> None:
    window = chickadee.window
    assert window.sidebar.isVisible()
    window.resize(600, 600)
    assert window.sidebar.isHidden()
    window.toggle_sidebar()
    assert window.sidebar.isVisible()
    assert window.sidebar.parent() is window.centralWidget()
    window.close_overlay()
    assert window.sidebar.isHidden()
    window.resize(1000, 700)
    assert window.sidebar.isVisible()


def test_every_control_has_a_name(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "hello")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    buttons = [
        *chickadee.window.findChildren(QPushButton),
        *(button for button in chickadee.window.findChildren(QToolButton) if button.isVisible()),
    ]
    nameless = [button for button in buttons if button.isVisible() and not (button.text() or button.accessibleName())]
    assert nameless == []
