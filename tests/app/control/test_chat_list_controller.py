"""Deleting chats in the real window: what was deleted permanently stays away, whatever was under way."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot

from app.state.open_chats import OpenChats
from app.store.chat_store import DOOMED, ChatStore
from app.wiring import Chickadee
from engine.protocol.requests import Generate
from tests.app.conftest import Opener, Requests
from tests.app.test_notice import sentences

Ask = Callable[[Chickadee, str], None]


def test_nothing_comes_back_after_all_chats_were_deleted(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, open_window: Opener
) -> None:
    """Delete all chats while one is answered, others wait, one has an unsent edit, and drafts are typed."""
    window, chats = chickadee.window, chickadee.open_chats
    ask(chickadee, "finished")
    qtbot.waitUntil(lambda: not chats.current.busy)
    finished = chats.current
    window.commands.run("new_chat")
    ask(chickadee, "slow")
    answered = chats.current
    qtbot.waitUntil(lambda: answered.phase == "answering")
    waiting = []
    for number in range(2):
        window.commands.run("new_chat")
        ask(chickadee, f"waiting {number}")
        waiting.append(chats.current)
    qtbot.keyClicks(window.composer.text, "a draft in a chat that waits")
    chickadee.chats.chat.open(finished.chat.id)
    chickadee.chats.messages.do_action(finished.messages[0].id, "edit")
    chickadee.chats.messages.do_action(finished.messages[0].id, "note", "an unsent edit")
    window.commands.run("new_chat")
    qtbot.keyClicks(window.composer.text, "a draft in the new chat")

    chickadee.chats.list.delete_all()
    assert not any(conversation.busy for conversation in waiting)
    assert window.composer.text.toPlainText() == ""
    qtbot.waitUntil(lambda: not answered.busy)
    ask(chickadee, "another")
    qtbot.waitUntil(lambda: not chats.current.busy)
    asked = [request.messages[-1].content for request in requests() if isinstance(request, Generate)]
    assert asked == ["finished", "slow", "another"]
    assert [chat.title for chat in chats.chats()] == ["another"]
    window.close()
    store = ChatStore(chickadee.store.path)
    assert [chat.title for chat in store.chats()] == ["another"]
    assert store.with_connection(lambda db: db.execute("SELECT * FROM unsent").fetchall()) == []
    edits = (
        "SELECT count(*) FROM messages AS m JOIN chats AS c ON c.id = chat_id WHERE edit <> '' AND c.deleted_at <> ?"
    )
    assert store.with_connection(lambda db: db.execute(edits, (DOOMED,)).fetchone()) == (0,)
    store.close()
    assert open_window().window.composer.text.toPlainText() == ""


def test_an_undo_brings_no_chat_back_that_was_deleted_permanently(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "one")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    chat, notice = chickadee.open_chats.current.chat.id, chickadee.window.notice
    chickadee.chats.list.delete([chat])
    undo = notice.button
    chickadee.chats.list._delete_for_good([chat])
    qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    assert chickadee.open_chats.chats() == []
    ask(chickadee, "two")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    chickadee.chats.list.delete([chickadee.open_chats.current.chat.id])
    chickadee.chats.list.delete_all()
    assert sentences(notice) == []


def test_a_late_answer_does_not_bring_its_chat_back(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    """The engine is slow to stop: by then the chat was deleted permanently and has left the file."""
    ask(chickadee, "slow")
    answered = chickadee.open_chats.current
    qtbot.waitUntil(lambda: answered.phase == "answering")
    store = chickadee.open_chats.store
    chickadee.open_chats.delete([answered.chat.id])
    chickadee.open_chats.delete_for_good([answered.chat.id])
    store.with_connection(lambda db: db.execute("DELETE FROM chats"))
    answered.fail_answer(None, reason="cancelled")
    assert store.with_connection(lambda db: db.execute("SELECT id FROM chats").fetchall()) == []
    assert OpenChats(store).chats() == []


def test_results_of_a_search_go_with_their_chats(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "needle")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    sidebar = chickadee.window.sidebar
    sidebar.field.setText("needle")
    qtbot.waitUntil(lambda: bool(sidebar.hits.hits.hits))
    chickadee.chats.list.delete_all()
    qtbot.waitUntil(lambda: not any(hit.chat_id for hit in sidebar.hits.hits.hits))


def test_a_chat_in_a_collapsed_folder_is_renamed_by_its_key(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    ask(chickadee, "one")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    chat = chickadee.open_chats.current.chat.id
    folder = chickadee.open_chats.add_folder("Work")
    chickadee.open_chats.move([chat], folder.id)
    chickadee.open_chats.fold(folder.id, True)
    chickadee.chats.list.list_now()
    sidebar = chickadee.window.sidebar
    assert sidebar.titles() == []
    chickadee.window.commands.run("rename_chat")
    editor = sidebar.list.findChild(QLineEdit)
    assert editor
    editor.setText("renamed")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: sidebar.titles() == ["renamed"])
