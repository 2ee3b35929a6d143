"""Import and export: the questions for a file, the progress in the sidebar, and the sentence at the end."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QFileDialog

from app.control.chat_list_controller import ChatListController
from app.services.background import Background
from app.state.open_chats import OpenChats
from app.store.chat import Chat
from app.store.exchange import Progress, Stopped, export_json, export_markdown, import_chats
from app.store.formats import file_name
from app.store.merging import Imported
from app.window import Window
from app.words import mark, tr, tr_n
from common.failures import Failure

TOLD_MS = 8000
LOOK_MS = 200
IMPORTING = mark("Importing… {percent} %, {chats} chats")
EXPORTING = mark("Exporting… {percent} %, {chats} chats")


class ImportExportController(QObject):
    """One import or export at a time."""

    def __init__(self, window: Window, open_chats: OpenChats, chat_list: ChatListController) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._chat_list = window, open_chats, chat_list
        self._background = Background(self)
        self._progress = Progress()
        self._doing = ""
        self._look = QTimer(self)
        self._look.timeout.connect(self._tell)
        window.sidebar.list.asked.connect(lambda what, ids, _folder: self.ask_export(ids) if what == "export" else None)
        window.sidebar.task.stop.clicked.connect(lambda: self._progress.stop())
        bind = window.commands.bind
        bind("import", self.ask_import)
        bind("export_chat", lambda: self.ask_export([open_chats.current.chat.id]))
        bind("export_all", lambda: self.ask_export(None))

    def close(self) -> None:
        """Stop what is under way, without a trace."""
        self._look.stop()
        self._progress.stop()
        self._background.wait()

    # --- the questions ----------------------------------------------------------------------------------------------

    def ask_import(self) -> None:
        kinds = tr("Chats (*.json *.zip)") + ";;" + tr("All files (*)")
        dialog = QFileDialog(self._window, tr("Import chats from Chickadee or ChatGPT"), "", kinds)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(self.import_file)
        dialog.open()

    def ask_export(self, chat_ids: Sequence[str] | None) -> None:
        """For a file to write these chats to; None: all of them."""
        chats = self._chosen(chat_ids)
        if not chats:
            self._window.notice.tell(lambda: tr("There are no chats to export yet."), milliseconds=TOLD_MS)
            return
        many = tr("Chickadee chats {date}", date=date.today().isoformat())
        name = file_name(chats[0].title if len(chats) == 1 else many)
        markdown = (
            tr("Markdown, for reading (*.md)")
            if len(chats) == 1
            else tr("Folder of Markdown files, for reading (*.md)")
        )
        lossless = tr("JSON, can be imported again (*.json)")
        dialog = QFileDialog(self._window, tr("Export chats"), name, f"{lossless};;{markdown}")
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.fileSelected.connect(
            lambda path: self.export(chat_ids, path, as_json=dialog.selectedNameFilter() == lossless)
        )
        dialog.open()

    # --- the work ---------------------------------------------------------------------------------------------------

    def import_file(self, path: str) -> None:
        store, file = self._open_chats.store.path, Path(path)
        self._begin(IMPORTING, lambda progress: import_chats(file, store, progress), self._imported)

    def export(self, chat_ids: Sequence[str] | None, path: str, as_json: bool) -> None:
        """To `path`, which gets the ending of its kind if it has none.

        The dialog has asked about the name as it was typed, the system's own dialogs too: with the ending it may be
        another file's, which only the user can give away. A folder of files replaces nothing."""
        store, ids = self._open_chats.store.path, None if chat_ids is None else list(chat_ids)
        ending = ".json" if as_json else ".md"
        target = Path(path) if path.lower().endswith(ending) else Path(path + ending)
        write = export_json if as_json else export_markdown

        def work() -> None:
            self._begin(EXPORTING, lambda progress: write(store, ids, target, progress), self._exported)

        is_file = as_json or len(self._chosen(chat_ids)) == 1
        if is_file and target != Path(path) and os.path.lexists(target):
            self._window.notice.tell(
                lambda: tr("{folder} already contains a file named {name}.", name=target.name, folder=target.parent),
                lambda: tr("Replace"),
                work,
            )
        else:
            work()

    def _chosen(self, chat_ids: Sequence[str] | None) -> list[Chat]:
        return [chat for chat in self._open_chats.chats() if chat_ids is None or chat.id in chat_ids]

    def _begin(self, doing: str, work: Callable[[Progress], object], done: Callable[..., object]) -> None:
        if self._background.running:
            self._window.notice.tell(
                lambda: tr("Another import or export is still running. Try again when it is finished.")
            )
            return
        self._doing, progress = doing, Progress()
        self._progress = progress

        def stoppable() -> object:
            try:
                return work(progress)
            except Stopped:
                return None

        self._background.run(stoppable, lambda result: self._end(done, result), self._failed)
        self._look.start(LOOK_MS)
        self._tell()

    def _end(self, done: Callable[..., object], result: object) -> None:
        self._quiet()
        if result is None:
            self._window.notice.tell(lambda: tr("Stopped. Nothing was changed."), milliseconds=TOLD_MS)
        else:
            done(result)

    def _failed(self, failure: Failure) -> None:
        self._quiet()
        self._window.notice.tell_failure(failure)

    def _imported(self, imported: Imported) -> None:
        self._open_chats.reload(imported.touched)
        self._chat_list.imported()
        self._window.notice.tell(lambda: _told(imported), milliseconds=TOLD_MS)

    def _exported(self, count: int) -> None:
        self._window.notice.tell(
            lambda: tr_n("{n} chat was exported.", "{n} chats were exported.", count), milliseconds=TOLD_MS
        )

    def _tell(self) -> None:
        progress = self._progress
        self._window.sidebar.task.tell(
            tr(self._doing, percent=round(progress.share * 100), chats=f"{progress.chats:,}")
        )

    def _quiet(self) -> None:
        self._look.stop()
        self._window.sidebar.task.tell("")


def _told(imported: Imported) -> str:
    if imported.added or imported.changed:
        sentences = [tr_n("{n} chat was imported.", "{n} chats were imported.", imported.added)]
        if imported.changed:
            sentences.append(tr_n("{n} chat was updated.", "{n} chats were updated.", imported.changed))
        return " ".join(sentences)
    return tr("All chats in this file are already here.") if imported.same else tr("There are no chats in this file.")
