"""The chat list: finds, renames, pins, moves, deletes and restores chats and folders; runs the store's upkeep."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from PySide6.QtCore import QObject, QTimer

from app.control.chat_controller import ChatController
from app.events import Event
from app.look.sheet import OneDialog
from app.services.background import Background
from app.services.timers import Throttle
from app.sidebar.bin_dialog import BinDialog
from app.sidebar.chat_rows import Row, rows_of
from app.sidebar.search_view import SearchRunner
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.state.projects import NO_PROJECT, moved_words
from app.store.chat import Chat, Folder
from app.store.message_search import Search
from app.store.upkeep import run_upkeep
from app.window import Window
from app.words import tr, tr_n
from common.failures import Failure

log = logging.getLogger(__name__)
R = TypeVar("R")
LIST_EVERY_MS = 50
CLOSING_SECONDS = 0.2  # the window is closed by then; the next start continues


class Upkeep(QObject):
    """Background upkeep of the chat store, run a while after the last change that may need it.

    `run_soon` schedules it after the pause, `run_now` at once, for data that must leave the file without delay. `close`
    interrupts a run that takes too long; the next start continues it. After a failure it is tried again after
    `again_ms`. The event `ended` carries the Failure that keeps the upkeep waiting, or None.
    """

    def __init__(self, store: Path, parent: QObject, pause_ms: int, again_ms: int) -> None:
        super().__init__(parent)
        self.ended: Event[Failure | None] = Event()
        self._store = store
        self._pause_ms, self._again_ms = pause_ms, again_ms
        self._background = Background(self)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.timeout.connect(self._run)
        self._deadline = math.inf

    def run_soon(self) -> None:
        self._pause.start(self._pause_ms)

    def run_now(self) -> None:
        self._pause.start(0)

    def close(self) -> None:
        if self._pause.isActive() and not self._pause.interval():  # `run_now` was called
            self._run()
        self._pause.stop()
        self._deadline = time.monotonic() + CLOSING_SECONDS
        self._background.wait()

    def _run(self) -> None:
        if self._background.running:
            self.run_soon()
        else:
            self._background.run(
                lambda: run_upkeep(self._store, self._may_go_on), lambda _: self.ended.emit(None), self._retry_later
            )

    def _may_go_on(self) -> bool:
        return time.monotonic() < self._deadline

    def _retry_later(self, failure: Failure) -> None:
        """Log the failure, emit it with `ended`, and schedule the next attempt.

        No notice is shown: only the deletion of all chats waits for the upkeep, and any other write reports the same
        cause.
        """
        log.warning("the store's upkeep waits: %s", failure.log_text)
        self._pause.start(self._again_ms)
        self.ended.emit(failure)


class ChatListController(QObject):
    def __init__(
        self, window: Window, open_chats: OpenChats, engine: EngineQueue, chat: ChatController, upkeep: Upkeep
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine, self._chat = window, open_chats, engine, chat
        self.search = Search(open_chats.store.path)
        self.upkeep = upkeep
        self._search_runner = SearchRunner(self.search, self)
        self._listing = Throttle(self.list_now, LIST_EVERY_MS, self)
        self._bin: OneDialog[BinDialog] = OneDialog()
        self._busy: frozenset[str] = frozenset()  # the chats that the list marks as being answered
        self._connect()

    def close(self) -> None:
        self._search_runner.close()
        self.upkeep.close()

    # --- the list ---------------------------------------------------------------------------------------------------

    def list_now(self) -> None:
        folders = self._open_chats.folders()
        chats = self._open_chats
        self._busy = chats.busy_ids
        rows = rows_of(chats.chats(), folders, time.time(), self._busy, chats.temporary_ids)
        heads = [Row("folder", folder.name, folder.id, folder.id) for folder in folders]
        self._window.sidebar.show_chats(rows, heads, self._open_chats.current.chat.id)

    # --- chats ------------------------------------------------------------------------------------------------------

    def rename(self, chat_id: str, title: str) -> None:
        self.do(lambda: self._open_chats.rename(chat_id, title))

    def delete(self, chat_ids: Iterable[str]) -> bool:
        """Delete the chats and show a notice whose Undo button restores them; return whether it could be done."""
        was_current = self._open_chats.current.chat.id

        def undo(chats: list[Chat]) -> bool:
            restored = self._restore([chat.id for chat in chats])
            if restored and was_current in [chat.id for chat in chats]:
                self._chat.open(was_current)
            return restored

        def deleted(chats: list[Chat]) -> None:
            for chat in chats:
                self._stop(self._open_chats.conversation(chat.id))
                self._engine.idle.forget(chat.id)
            self._chats_came_or_went()
            if chats:
                self._window.notice.post_undo(lambda: _deleted_text(chats), lambda: undo(chats))

        return self.do(lambda: self._open_chats.delete(chat_ids), deleted)

    def delete_all(self) -> None:
        """Delete all chats permanently, those included that wait for an answer or can be restored. Raises Failure."""
        ids, was_open = self._open_chats.delete_all()
        for conversation in was_open:
            self._stop(conversation)
        for chat_id in ids:
            self._engine.idle.forget(chat_id)
        self._window.notice.dismiss_undos()
        self.upkeep.run_now()
        self._chats_came_or_went()
        self.list_now()

    def show_imported(self) -> None:
        """Refresh the list and the count of deleted chats, and schedule the upkeep, after an import."""
        self.upkeep.run_soon()
        self._chats_came_or_went()
        self.list_now()

    def rename_current(self) -> None:
        """Let the user edit the open chat's title in the list; show the chats of its folder if they are hidden."""
        chat = self._open_chats.current.chat
        folder = next((folder for folder in self._open_chats.folders() if folder.id == chat.folder_id), None)
        if folder is not None and folder.folded:
            self.do(lambda: self._open_chats.fold(folder.id, False))
        self._rename_in_place(chat.id)

    def pin_current(self) -> None:
        """Pin the open chat, or unpin it."""
        chat = self._open_chats.current.chat
        self.do(lambda: self._open_chats.pin([chat.id], pinned=chat.pinned_at is None))

    # --- folders ----------------------------------------------------------------------------------------------------

    def new_folder(self, chat_ids: Iterable[str] = ()) -> None:
        """Create a folder that contains these chats, and let the user type its name in the list."""

        def added(folder: Folder) -> None:
            self.move(list(chat_ids), folder.id)
            self._rename_in_place(folder.id)

        self.do(lambda: self._open_chats.add_folder(tr("New folder")), added)

    def move(self, chat_ids: Sequence[str], folder_id: str | None) -> None:
        """Move the chats into the folder, None into none; say what that changes for them, with an undo."""
        chats, projects = self._open_chats, self._open_chats.projects
        before = {chat.id: chat for chat in chats.chats() if chat.id in chat_ids and chat.folder_id != folder_id}

        def undo() -> None:
            for id, chat in before.items():
                if any(now.id == id and now.folder_id == folder_id for now in chats.chats()):
                    self.do(partial(chats.move, [id], chat.folder_id))

        def moved(_: None) -> None:
            places = {chat.folder_id for chat in before.values()}
            old = projects.of(Chat(folder_id=places.pop())) if len(places) == 1 else NO_PROJECT
            new = projects.of(Chat(folder_id=folder_id))
            if moved_words(old, new, len(before)):
                self._window.notice.post_undo(lambda: moved_words(old, new, len(before)), undo)

        self.do(lambda: chats.move(chat_ids, folder_id), moved)

    def delete_folder(self, folder_id: str) -> None:
        had = self._open_chats.projects.of_folder(folder_id)

        def deleted(folder: Folder, chat_ids: list[str]) -> None:
            self._engine.idle.forget(folder_id)

            def words() -> str:
                kept = tr("The folder “{name}” was deleted. Its chats are still here.", name=folder.name)
                return " ".join(filter(None, (kept, moved_words(had, NO_PROJECT, len(chat_ids)))))

            self._window.notice.post_undo(
                words,
                lambda: self.do(lambda: self._open_chats.restore_folder(folder, chat_ids)),
            )

        self.do(lambda: self._open_chats.delete_folder(folder_id), lambda result: deleted(*result))

    def delete_empty_folder(self, folder_id: str) -> None:
        """Delete a folder that has no chats; there is nothing to tell and nothing to bring back."""
        if any(folder.id == folder_id for folder in self._open_chats.folders()):
            self.do(lambda: self._open_chats.delete_folder(folder_id))

    # --- search -----------------------------------------------------------------------------------------------------

    def focus_search(self) -> None:
        """Show the sidebar and focus its search field."""
        if self._window.sidebar.isHidden():
            self._window.toggle_sidebar()
        self._window.sidebar.focus_search()

    # --- recently deleted -------------------------------------------------------------------------------------------

    def open_bin(self) -> None:
        """Open the dialog of recently deleted chats."""
        self._bin.show(self._create_bin)
        self._show_deleted()

    def _create_bin(self) -> BinDialog:
        dialog = BinDialog(self._window)
        dialog.restore_requested.connect(self._restore)
        dialog.delete_requested.connect(self._delete_for_good)
        return dialog

    def _restore(self, ids: list[str]) -> bool:
        restored = self.do(lambda: self._open_chats.restore(ids))
        self._chats_came_or_went()
        return restored

    def _delete_for_good(self, ids: list[str]) -> None:
        self.do(lambda: self._open_chats.delete_for_good(ids))
        self.upkeep.run_now()
        self._chats_came_or_went()

    def _chats_came_or_went(self) -> None:
        """Show the recently deleted chats as they are now, and search again if results are shown."""
        self._show_deleted()
        if words := self._window.sidebar.field.text():
            self._search_runner.search(words)

    def _show_deleted(self) -> None:
        try:
            deleted = self._open_chats.store.deleted_chats()
        except Failure as failure:
            self._window.notice.post_failure(failure, "list")
            return
        self._window.sidebar.show_bin(len(deleted))
        if self._bin.open is not None:
            self._bin.open.show_chats(deleted)

    # --- inside -----------------------------------------------------------------------------------------------------

    def do(self, work: Callable[[], R], then: Callable[[R], object] = lambda _result: None) -> bool:
        """Run `work`, then `then` with its result, and list the chats.

        Return whether it could be done; else a notice says why.
        """
        try:
            result = work()
        except Failure as failure:
            self._window.notice.post_failure(failure, "list")
            return False
        else:
            self._window.notice.solve("list")
            then(result)
            return True
        finally:
            self.list_now()

    def _stop(self, conversation: Conversation | None) -> None:
        if conversation is not None:
            self._engine.stop(conversation)

    def _connect(self) -> None:
        bind = self._window.commands.bind
        bind("find", self.focus_search)
        bind("rename_chat", self.rename_current)
        bind("delete_chat", lambda: self.delete([self._open_chats.current.chat.id]))
        bind("pin_chat", self.pin_current)
        bind("new_folder", self.new_folder)
        bind("bin", self.open_bin)
        sidebar = self._window.sidebar
        sidebar.list.action_requested.connect(self._do_action)
        sidebar.field.textChanged.connect(self._search_runner.search)
        sidebar.hits.opened.connect(lambda hit: self._chat.open_at(hit.chat_id, hit.message_id or ""))
        self._search_runner.found.connect(sidebar.show_hits)
        self._search_runner.found.connect(lambda _hits: self._window.notice.solve("search"))
        self._search_runner.failed.connect(lambda failure: self._window.notice.post_failure(failure, "search"))
        chats = self._open_chats
        chats.current_changed.connect(lambda _conversation: self.list_now())
        for event in (chats.entry_changed, chats.branch_changed):
            event.connect(lambda _conversation: self._listing.request())
        chats.phase_changed.connect(self._phase_changed)
        for message_event in (chats.message_added, chats.answer_ended):
            message_event.connect(lambda _conversation, _message: self.upkeep.run_soon())
        self.upkeep.run_soon()
        self._show_deleted()

    def _phase_changed(self, conversation: Conversation) -> None:
        """List the chats again if a busy mark comes or goes."""
        if conversation.busy != (conversation.chat.id in self._busy):
            self._listing.request()

    def _rename_in_place(self, id: str) -> None:
        if self._window.sidebar.isHidden():
            self._window.toggle_sidebar()
        self._window.sidebar.rename(id)

    def _do_action(self, what: str, ids: list[str], value: Any) -> None:
        """Do the requested action; the names are listed at `ChatModel.action_requested`."""
        work: dict[str, Callable[[], object]] = {
            "open": lambda: self._chat.open(ids[0]),
            "rename": lambda: self.rename(ids[0], value),
            "pin": lambda: self.do(lambda: self._open_chats.pin(ids)),
            "unpin": lambda: self.do(lambda: self._open_chats.pin(ids, pinned=False)),
            "move": lambda: self.move(ids, value),
            "new_folder": lambda: self.new_folder(ids),
            "delete": lambda: self.delete(ids),
            "fold": lambda: self.do(lambda: self._open_chats.fold(ids[0], value)),
            "rename_folder": lambda: self.do(lambda: self._open_chats.rename_folder(ids[0], value)),
            "delete_folder": lambda: self.delete_folder(ids[0]),
        }
        if what in work:  # ImportExportController does the others
            work[what]()


def _deleted_text(chats: Sequence[Chat]) -> str:
    if len(chats) == 1:
        return tr("“{title}” was deleted.", title=chats[0].title)
    return tr_n("{n} chat was deleted.", "{n} chats were deleted.", len(chats))
