"""Folders and files that the user adds to the models, and what is removed from them again, with a way to undo it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QFileDialog, QWidget

from app.dialogs.model_list import local_title
from app.words import mark, tr
from common.failures import Failure
from common.paths import path_of, path_text, printable
from models.added import Added
from models.collection import LocalModel
from models.removal import Removal, remove


class Bringing(QObject):
    """`changed`: look again what is here. `said` carries a sentence and what undoes it, `failed` a Failure."""

    changed = Signal()
    said = Signal(object, object)
    failed = Signal(object)

    def __init__(self, parent: QObject, added: Added) -> None:
        super().__init__(parent)
        self._added = added
        self._removal: Removal | None = None

    def choose_folder(self, dialog: QWidget | None) -> None:
        chooser = QFileDialog(dialog, tr("Add folder…"))
        chooser.setFileMode(QFileDialog.FileMode.Directory)
        self._choose(chooser)

    def choose_file(self, dialog: QWidget | None) -> None:
        self._choose(QFileDialog(dialog, tr("Add file…"), "", tr("Models (*.gguf)")))

    def add(self, path: str) -> None:
        """One more folder to look in, or one more file."""
        self._do(lambda: self._added.add(path_of(path)))

    def forget(self, folder: Path) -> None:
        """Look no more into a folder that was added."""
        if self._added.drop(folder):
            self.said.emit(
                lambda: tr(
                    "{folder} was removed from the list. Its files are still there.", folder=printable(str(folder))
                ),
                lambda: self.add(path_text(folder)),
            )
        self.changed.emit()

    def remove(self, model: LocalModel) -> None:
        """Delete what was downloaded, take off the list what was added. Raises Failure."""
        self.finish()
        removal = self._removal = remove(model, self._added)
        gone = mark("{model} was deleted.")
        sentence = gone if removal.deletes else mark("{model} was removed from the list. Its file is still there.")
        self.said.emit(lambda: tr(sentence, model=local_title(model)), self._undo)
        self.changed.emit()

    def finish(self) -> None:
        """What was removed last cannot be undone any more."""
        removal, self._removal = self._removal, None
        if removal is not None:
            removal.finish()

    def _undo(self) -> None:
        removal, self._removal = self._removal, None
        self._do(removal.undo if removal else lambda: None)

    def _do(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Failure as failure:
            self.failed.emit(failure)
        self.changed.emit()

    def _choose(self, chooser: QFileDialog) -> None:
        chooser.fileSelected.connect(self.add)
        chooser.finished.connect(chooser.deleteLater)
        chooser.open()
