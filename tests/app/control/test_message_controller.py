"""Actions on messages that are taken back when another chat is open by then."""

from __future__ import annotations

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.wiring import Chickadee
from tests.app.test_window import Ask, done


def test_messages_are_restored_in_the_chat_that_the_notice_is_about(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot
) -> None:
    ask(chickadee, "one")
    qtbot.waitUntil(lambda: done(chickadee))
    conversation = chickadee.open_chats.current
    conversation.delete(conversation.messages[0].id)
    chickadee.chats.chat.open(conversation.chat.id)
    restore = chickadee.window.notice.button
    assert restore.text() == "Restore"
    chickadee.window.commands.run("new_chat")
    qtbot.mouseClick(restore, Qt.MouseButton.LeftButton)
    assert [message.content for message in conversation.messages][:1] == ["one"]


def test_a_discarded_edit_is_restored_and_stored_in_its_own_chat(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "one")
    qtbot.waitUntil(lambda: done(chickadee))
    conversation, messages = chickadee.open_chats.current, chickadee.chats.messages
    question = conversation.messages[0].id
    messages.do_action(question, "note", "another wording")
    messages.do_action(question, "leave", "another wording")
    restore = chickadee.window.notice.button
    chickadee.window.commands.run("new_chat")
    qtbot.mouseClick(restore, Qt.MouseButton.LeftButton)
    messages._store_edits()
    assert chickadee.store.edits(conversation.chat.id) == {question: "another wording"}
