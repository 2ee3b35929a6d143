"""Opens the page of what is kept, measures it off the window's thread, and deletes what the user says."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from app.background import Background
from app.folders import Folders
from app.library.kept_files import delete_files, kinds, measured
from app.settings.kept_sheet import KeptSheet
from app.sidebar.librarian import Librarian
from app.window import Window
from app.words import told, tr
from models.failures import Failure


class Keeping(QObject):
    """`cache`: the folder for what can be worked out again."""

    def __init__(self, window: Window, librarian: Librarian, folders: Folders, cache: Path) -> None:
        super().__init__(window)
        self._window, self._librarian = window, librarian
        self._kinds = {kind.name: kind for kind in kinds(folders, cache)}
        self._work = Background(self)
        self.sheet: KeptSheet | None = None
        window.commands.bind("kept", self.open)

    def open(self) -> None:
        if self.sheet is None:
            self.sheet = KeptSheet(self._kinds.values(), self._window)
            self.sheet.opened.connect(self._open_folder)
            self.sheet.deleted.connect(self._delete)
            self.sheet.finished.connect(self._closed)
        self.sheet.show()
        self.sheet.raise_()
        self.sheet.activateWindow()
        self._measure()

    def close(self) -> None:
        self._work.wait()
        if self.sheet is not None:
            self.sheet.close()

    def retranslate(self) -> None:
        if self.sheet is not None:
            self.sheet.retranslate()
            self._measure()

    def restyle(self) -> None:
        if self.sheet is not None:
            self.sheet.restyle()

    def _measure(self) -> None:
        if not self._work.running:
            self._work.run(lambda: measured(self._kinds.values()), self._show, self._complain)

    def _show(self, sizes: dict[str, tuple[int, int]]) -> None:
        if self.sheet is not None:
            self.sheet.show_sizes(sizes)

    def _open_folder(self, name: str) -> None:
        folder = self._kinds[name].folder
        if not (folder.is_dir() and QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))) and self.sheet:
            self.sheet.tell(tr("No program shows the folder {folder}.", folder=folder))

    def _delete(self, name: str) -> None:
        if self._work.running:
            return
        if name == "chats":
            self._delete_chats()
            return
        kind = self._kinds[name]
        self._work.run(lambda: delete_files(kind), self._deleted, self._complain)

    def _delete_chats(self) -> None:
        try:
            self._librarian.delete_all()
        except Failure as failure:
            self._complain(failure)
            return
        for path in self._kinds["chats"].folder.glob("library-damaged*"):
            path.unlink(missing_ok=True)
        saved = self._kinds["saved"]  # what was read of chats says what is in them
        self._work.run(lambda: delete_files(saved), self._deleted, self._complain)

    def _deleted(self, left: list[str]) -> None:
        if self.sheet is not None:
            self.sheet.tell(tr("Some files could not be deleted: {files}.", files=", ".join(left[:3])) if left else "")
        self._measure()

    def _complain(self, failure: Failure) -> None:
        if self.sheet is not None:
            self.sheet.tell(told(str(failure)))

    def _closed(self) -> None:
        self.sheet = None
