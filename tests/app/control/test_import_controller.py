"""The import dialog in the real window: chats of other programs are found, chosen, imported, and taken back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from app.dialogs.import_dialog import ImportDialog
from app.dialogs.import_tree import MESSAGES, TITLE
from app.wiring import Chickadee
from tests.app.store.readers import sample_files as samples
from tests.app.store.readers.conftest import home  # noqa: F401 - a fixture

CHECK = Qt.ItemDataRole.CheckStateRole


def opened(chickadee: Chickadee, qtbot: QtBot) -> ImportDialog:
    chickadee.window.commands.run("import")
    dialog = chickadee.chats.importing.dialog
    assert dialog is not None
    qtbot.waitUntil(lambda: "Looking" not in dialog.state.text())
    return dialog


def rows(dialog: ImportDialog) -> list[tuple[str, str]]:
    tree = dialog.model
    return [(tree.index(row, TITLE).data(), tree.index(row, MESSAGES).data()) for row in range(tree.rowCount())]


def told(chickadee: Chickadee) -> list[str]:
    return [row.text.text() for row in chickadee.window.notice.rows]


def test_found_chats_are_chosen_imported_and_taken_back(
    chickadee: Chickadee, qtbot: QtBot, home: Path  # noqa: F811
) -> None:  # fmt: skip
    samples.write_all(home)
    (samples.gpt4all_folder(home) / "gpt4all-bad.chat").write_bytes(b"garbage")
    dialog = opened(chickadee, qtbot)
    assert rows(dialog) == [
        ("GPT4All · 1 chat", "3"), ("Jan · 1 chat", "3"), ("LM Studio · 1 chat", "4"),
        ("Open WebUI · 1 chat", "4"), ("Ollama · 1 chat", "3"),
    ]  # fmt: skip
    assert dialog.problem.text().startswith("gpt4all-bad.chat is damaged")
    assert not dialog.import_button.isEnabled()
    tree, jan = dialog.model, dialog.model.index(1, TITLE)
    assert tree.index(0, TITLE, jan).data() == "Birds 🐦"
    tree.setData(tree.index(0, TITLE), Qt.CheckState.Checked.value, CHECK)
    dialog.tree.setFocus()
    dialog.tree.setCurrentIndex(jan)
    qtbot.keyClick(dialog.tree, Qt.Key.Key_Space)
    assert dialog.import_button.text() == "Import 2 chats"
    dialog.import_button.click()
    qtbot.waitUntil(lambda: "2 chats were imported." in told(chickadee))
    assert chickadee.window.sidebar.titles().count("Birds 🐦") == 2
    assert chickadee.chats.importing.dialog is None
    chickadee.window.notice.button.click()
    qtbot.waitUntil(lambda: "2 chats were deleted." in told(chickadee))
    assert chickadee.window.sidebar.titles().count("Birds 🐦") == 0
    assert len(chickadee.open_chats.store.deleted_chats()) == 2


def test_a_file_is_chosen_and_shown(chickadee: Chickadee, qtbot: QtBot, home: Path) -> None:  # noqa: F811
    dialog = opened(chickadee, qtbot)
    assert dialog.state.text().startswith("No chats of other programs were found.")
    dialog.file_button.click()
    files = dialog.findChild(QFileDialog)
    assert files
    files.close()
    bad = home / "bad.json"
    bad.write_text("[1")
    chickadee.chats.importing.look_at_file(str(bad))
    qtbot.waitUntil(lambda: "bad.json is damaged" in dialog.problem.text())
    entries = [samples.claude(), samples.claude() | {"uuid": "another", "name": "Second"}]
    path = samples.write_zip(home / "claude.zip", entries)
    chickadee.chats.importing.look_at_file(str(path))
    qtbot.waitUntil(lambda: rows(dialog) == [("Claude: claude.zip · 2 chats", "8")])
    assert dialog.problem.isHidden()
    assert dialog.import_button.text() == "Import 2 chats"
    tree = dialog.model
    first = tree.index(0, TITLE, tree.index(0, TITLE))
    tree.setData(first, Qt.CheckState.Unchecked.value, CHECK)
    assert tree.index(0, TITLE).data(CHECK) == Qt.CheckState.PartiallyChecked
    dialog.import_button.click()
    qtbot.waitUntil(lambda: "1 chat was imported." in told(chickadee))
    assert chickadee.window.sidebar.titles().count("Second") + chickadee.window.sidebar.titles().count("Birds 🐦") == 1


def test_closing_ends_the_reading(chickadee: Chickadee, qtbot: QtBot, home: Path) -> None:  # noqa: F811
    entries = [samples.open_webui() | {"id": str(number)} for number in range(300)]
    path = home / "many.json"
    path.write_text(json.dumps(entries))
    dialog = opened(chickadee, qtbot)
    chickadee.chats.importing.look_at_file(str(path))
    dialog.close()
    qtbot.waitUntil(lambda: not chickadee.chats.importing._background.running)
    assert chickadee.chats.importing.dialog is None
    again = opened(chickadee, qtbot)
    assert rows(again) == []


def test_an_imported_folder_goes_with_its_chats(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    turn = {"id": "q", "parent_id": None, "role": "user", "content": "hello"}
    chat = {"id": "c", "title": "t", "created_at": 1, "updated_at": 2, "folder_id": "f", "messages": [turn]}
    folder = {"id": "f", "name": "Work", "created_at": 1}
    content = {"format": "chickadee-chats", "version": 1, "folders": [folder], "chats": [chat]}
    path = samples.write_json(tmp_path / "ours.json", content)
    dialog = opened(chickadee, qtbot)
    chickadee.chats.importing.look_at_file(str(path))
    qtbot.waitUntil(lambda: dialog.import_button.isEnabled())
    dialog.import_button.click()
    qtbot.waitUntil(lambda: "1 chat was imported." in told(chickadee))
    assert [each.name for each in chickadee.open_chats.folders()] == ["Work"]
    chickadee.window.notice.button.click()
    qtbot.waitUntil(lambda: "“t” was deleted." in told(chickadee))
    assert chickadee.open_chats.folders() == []


@pytest.fixture(autouse=True)
def _nothing_of_this_computer(home: Path) -> None:  # noqa: F811
    """Keep the chats of the programs on this computer out of the tests."""
