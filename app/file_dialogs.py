"""The dialogs that ask for a file or folder: each opens where the user chose something for the same purpose before."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from PySide6.QtCore import QStandardPaths, Qt
from PySide6.QtWidgets import QFileDialog, QWidget

from app.window_state import WindowState

Purpose = Literal["attach", "export", "import", "model", "models", "collection", "snippets"]
Mode = QFileDialog.FileMode


class FileDialogs:
    """Opener of file dialogs over `window`; the folder of each purpose is kept in the window's state."""

    def __init__(self, state: WindowState, window: QWidget) -> None:
        self._state, self._window = state, window

    def ask(  # noqa: PLR0913
        self,
        purpose: Purpose,
        title: str,
        kinds: str = "",
        mode: Mode = Mode.ExistingFile,
        name: str = "",
        parent: QWidget | None = None,
        start: str = "",
    ) -> QFileDialog:
        """Open a dialog over `parent` or the window, and return it for its signals to be connected.

        `mode` AnyFile asks for a file to write, with the suggested `name`. `start` is the folder for the first time,
        that of the user's documents by default: the working folder may be Chickadee's own.
        """
        folder = self._state.folder(purpose) or start or documents()
        dialog = QFileDialog(parent or self._window, title, str(Path(folder, name)), kinds)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(mode)
        if mode == Mode.AnyFile:
            dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly, mode == Mode.Directory)
        dialog.filesSelected.connect(lambda paths: self._state.set_folder(purpose, str(Path(paths[0]).parent)))
        dialog.open()
        return dialog


def documents() -> str:
    """Return the folder of the user's documents, or the home folder if there is none."""
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return folder if Path(folder).is_dir() else str(Path.home())
