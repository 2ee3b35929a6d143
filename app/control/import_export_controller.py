"""Import and export of chats: where to export to, progress in the sidebar, the closing notice, and the undo."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog

from app.control.chat_list_controller import ChatListController
from app.markdown.html import render_html
from app.notice import UNDO_MS
from app.services.background import Background
from app.services.pdf import pdf_of
from app.state.open_chats import OpenChats
from app.store.chat import Chat
from app.store.exchange import Exported, Exporter, JsonExporter, exporters
from app.store.formats import file_name
from app.store.importing import Choice, import_chats, undo_import
from app.store.merging import Imported
from app.store.transfer import Stopped, TransferProgress
from app.window import Window
from app.words import mark, tr, tr_n
from common.failures import Failure

EXPORTERS = exporters(render_html, pdf_of)
NOTICE_MS = 8000
TOPIC = "transfer"  # of notices
PROGRESS_EVERY_MS = 200
IMPORTING = mark("Importing… {percent}%, {chats} chats")
UNDOING = mark("Taking the import back…")
EXPORTING = mark("Exporting… {percent}%, {chats} chats")


class ImportExportController(QObject):
    """Controller of import and export; one runs at a time."""

    def __init__(self, window: Window, open_chats: OpenChats, chat_list: ChatListController) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._chat_list = window, open_chats, chat_list
        self._background = Background(self)
        self._progress = TransferProgress()
        self._task_text = ""
        self._progress_timer = QTimer(self)
        self._progress_timer.timeout.connect(self._show_progress)
        window.sidebar.list.action_requested.connect(
            lambda what, ids, _folder: self.ask_export(ids) if what == "export" else None
        )
        window.sidebar.list.action_requested.connect(
            lambda what, ids, _value: self.ask_export_project(ids[0]) if what == "export_folder" else None
        )
        window.sidebar.task.stop.clicked.connect(lambda: self._progress.stop())
        bind = window.commands.bind
        bind("export_chat", self.ask_export_current)
        bind("export_all", lambda: self.ask_export(None))

    def close(self) -> None:
        """Stop the import or export that is running, without leaving a trace."""
        self._progress_timer.stop()
        self._progress.stop()
        self._background.wait()

    # --- the questions ----------------------------------------------------------------------------------------------

    def ask_export_current(self) -> None:
        """Let the user choose a file to export the open chat to, unless the chat is empty."""
        conversation = self._open_chats.current
        if conversation.temporary:
            self._window.notice.post(
                lambda: tr("A temporary chat is not stored, so it cannot be exported. You can copy its messages."),
                milliseconds=NOTICE_MS,
            )
        elif conversation.messages:
            self.ask_export([conversation.chat.id])
        else:
            self._window.notice.post(
                lambda: tr("This chat is empty, so there is nothing to export."), milliseconds=NOTICE_MS
            )

    def ask_export(self, chat_ids: Sequence[str] | None) -> None:
        """Let the user choose a file to export these chats to; None exports all chats."""
        chats = self._chats(chat_ids)
        if not chats:
            self._window.notice.post(lambda: tr("There are no chats to export yet."), milliseconds=NOTICE_MS)
            return
        several = tr("Chickadee chats {date}", date=date.today().isoformat())
        name = str(_without_extension(file_name(chats[0].title if len(chats) == 1 else several)))
        by_filter = {tr(exporter.name(len(chats))): exporter for exporter in EXPORTERS}
        dialog = self._window.files.ask(
            "export", tr("Export chats"), ";;".join(by_filter), QFileDialog.FileMode.AnyFile, name
        )
        dialog.fileSelected.connect(
            lambda path: self.export(chat_ids, path, by_filter.get(dialog.selectedNameFilter(), EXPORTERS[0]))
        )

    def ask_export_project(self, folder_id: str) -> None:
        """Let the user choose a file for a folder's chats and for what they begin with."""
        exporter = JsonExporter(folder_id)
        chats = [chat.id for chat in self._chats(None) if chat.folder_id == folder_id]
        name = file_name(self._open_chats.projects.of_folder(folder_id).name)
        mode = QFileDialog.FileMode.AnyFile
        dialog = self._window.files.ask("export", tr("Export the project"), tr(exporter.name(len(chats))), mode, name)
        dialog.fileSelected.connect(lambda path: self.export(chats, path, exporter))

    # --- the work ---------------------------------------------------------------------------------------------------

    def import_choices(self, choices: Sequence[Choice]) -> None:
        """Import the chosen chats."""
        store = self._open_chats.store.path
        self._begin(IMPORTING, lambda progress: import_chats(choices, store, progress), self._imported)

    def export(self, chat_ids: Sequence[str] | None, path: str, exporter: Exporter) -> None:
        """Write the chats to `path`, with the format's extension in place of that of another format.

        Every file dialog, the system's own included, asks before it replaces a file, but it asks about the name as
        typed. With the extension, the name may be that of another file, so the user is asked here. A folder of files
        replaces nothing.
        """
        store, writer = self._open_chats.store.path, self._open_chats.store.writer
        ids = None if chat_ids is None else list(chat_ids)
        extension = exporter.extension
        target = Path(path) if path.lower().endswith(extension) else Path(f"{_without_extension(path)}{extension}")

        def write(progress: TransferProgress) -> Exported:
            writer.wait()  # a message that is still being stored belongs to the export
            return exporter.export(store, ids, target, progress)

        def work() -> bool:
            return self._begin(EXPORTING, write, self._exported)

        is_file = not exporter.writes_folder(len(self._chats(chat_ids)))
        if is_file and target != Path(path) and os.path.lexists(target):
            self._window.notice.post(
                lambda: tr("{folder} already contains a file named {name}.", name=target.name, folder=target.parent),
                lambda: tr("Replace"),
                work,
                topic=TOPIC,
            )
        else:
            work()

    def _chats(self, chat_ids: Sequence[str] | None) -> list[Chat]:
        temporary = self._open_chats.temporary_ids
        stored = [chat for chat in self._open_chats.chats() if chat.id not in temporary]
        return [chat for chat in stored if chat_ids is None or chat.id in chat_ids]

    def _begin(
        self,
        task_text: str,
        work: Callable[[TransferProgress], object],
        done: Callable[..., object],
        failed: Callable[[], object] = lambda: None,
    ) -> bool:
        """Run `work` in the background, then `done` or, after a failure, `failed`; return False while one runs."""
        if self._background.running:
            self._window.notice.post(
                lambda: tr("Another import or export is still running. Try again when it is finished.")
            )
            return False
        self._window.notice.solve(TOPIC)
        self._task_text, progress = task_text, TransferProgress()
        self._progress = progress

        def stoppable() -> object:
            try:
                return work(progress)
            except Stopped:
                return None

        def report(failure: Failure) -> None:
            self._hide_progress()
            self._chat_list.upkeep.run_soon()
            self._window.notice.post_failure(failure, TOPIC)
            failed()

        self._background.run(stoppable, lambda result: self._end(done, result), report)
        self._progress_timer.start(PROGRESS_EVERY_MS)
        self._show_progress()
        return True

    def _end(self, done: Callable[..., object], result: object) -> None:
        self._hide_progress()
        if result is None:
            self._chat_list.upkeep.run_soon()  # removes what an import has stored so far
            self._window.notice.post(lambda: tr("Stopped. Nothing was changed."), milliseconds=NOTICE_MS)
        else:
            done(result)

    def _imported(self, imported: Imported) -> None:
        self._show_changed(imported)
        if imported.added or imported.changed or imported.folders:
            self._offer_undo(imported)
        else:
            self._window.notice.post(lambda: _imported_text(imported), milliseconds=NOTICE_MS)

    def _offer_undo(self, imported: Imported) -> None:
        self._window.notice.post_undo(lambda: _imported_text(imported), lambda: self._undo(imported))

    def _undo(self, imported: Imported) -> bool:
        """Take an import back: the new chats go to Recently deleted, the changed ones become what they were."""
        store, writer = self._open_chats.store.path, self._open_chats.store.writer

        def work(_progress: TransferProgress) -> Imported:
            writer.wait()
            undo_import(imported, store)
            return imported

        return self._begin(UNDOING, work, self._undone, lambda: self._offer_undo(imported))

    def _show_changed(self, imported: Imported) -> bool:
        """Show the chats as the import or its undo has left them; return False if they cannot be read."""
        shown = self._chat_list.do(lambda: self._open_chats.reload(imported.touched))
        self._chat_list.show_imported()
        return shown

    def _undone(self, imported: Imported) -> None:
        if not self._show_changed(imported) or not self._chat_list.delete(imported.added):
            self._offer_undo(imported)
            return
        for folder_id in imported.folders:
            if not any(chat.folder_id == folder_id for chat in self._open_chats.chats()):
                self._chat_list.delete_empty_folder(folder_id)

    def _exported(self, exported: Exported) -> None:
        name, folder = exported.path.name, exported.path.parent

        def words() -> str:
            return tr_n(
                "{n} chat was exported to {name}.", "{n} chats were exported to {name}.", exported.count, name=name
            )

        self._window.notice.post(
            words,
            lambda: tr("Show in folder"),
            lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))),
            milliseconds=UNDO_MS,
        )

    def _show_progress(self) -> None:
        progress = self._progress
        self._window.sidebar.task.show_text(
            tr(self._task_text, percent=round(progress.share * 100), chats=f"{progress.chats:,}")
        )

    def _hide_progress(self) -> None:
        self._progress_timer.stop()
        self._window.sidebar.task.show_text("")


def _without_extension(path: str) -> Path:
    """Return the path without the extension of any export format."""
    plain = Path(path)
    return plain.with_suffix("") if plain.suffix.lower() in {each.extension for each in EXPORTERS} else plain


def _imported_text(imported: Imported) -> str:
    if imported.added or imported.changed:
        sentences = [tr_n("{n} chat was imported.", "{n} chats were imported.", len(imported.added))]
        if imported.changed:
            sentences.append(tr_n("{n} chat was updated.", "{n} chats were updated.", len(imported.changed)))
        return " ".join(sentences)
    if imported.folders:
        return tr_n("{n} folder was imported.", "{n} folders were imported.", len(imported.folders))
    return tr("All these chats are already here.") if imported.same else tr("There are no chats in this file.")
