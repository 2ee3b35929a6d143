"""Import and export in the real window."""

from __future__ import annotations

import json
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.control.exchange import IMPORTING
from app.folders import Folders
from app.library.upkeep import keep_up
from app.wiring import Chickadee
from tests.app.conftest import Opener
from tests.app.sidebar.test_sidebar import filled  # noqa: F401 - a fixture
from tests.app.test_window import Ask, done


def told(chickadee: Chickadee) -> str:
    return chickadee.window.notice.text.text()


def test_all_chats_go_out_and_come_back(filled: Chickadee, qtbot: QtBot, tmp_path: Path, folders: Folders) -> None:  # noqa: F811
    path = tmp_path / "all"
    filled.librarian.exchange.export(None, str(path), as_json=True)
    qtbot.waitUntil(lambda: told(filled) == "6 chats were exported.")
    file = tmp_path / "all.json"
    assert len(json.loads(file.read_bytes())["chats"]) == 6
    filled.librarian.delete(["0", "1"])
    filled.shelf.library.delete_for_good("0")
    keep_up(folders.library)
    filled.librarian.exchange.import_file(str(file))
    qtbot.waitUntil(lambda: told(filled) == "1 chat was imported. 1 chat has changed.")
    assert len(filled.window.sidebar.titles()) == 6
    assert filled.window.sidebar.bin_button.isHidden()
    assert filled.window.sidebar.task.isHidden()
    filled.librarian.exchange.import_file(str(file))
    qtbot.waitUntil(lambda: told(filled) == "All chats of this file were here already.")


def test_an_open_chat_shows_what_was_imported(chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path) -> None:
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: done(chickadee))
    chat = chickadee.shelf.current.chat
    file = tmp_path / "one.json"
    chickadee.librarian.exchange.export([chat.id], str(file), as_json=True)
    qtbot.waitUntil(lambda: told(chickadee) == "1 chat was exported.")
    content = json.loads(file.read_bytes())
    (entry,) = content["chats"]
    entry |= {"title": "another title", "updated_at": chat.updated_at + 1, "leaf_id": "late"}
    entry["messages"].append({"id": "late", "parent_id": chat.leaf_id, "role": "user", "content": "late words"})
    file.write_text(json.dumps(content))
    chickadee.librarian.exchange.import_file(str(file))
    qtbot.waitUntil(lambda: told(chickadee).endswith("1 chat has changed."))
    assert chickadee.shelf.current.chat.title == "another title"
    assert chickadee.window.transcript.conversation is chickadee.shelf.current
    assert chickadee.shelf.current.messages[-1].content == "late words"


def test_a_bad_file_is_told(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text("[1")
    chickadee.librarian.exchange.import_file(str(file))
    qtbot.waitUntil(lambda: "bad.json is damaged" in told(chickadee))
    assert chickadee.window.sidebar.task.isHidden()


def test_the_dialogs_ask_and_the_line_stops(filled: Chickadee, qtbot: QtBot) -> None:  # noqa: F811
    for command in ("import", "export_chat", "export_all"):
        filled.open_chat("2")
        filled.window.commands.run(command)
        dialog = filled.window.findChild(QFileDialog)
        assert dialog
        dialog.close()
        qtbot.waitUntil(lambda: filled.window.findChild(QFileDialog) is None)
    exchange, task = filled.librarian.exchange, filled.window.sidebar.task
    exchange._doing = IMPORTING
    exchange._tell()
    assert task.isVisible()
    assert task.stop.accessibleName() == "Stop"
    qtbot.mouseClick(task.stop, Qt.MouseButton.LeftButton)
    assert exchange._progress._stopped


def test_with_nothing_to_export_that_is_said(open_window: Opener, qtbot: QtBot) -> None:
    chickadee = open_window()
    chickadee.window.commands.run("export_all")
    assert told(chickadee) == "There is no chat to export yet."
