"""A temporary chat in the real window: it works like any other, and leaves nothing on the disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.folders import Folders
from app.wiring import Chickadee
from engine.protocol.requests import Generate, Prepare
from tests.app.conftest import Requests

Ask = Callable[[Chickadee, str], None]
SECRET = "Zaunkoenig"


def files_with(folder: Path, words: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and words.encode() in path.read_bytes()]


def test_nothing_of_a_temporary_chat_is_written(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, requests: Requests, folders: Folders
) -> None:
    window = chickadee.window
    ask(chickadee, "an ordinary question")
    qtbot.waitUntil(lambda: not chickadee.open_chats.current.busy)
    ordinary = chickadee.open_chats.current.chat.id
    window.commands.run("new_temporary_chat")
    chat = chickadee.open_chats.current
    assert window.header.temporary.isVisible()
    ask(chickadee, f"a secret {SECRET}")
    qtbot.waitUntil(lambda: len(chat.messages) == 2 and not chat.busy)
    assert chat.messages[-1].content == f"echo: a secret {SECRET}"
    qtbot.waitUntil(lambda: "Temporary" in [row.text for row in window.sidebar.list.rows.rows])
    chickadee.chats.messages.edit(chat.messages[0].id)
    view = window.transcript.view_of(chat.messages[0].id)
    assert view is not None
    assert view.editor is not None
    qtbot.keyClicks(view.editor.text, f" edited {SECRET}")
    qtbot.keyClicks(window.composer.text, f"a draft {SECRET}")
    chickadee.chats.chat.open(ordinary)
    assert not window.header.temporary.isVisible()
    chickadee.chats.chat.open(chat.chat.id)  # it is there as long as the program runs
    assert window.composer.text.toPlainText() == f"a draft {SECRET}"
    chickadee.chats.messages.branch_off(chat.messages[-1].id)
    copy = chickadee.open_chats.current
    assert copy.temporary
    assert [message.content for message in copy.messages] == [message.content for message in chat.messages]
    chickadee.chats.chat.open(chat.chat.id)
    kept = [request.chat for request in requests() if isinstance(request, Generate | Prepare)]
    assert set(kept) <= {ordinary, ""}
    assert kept.count("") >= 1
    window.close()
    assert files_with(folders.data, "ordinary") != []
    assert files_with(folders.data, SECRET) == []
    assert files_with(folders.data, chat.chat.id) == []


def test_an_undo_brings_a_temporary_chat_back(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    chickadee.window.commands.run("new_temporary_chat")
    ask(chickadee, "hello")
    chat = chickadee.open_chats.current
    qtbot.waitUntil(lambda: len(chat.messages) == 2 and not chat.busy)
    chickadee.window.commands.run("delete_chat")
    assert not chickadee.open_chats.current.temporary
    chickadee.window.notice.button.click()
    assert chickadee.open_chats.current is chat
    chickadee.window.commands.run("new_chat")
    assert not chickadee.open_chats.current.temporary


def test_an_empty_temporary_chat_is_opened_once(chickadee: Chickadee, qtbot: QtBot) -> None:
    qtbot.keyClick(
        chickadee.window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
    )
    chat = chickadee.open_chats.current
    assert chat.temporary
    chickadee.window.commands.run("new_temporary_chat")
    assert chickadee.open_chats.current is chat
    chickadee.window.commands.run("export_chat")
    assert "cannot be exported" in chickadee.window.notice.text.text()
