"""The Storage page of the settings: measures stored files in the background, and deletes what the user chooses."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices

from app.control.chat_list_controller import ChatListController
from app.control.collections_controller import CollectionsController
from app.control.settings_controller import SettingsController
from app.dialogs.settings_dialog import SettingsDialog
from app.dialogs.storage_page import StoragePage
from app.folders import Folders
from app.notice import NoticeArea
from app.services.background import Background
from app.store.kept_files import delete_files, delete_paths, kinds, measure_sizes
from app.words import mark, tr, worded
from common.failures import Failure

PAGE = "storage"
TITLE = mark("Storage")
STILL_THERE = mark("The deleted data is still in the file and will be removed later.")


class StorageController(QObject):
    """Controller of the Storage page. `cache` is the folder of files that can be computed again."""

    def __init__(
        self,
        settings: SettingsController,
        chat_list: ChatListController,
        folders: Folders,
        cache: Path,
        notice: NoticeArea,
        collections: CollectionsController,
    ) -> None:
        super().__init__(settings)
        self._collections = collections
        self._settings, self._chat_list, self._logs, self._notice = settings, chat_list, folders.logs, notice
        self._kinds = {kind.name: kind for kind in kinds(folders, cache)}
        self._work = Background(self)
        self._stale = False
        self.page: StoragePage | None = None
        settings.opened.connect(self._add_page)
        chat_list.upkeep.ended.connect(self._upkeep_ended)

    def open(self) -> None:
        """Open the settings dialog at the Storage page."""
        dialog = self._settings.open()
        self._measure()
        dialog.show_section(PAGE)

    def open_logs(self) -> None:
        """Have the system show the folder of the log files; say where it is if no program can."""
        folder = self._logs
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self._notice.post(lambda: tr("No program could open the folder {folder}.", folder=folder))

    def close(self) -> None:
        self._work.wait()

    def _add_page(self, dialog: SettingsDialog) -> None:
        self.page = StoragePage(self._kinds.values(), dialog)
        self.page.action_requested.connect(self._do_action)
        dialog.add_page(PAGE, TITLE, self.page)
        dialog.finished.connect(self._closed)
        self._measure()

    def _measure(self) -> None:
        self._stale = self._work.running
        if self.page is not None and not self._stale:
            self._work.run(lambda: measure_sizes(self._kinds.values()), self._show, self._show_failure)

    def _show(self, sizes: dict[str, tuple[int, int]]) -> None:
        if self.page is not None:
            self.page.show_sizes(sizes)
        if self._stale:  # files were deleted while they were being measured
            self._measure()

    def _do_action(self, name: str, action: str) -> None:
        {"open": self._open_folder, "delete": self._delete}[action](name)

    def _open_folder(self, name: str) -> None:
        folder = self._kinds[name].folder
        if not (folder.is_dir() and QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))) and self.page:
            self.page.note.say(lambda: tr("No program could open the folder {folder}.", folder=folder))

    def _delete(self, name: str) -> None:
        if name == "chats":
            self._delete_chats()
            return
        if name == "collections":
            self._collections.stop_processes()  # they would go on with files that are gone
        kind = self._kinds[name]
        self._work.run(lambda: delete_files(kind), self._deleted, self._show_failure)

    def _delete_chats(self) -> None:
        try:
            self._chat_list.delete_all()
        except Failure as failure:
            self._show_failure(failure)
            return
        paths = self._kinds["chats"].folder.glob("library-damaged*.sqlite3*")
        damaged = (path for path in paths if not path.is_dir())  # Chickadee never creates a folder of this name
        saved = self._kinds["saved"]  # the cached context reveals the chats' texts
        self._work.run(lambda: delete_paths(chain(damaged, saved.paths())), self._deleted, self._show_failure)

    def _upkeep_ended(self, failure: Failure | None) -> None:
        """Measure again after the store's upkeep; say so if it failed and the deleted data is still in the file."""
        if failure is not None and self.page is not None:
            self.page.note.say(lambda: f"{tr(STILL_THERE)} {worded(failure.sentence)}")
        self._measure()

    def _deleted(self, failed_files: list[str]) -> None:
        if self.page is not None:
            names = ", ".join(failed_files[:3])
            self.page.note.say(
                (lambda: tr("Some files could not be deleted: {files}.", files=names)) if failed_files else ""
            )
        self._measure()

    def _show_failure(self, failure: Failure) -> None:
        if self.page is not None:
            self.page.note.say(failure.sentence)

    def _closed(self) -> None:
        self.page = None
