"""What the user does with chats in the list: find, rename, pin, move, delete, bring back. Between list and shelf."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from PySide6.QtCore import QObject

from app.assistant.assistant import Assistant
from app.chats.chat import Chat
from app.control.exchange import Exchange
from app.control.tidying import Tidying
from app.library.search import Hit, Search
from app.look.throttle import Throttle
from app.notice import UNDO_MS
from app.open_chats.conversation import Change, Conversation
from app.open_chats.shelf import Shelf
from app.sidebar.bin_dialog import BinDialog
from app.sidebar.chat_rows import Row, rows_of
from app.sidebar.search import SearchRunner
from app.window import Window
from app.words import tr, tr_n
from common.failures import Failure

log = logging.getLogger(__name__)
LISTING_MS = 50


class Librarian(QObject):
    """`show_current` shows the shelf's current chat, `open_chat` opens another, `complain` tells a failure."""

    def __init__(  # noqa: PLR0913
        self,
        shelf: Shelf,
        assistant: Assistant,
        window: Window,
        tidying: Tidying,
        show_current: Callable[[], None],
        open_chat: Callable[[str], None],
        complain: Callable[[Failure], None],
    ) -> None:
        super().__init__(window)
        self._shelf, self._assistant, self._window = shelf, assistant, window
        self._show_current, self._open_chat, self._complain = show_current, open_chat, complain
        self.search = Search(shelf.library.path)
        self._finding = SearchRunner(self.search, self)
        self._listing = Throttle(self.list_now, LISTING_MS, self)
        self.tidying = tidying
        self._bin: BinDialog | None = None
        self.exchange = Exchange(shelf, window, self._imported, complain)
        self._connect()

    def close(self) -> None:
        self._listing.cancel()
        self._finding.close()
        self.tidying.close()
        self.exchange.close()

    # --- the list ---------------------------------------------------------------------------------------------------

    def list_soon(self) -> None:
        """A chat has changed."""
        self._listing.request()

    def list_now(self) -> None:
        folders = self._shelf.folders()
        rows = rows_of(self._shelf.chats(), folders, time.time())
        heads = [Row("folder", folder.name, folder.id, folder.id) for folder in folders]
        self._window.sidebar.show_chats(rows, heads, self._shelf.current.chat.id)

    # --- chats ------------------------------------------------------------------------------------------------------

    def rename(self, chat_id: str, title: str) -> None:
        self._do(lambda: self._shelf.rename(chat_id, title))

    def delete(self, chat_ids: Iterable[str]) -> None:
        """Take the chats off the list, with a notice that brings them back."""
        ids = list(chat_ids)
        for chat_id in ids:
            conversation = self._shelf.conversation(chat_id)
            if conversation is not None:
                self._assistant.stop(conversation)
        was_current = self._shelf.current.chat.id
        gone = self._do(lambda: self._shelf.delete(ids))
        if not gone:
            return
        for chat in gone:
            self._assistant.forget(chat.id)

        def undo() -> None:
            self._do(lambda: self._shelf.restore(gone))
            self._count_bin()
            if was_current in [chat.id for chat in gone]:
                self._open_chat(was_current)

        self._count_bin()
        if was_current in [chat.id for chat in gone]:
            self._show_current()
        self._window.notice.tell(lambda: _gone(gone), lambda: tr("Undo"), undo, milliseconds=UNDO_MS)

    def delete_all(self) -> None:
        """Delete all chats for good. Raises Failure."""
        if self._assistant.active is not None:
            self._assistant.stop(self._assistant.active)
        for chat_id in self._shelf.delete_all():
            self._assistant.forget(chat_id)
        self.tidying.now()
        self._count_bin()
        self._show_current()
        self.list_now()

    def pin_current(self) -> None:
        """Pin the open chat, or take its pin away."""
        chat = self._shelf.current.chat
        self._do(lambda: self._shelf.pin([chat.id], pinned=chat.pinned_at is None))

    # --- folders ----------------------------------------------------------------------------------------------------

    def new_folder(self, chat_ids: Iterable[str] = ()) -> None:
        """A folder with these chats in it; its name is typed in place."""
        folder = self._do(lambda: self._shelf.add_folder(tr("New folder")))
        if folder is None:
            return
        self._do(lambda: self._shelf.move(chat_ids, folder.id))
        if self._window.sidebar.isHidden():
            self._window.toggle_sidebar()
        self._window.sidebar.rename(folder.id)

    def delete_folder(self, folder_id: str) -> None:
        done = self._do(lambda: self._shelf.delete_folder(folder_id))
        if done is None:
            return
        folder, inside = done

        def undo() -> None:
            self._do(lambda: self._shelf.restore_folder(folder, inside))

        def sentence() -> str:
            return tr("The folder “{name}” was deleted. Its chats are still here.", name=folder.name)

        self._window.notice.tell(sentence, lambda: tr("Undo"), undo, milliseconds=UNDO_MS)

    # --- search -----------------------------------------------------------------------------------------------------

    def find(self) -> None:
        """Ready to type what is searched for."""
        if self._window.sidebar.isHidden():
            self._window.toggle_sidebar()
        self._window.sidebar.focus_search()

    def go_to(self, hit: Hit) -> None:
        """Open what a search has found."""
        self.open_at(hit.chat_id, hit.message_id or "")

    def open_at(self, chat_id: str, message_id: str) -> None:
        """Open the chat and show this message in it, on whichever branch it stands; with "" just the chat."""
        self._open_chat(chat_id)
        if message_id and self._shelf.current.chat.id == chat_id:
            self._window.transcript.show_message(message_id)

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

    def _bin_closed(self) -> None:
        self._bin = None

    def _ask_of_bin(self, what: str, ids: list[str]) -> None:
        if what == "restore":
            self._restore(ids)
        else:
            self._delete_for_good(ids)

    def _restore(self, ids: list[str]) -> None:
        deleted = self._do(self._shelf.library.deleted_chats) or []
        self._do(lambda: self._shelf.restore([chat for chat, _ in deleted if chat.id in ids]))
        self._count_bin()

    def _delete_for_good(self, ids: list[str]) -> None:
        self._do(lambda: self._shelf.library.delete_for_good(*ids))
        self.tidying.now()
        self._count_bin()

    def _count_bin(self) -> None:
        deleted = self._do(self._shelf.library.deleted_chats, listing=False) or []
        self._window.sidebar.show_bin(len(deleted))
        if self._bin is not None:
            self._bin.show_chats(deleted)

    def _imported(self) -> None:
        self.tidying.soon()
        self._count_bin()
        self._show_current()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _do(self, work: Callable[[], Any], listing: bool = True) -> Any:
        """What `work` returns, None if it failed; the list follows in any case."""
        try:
            return work()
        except Failure as failure:
            self._complain(failure)
            return None
        finally:
            if listing:
                self.list_now()

    def _connect(self) -> None:
        bind = self._window.commands.bind
        bind("find", self.find)
        bind("pin_chat", self.pin_current)
        bind("new_folder", self.new_folder)
        bind("bin", self.open_bin)
        sidebar = self._window.sidebar
        sidebar.list.asked.connect(self._asked)
        sidebar.field.textChanged.connect(self._finding.look)
        sidebar.hits.opened.connect(self.go_to)
        self._finding.found.connect(sidebar.show_hits)
        self._finding.failed.connect(self._complain)
        self._shelf.listeners.append(self._changed)
        self.tidying.soon()
        self._count_bin()

    def _changed(self, _conversation: Conversation, change: Change) -> None:
        if change.kind in ("added", "ended"):
            self.tidying.soon()

    def _asked(self, what: str, ids: list[str], value: Any) -> None:
        """Something of what ChatModel's `asked` names."""
        work: dict[str, Callable[[], object]] = {
            "open": lambda: self._open_chat(ids[0]),
            "rename": lambda: self.rename(ids[0], value),
            "pin": lambda: self._do(lambda: self._shelf.pin(ids)),
            "unpin": lambda: self._do(lambda: self._shelf.pin(ids, pinned=False)),
            "move": lambda: self._do(lambda: self._shelf.move(ids, value)),
            "new_folder": lambda: self.new_folder(ids),
            "export": lambda: self.exchange.ask_export(ids),
            "delete": lambda: self.delete(ids),
            "fold": lambda: self._do(lambda: self._shelf.fold(ids[0], value)),
            "rename_folder": lambda: self._do(lambda: self._shelf.rename_folder(ids[0], value)),
            "delete_folder": lambda: self.delete_folder(ids[0]),
        }
        work[what]()


def _gone(chats: Sequence[Chat]) -> str:
    if len(chats) == 1:
        return tr("“{title}” was deleted.", title=chats[0].title)
    return tr_n("{n} chat was deleted.", "{n} chats were deleted.", len(chats))
