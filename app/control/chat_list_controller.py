"""What the user does with chats in the list: find, rename, pin, move, delete, bring back."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer

from app.control.chat_controller import ChatController
from app.events import Event
from app.notice import UNDO_MS
from app.services.background import Background
from app.services.timers import Throttle
from app.sidebar.bin_dialog import BinDialog
from app.sidebar.chat_rows import Row, rows_of
from app.sidebar.search import SearchRunner
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.store.chat import Chat
from app.store.search import Search
from app.store.upkeep import keep_up
from app.window import Window
from app.words import tr, tr_n
from common.failures import Failure

log = logging.getLogger(__name__)
LISTING_MS = 50
CLOSING_SECONDS = 2.0  # nobody sees a window that is closed wait so long


class Upkeep(QObject):
    """Has the store's upkeep done in the background, a while after the last change that may ask for it.

    `soon` asks for it, `now` for what is to be out of the file at once. What `close` cuts off goes on next time.

    `ended` tells the Failure that it waits for, or None."""

    def __init__(self, store: Path, parent: QObject, pause_ms: int, again_ms: int) -> None:
        super().__init__(parent)
        self.ended: Event[Failure | None] = Event()
        self._store = store
        self._pause_ms, self._again_ms = pause_ms, again_ms
        self._background = Background(self)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.timeout.connect(self._begin)
        self._until = math.inf

    def soon(self) -> None:
        self._pause.start(self._pause_ms)

    def now(self) -> None:
        self._pause.start(0)

    def close(self) -> None:
        if self._pause.isActive() and not self._pause.interval():  # it was asked for just now
            self._begin()
        self._pause.stop()
        self._until = time.monotonic() + CLOSING_SECONDS
        self._background.wait()

    def _begin(self) -> None:
        if self._background.running:
            self.soon()
        else:
            self._background.run(
                lambda: keep_up(self._store, self._wanted), lambda _: self.ended.emit(None), self._put_off
            )

    def _wanted(self) -> bool:
        return time.monotonic() < self._until

    def _put_off(self, failure: Failure) -> None:
        """Nobody waits for it, but who deletes all chats; others hear with their next write what stands in the way."""
        log.warning("the store's upkeep waits: %s (%s)", failure, failure.detail)
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
        self._finding = SearchRunner(self.search, self)
        self._listing = Throttle(self.list_now, LISTING_MS, self)
        self._bin: BinDialog | None = None
        self._connect()

    def close(self) -> None:
        self._listing.cancel()
        self._finding.close()
        self.upkeep.close()

    # --- the list ---------------------------------------------------------------------------------------------------

    def list_now(self) -> None:
        folders = self._open_chats.folders()
        rows = rows_of(self._open_chats.chats(), folders, time.time())
        heads = [Row("folder", folder.name, folder.id, folder.id) for folder in folders]
        self._window.sidebar.show_chats(rows, heads, self._open_chats.current.chat.id)

    # --- chats ------------------------------------------------------------------------------------------------------

    def rename(self, chat_id: str, title: str) -> None:
        self._do(lambda: self._open_chats.rename(chat_id, title))

    def delete(self, chat_ids: Iterable[str]) -> None:
        """Take the chats off the list, with a notice that brings them back."""
        ids = list(chat_ids)
        for chat_id in ids:
            conversation = self._open_chats.conversation(chat_id)
            if conversation is not None:
                self._engine.stop(conversation)
        was_current = self._open_chats.current.chat.id
        gone = self._do(lambda: self._open_chats.delete(ids))
        if not gone:
            return
        for chat in gone:
            self._engine.forget(chat.id)

        def undo() -> None:
            self._do(lambda: self._open_chats.restore(gone))
            self._count_bin()
            if was_current in [chat.id for chat in gone]:
                self._chat.open(was_current)

        self._count_bin()
        self._window.notice.tell(lambda: _gone(gone), lambda: tr("Undo"), undo, milliseconds=UNDO_MS)

    def delete_all(self) -> None:
        """Delete all chats for good. Raises Failure."""
        if self._engine.active is not None:
            self._engine.stop(self._engine.active)
        for chat_id in self._open_chats.delete_all():
            self._engine.forget(chat_id)
        self.upkeep.now()
        self._count_bin()
        self.list_now()

    def imported(self) -> None:
        """Chats came in."""
        self.upkeep.soon()
        self._count_bin()
        self.list_now()

    def rename_current(self) -> None:
        """Ready to type another title."""
        self._rename_in_place(self._open_chats.current.chat.id)

    def pin_current(self) -> None:
        """Pin the open chat, or take its pin away."""
        chat = self._open_chats.current.chat
        self._do(lambda: self._open_chats.pin([chat.id], pinned=chat.pinned_at is None))

    # --- folders ----------------------------------------------------------------------------------------------------

    def new_folder(self, chat_ids: Iterable[str] = ()) -> None:
        """A folder with these chats in it; its name is typed in place."""
        folder = self._do(lambda: self._open_chats.add_folder(tr("New folder")))
        if folder is None:
            return
        self._do(lambda: self._open_chats.move(chat_ids, folder.id))
        self._rename_in_place(folder.id)

    def delete_folder(self, folder_id: str) -> None:
        done = self._do(lambda: self._open_chats.delete_folder(folder_id))
        if done is None:
            return
        folder, inside = done

        def undo() -> None:
            self._do(lambda: self._open_chats.restore_folder(folder, inside))

        def sentence() -> str:
            return tr("The folder “{name}” was deleted. Its chats are still here.", name=folder.name)

        self._window.notice.tell(sentence, lambda: tr("Undo"), undo, milliseconds=UNDO_MS)

    # --- search -----------------------------------------------------------------------------------------------------

    def find(self) -> None:
        """Ready to type what is searched for."""
        if self._window.sidebar.isHidden():
            self._window.toggle_sidebar()
        self._window.sidebar.focus_search()

    # --- recently deleted -------------------------------------------------------------------------------------------

    def open_bin(self) -> None:
        """The dialog with what can be restored."""
        if self._bin is None:
            self._bin = BinDialog(self._window)
            self._bin.asked.connect(self._ask_of_bin)
            self._bin.destroyed.connect(self._bin_closed)
        self._count_bin()
        self._bin.show()
        self._bin.raise_()

    def _ask_of_bin(self, what: str, ids: list[str]) -> None:
        if what == "restore":
            self._restore(ids)
        else:
            self._delete_for_good(ids)

    def _bin_closed(self) -> None:
        self._bin = None

    def _restore(self, ids: list[str]) -> None:
        deleted = self._do(self._open_chats.store.deleted_chats) or []
        self._do(lambda: self._open_chats.restore([chat for chat, _ in deleted if chat.id in ids]))
        self._count_bin()

    def _delete_for_good(self, ids: list[str]) -> None:
        self._do(lambda: self._open_chats.store.delete_for_good(*ids))
        self.upkeep.now()
        self._count_bin()

    def _count_bin(self) -> None:
        deleted = self._do(self._open_chats.store.deleted_chats, listing=False) or []
        self._window.sidebar.show_bin(len(deleted))
        if self._bin is not None:
            self._bin.show_chats(deleted)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _do(self, work: Callable[[], Any], listing: bool = True) -> Any:
        """What `work` returns, None if it failed; the list follows in any case."""
        try:
            return work()
        except Failure as failure:
            self._window.notice.tell_failure(failure)
            return None
        finally:
            if listing:
                self.list_now()

    def _connect(self) -> None:
        bind = self._window.commands.bind
        bind("find", self.find)
        bind("rename_chat", self.rename_current)
        bind("delete_chat", lambda: self.delete([self._open_chats.current.chat.id]))
        bind("pin_chat", self.pin_current)
        bind("new_folder", self.new_folder)
        bind("bin", self.open_bin)
        sidebar = self._window.sidebar
        sidebar.list.asked.connect(self._asked)
        sidebar.field.textChanged.connect(self._finding.look)
        sidebar.hits.opened.connect(lambda hit: self._chat.open_at(hit.chat_id, hit.message_id or ""))
        self._finding.found.connect(sidebar.show_hits)
        self._finding.failed.connect(self._window.notice.tell_failure)
        chats = self._open_chats
        chats.current_changed.connect(lambda _conversation: self.list_now())
        for event in (chats.entry_changed, chats.branch_changed):
            event.connect(lambda _conversation: self._listing.request())
        for told in (chats.message_added, chats.answer_ended):
            told.connect(lambda _conversation, _message: self.upkeep.soon())
        self.upkeep.soon()
        self._count_bin()

    def _rename_in_place(self, id: str) -> None:
        if self._window.sidebar.isHidden():
            self._window.toggle_sidebar()
        self._window.sidebar.rename(id)

    def _asked(self, what: str, ids: list[str], value: Any) -> None:
        """Something of what ChatModel's `asked` names."""
        work: dict[str, Callable[[], object]] = {
            "open": lambda: self._chat.open(ids[0]),
            "rename": lambda: self.rename(ids[0], value),
            "pin": lambda: self._do(lambda: self._open_chats.pin(ids)),
            "unpin": lambda: self._do(lambda: self._open_chats.pin(ids, pinned=False)),
            "move": lambda: self._do(lambda: self._open_chats.move(ids, value)),
            "new_folder": lambda: self.new_folder(ids),
            "delete": lambda: self.delete(ids),
            "fold": lambda: self._do(lambda: self._open_chats.fold(ids[0], value)),
            "rename_folder": lambda: self._do(lambda: self._open_chats.rename_folder(ids[0], value)),
            "delete_folder": lambda: self.delete_folder(ids[0]),
        }
        if what in work:  # the others are for who exports
            work[what]()


def _gone(chats: Sequence[Chat]) -> str:
    if len(chats) == 1:
        return tr("“{title}” was deleted.", title=chats[0].title)
    return tr_n("{n} chat was deleted.", "{n} chats were deleted.", len(chats))
