"""Import and export in the real window."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from threading import Event

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialogButtonBox, QFileDialog, QFileSystemModel, QLineEdit, QMessageBox
from pytestqt.qtbot import QtBot

from app.control.import_export_controller import IMPORTING
from app.folders import Folders
from app.store.exchange import Exported, JsonExporter
from app.store.importing import Choice
from app.store.readers.places import Source
from app.store.transfer import TransferProgress
from app.store.upkeep import run_upkeep
from app.wiring import Chickadee
from tests.app.conftest import Opener
from tests.app.sidebar.test_sidebar import filled  # noqa: F401 - a fixture
from tests.app.test_window import Ask, done


def told(chickadee: Chickadee) -> str:
    return chickadee.window.notice.text.text()


def test_all_chats_go_out_and_come_back(filled: Chickadee, qtbot: QtBot, tmp_path: Path, folders: Folders) -> None:  # noqa: F811
    path = tmp_path / "all"
    filled.chats.import_export.export(None, str(path), JsonExporter())
    qtbot.waitUntil(lambda: told(filled).startswith("6 chats were exported to "))
    file = tmp_path / "all.json"
    assert len(json.loads(file.read_bytes())["chats"]) == 6
    filled.chats.list.delete(["0", "1"])
    filled.open_chats.store.delete_for_good("0")
    run_upkeep(folders.store)
    filled.chats.import_export.import_choices([Choice(Source(file))])
    qtbot.waitUntil(lambda: told(filled) == "1 chat was imported. 1 chat was updated.")
    assert len(filled.window.sidebar.titles()) == 6
    assert filled.window.sidebar.bin_button.isHidden()
    assert filled.window.sidebar.task.isHidden()
    filled.chats.import_export.import_choices([Choice(Source(file))])
    qtbot.waitUntil(lambda: told(filled) == "All these chats are already here.")


def test_an_open_chat_shows_what_was_imported(chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path) -> None:
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: done(chickadee))
    chat = chickadee.open_chats.current.chat
    file = tmp_path / "one.json"
    chickadee.chats.import_export.export([chat.id], str(file), JsonExporter())
    qtbot.waitUntil(lambda: told(chickadee) == "1 chat was exported to one.json.")
    content = json.loads(file.read_bytes())
    (entry,) = content["chats"]
    entry |= {"title": "another title", "updated_at": chat.updated_at + 1, "leaf_id": "late"}
    entry["messages"].append({"id": "late", "parent_id": chat.leaf_id, "role": "user", "content": "late words"})
    file.write_text(json.dumps(content))
    chickadee.chats.import_export.import_choices([Choice(Source(file))])
    qtbot.waitUntil(lambda: told(chickadee).endswith("1 chat was updated."))
    assert chickadee.open_chats.current.chat.title == "another title"
    assert chickadee.window.transcript.conversation is chickadee.open_chats.current
    assert chickadee.open_chats.current.messages[-1].content == "late words"


class SlowExporter(JsonExporter):
    """An exporter that waits until it may go on, as one of very many chats takes long."""

    def __init__(self) -> None:
        self.may_go_on = Event()

    def export(self, store: Path, chat_ids: Iterable[str] | None, target: Path, progress: TransferProgress) -> Exported:
        self.may_go_on.wait()
        return super().export(store, chat_ids, target, progress)


def test_an_import_can_be_undone_after_another_transfer_and_after_a_failure(
    filled: Chickadee,  # noqa: F811
    qtbot: QtBot,
    tmp_path: Path,
    folders: Folders,
) -> None:
    exchange, notice, file = filled.chats.import_export, filled.window.notice, tmp_path / "new.json"
    chat = {"id": "new", "title": "new", "created_at": 1, "updated_at": 1}
    turn = {"id": "turn", "parent_id": None, "role": "user", "content": "words"}
    file.write_text(json.dumps({"format": "chickadee-chats", "version": 1, "chats": [chat | {"messages": [turn]}]}))
    exchange.import_choices([Choice(Source(file))])
    qtbot.waitUntil(lambda: told(filled) == "1 chat was imported.")
    undo, slow = notice.button, SlowExporter()
    exchange.export(None, str(tmp_path / "all.json"), slow)
    qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    assert told(filled).startswith("Another import or export is still running.")
    slow.may_go_on.set()
    qtbot.waitUntil(lambda: told(filled) == "7 chats were exported to all.json.")
    db = sqlite3.connect(folders.store, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")  # as a backup program does
    qtbot.mouseClick(undo, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: not exchange._background.running and told(filled) == "1 chat was imported.")
    db.execute("ROLLBACK")
    db.close()
    qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: told(filled) == "“new” was deleted.")
    assert "new" not in [each.id for each in filled.open_chats.chats()]


def test_a_bad_file_is_told(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text("[1")
    chickadee.chats.import_export.import_choices([Choice(Source(file))])
    qtbot.waitUntil(lambda: "bad.json is damaged" in told(chickadee))
    assert chickadee.window.sidebar.task.isHidden()


def test_the_dialogs_ask_and_the_line_stops(filled: Chickadee, qtbot: QtBot) -> None:  # noqa: F811
    for command in ("export_chat", "export_all"):
        filled.chats.chat.open("2")
        filled.window.commands.run(command)
        dialog = filled.window.findChild(QFileDialog)
        assert dialog
        dialog.close()
        qtbot.waitUntil(lambda: filled.window.findChild(QFileDialog) is None)
    exchange, task = filled.chats.import_export, filled.window.sidebar.task
    exchange._task_text = IMPORTING
    exchange._show_progress()
    assert task.isVisible()
    assert task.stop.accessibleName() == "Stop"
    qtbot.mouseClick(task.stop, Qt.MouseButton.LeftButton)
    assert exchange._progress._stopped


def type_into_dialog(chickadee: Chickadee, qtbot: QtBot, folder: Path, name: str, kind: str) -> None:
    """Choose the kind of file, type a name and press Save in the open dialog, as the user does."""
    dialog = chickadee.window.findChild(QFileDialog)
    assert dialog
    files = dialog.findChild(QFileSystemModel)
    assert files
    with qtbot.waitSignal(files.directoryLoaded, check_params_cb=lambda path: Path(path) == folder):
        dialog.setDirectory(str(folder))
    (chosen,) = [found for found in dialog.nameFilters() if kind in found]
    dialog.selectNameFilter(chosen)
    line = dialog.findChild(QLineEdit, "fileNameEdit")
    assert line
    line.clear()
    qtbot.keyClicks(line, name)
    buttons = dialog.findChild(QDialogButtonBox)
    assert buttons
    save = buttons.button(QDialogButtonBox.StandardButton.Save)
    qtbot.waitUntil(save.isEnabled)
    qtbot.mouseClick(save, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: chickadee.window.findChild(QFileDialog) is None)


@pytest.mark.parametrize(
    ("command", "name", "kind", "ending"),
    [("export_all", "all", "JSON", ".json"), ("export_chat", "single", "Markdown", ".md"),
     ("export_all", "v1.2", "JSON", ".json")],
)  # fmt: skip
def test_a_name_without_its_ending_replaces_a_file_only_if_that_is_wanted(
    filled: Chickadee,  # noqa: F811
    qtbot: QtBot,
    tmp_path: Path,
    command: str,
    name: str,
    kind: str,
    ending: str,
) -> None:
    folder, notice = tmp_path / "out", filled.window.notice
    folder.mkdir()
    mine = folder / f"{name}{ending}"
    mine.write_text("my own")
    filled.chats.chat.open("2")
    filled.window.commands.run(command)
    type_into_dialog(filled, qtbot, folder, name, kind)
    assert told(filled) == f"{folder} already contains a file named {mine.name}."
    notice.dismiss()
    assert not filled.chats.import_export._background.running
    assert [(path.name, path.read_text()) for path in folder.iterdir()] == [(mine.name, "my own")]
    filled.window.commands.run(command)
    type_into_dialog(filled, qtbot, folder, name, kind)
    qtbot.mouseClick(notice.button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "exported" in told(filled))
    assert [path.name for path in folder.iterdir()] == [mine.name]
    assert "question" in mine.read_text()


def test_a_name_that_nothing_has_is_taken_as_it_is(filled: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:  # noqa: F811
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "all.md").write_text("my own")
    for name, kind in (("v1.2", "JSON"), ("all", "Folder of Markdown")):
        filled.window.notice.dismiss()
        filled.window.commands.run("export_all")
        type_into_dialog(filled, qtbot, folder, name, kind)
        qtbot.waitUntil(
            lambda: told(filled).startswith("6 chats were exported to ") and filled.window.notice.isVisible()
        )
    assert {path.name for path in folder.iterdir()} == {"v1.2.json", "all", "all.md"}
    assert (folder / "all.md").read_text() == "my own"


def test_a_name_with_its_ending_is_asked_about_by_the_dialog(
    filled: Chickadee,  # noqa: F811
    qtbot: QtBot,
    tmp_path: Path,
) -> None:
    mine, asked = tmp_path / "all.json", list[str]()
    mine.write_text("my own")
    filled.window.commands.run("export_all")
    dialog = filled.window.findChild(QFileDialog)
    assert dialog

    def refuse() -> None:
        box = filled.window.findChild(QMessageBox)
        if box is not None:
            asked.append(box.text())
            box.reject()
            dialog.reject()

    clock = QTimer(filled.window)
    clock.timeout.connect(refuse)
    clock.start(10)
    type_into_dialog(filled, qtbot, tmp_path, "all.json", "JSON")
    assert len(asked) == 1
    assert mine.read_text() == "my own"


def test_with_nothing_to_export_that_is_said(open_window: Opener, qtbot: QtBot) -> None:
    chickadee = open_window()
    chickadee.window.commands.run("export_all")
    assert told(chickadee) == "There are no chats to export yet."


def test_an_empty_chat_is_not_exported(filled: Chickadee) -> None:  # noqa: F811
    assert not filled.open_chats.current.messages
    filled.window.commands.run("export_chat")
    assert told(filled) == "This chat is empty, so there is nothing to export."
    assert not filled.window.findChildren(QFileDialog)


def test_formats_for_reading_come_first_and_a_name_has_one_extension(
    filled: Chickadee,  # noqa: F811
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The chat is named like a file of another format; the notice says where the export went, and shows it."""
    folder = tmp_path / "out"
    folder.mkdir()
    filled.chats.chat.open("2")
    filled.open_chats.current.update_entry(title="rich.md", title_from="user")
    filled.window.commands.run("export_chat")
    dialog = filled.window.findChild(QFileDialog)
    assert dialog
    assert [re.findall(r"\*(\.\w+)", found)[0] for found in dialog.nameFilters()] == [".md", ".pdf", ".html", ".json"]
    assert Path(dialog.selectedFiles()[0]).name == "rich"
    type_into_dialog(filled, qtbot, folder, "rich.md", "JSON")
    qtbot.waitUntil(lambda: told(filled) == "1 chat was exported to rich.json.")
    assert [path.name for path in folder.iterdir()] == ["rich.json"]
    opened: list[str] = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    assert filled.window.notice.button.text() == "Show in folder"
    qtbot.mouseClick(filled.window.notice.button, Qt.MouseButton.LeftButton)
    assert opened == [str(folder)]
