"""Dialogs for files open where the user looks for files."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QDir
from PySide6.QtWidgets import QFileDialog, QWidget
from pytestqt.qtbot import QtBot

from app.file_dialogs import FileDialogs, Mode
from app.window_state import WindowState


def test_a_dialog_opens_in_the_documents_at_first_and_later_where_something_was_chosen(
    qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, it opened in the working folder: that of the source, after `make run`."""
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    window = QWidget()
    qtbot.addWidget(window)
    dialogs = FileDialogs(WindowState(), window)
    assert shown_folder(dialogs.ask("export", "Export", mode=Mode.AnyFile, name="a.md")) == tmp_path
    (tmp_path / "Documents").mkdir()
    first = dialogs.ask("export", "Export", mode=Mode.AnyFile, name="a.md")
    assert shown_folder(first) == tmp_path / "Documents"
    chosen = tmp_path / "chosen"
    chosen.mkdir()
    first.filesSelected.emit([str(chosen / "a.md")])
    assert shown_folder(dialogs.ask("export", "Export", mode=Mode.AnyFile, name="a.md")) == chosen


def shown_folder(dialog: QFileDialog) -> Path:
    return Path(QDir(dialog.directory()).absolutePath())
