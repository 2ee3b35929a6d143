"""Writing of one chat, and of unsent edits of its messages, to the store. Knows no Qt."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterable

from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.store.database import transaction
from common.failures import Failure

log = logging.getLogger(__name__)


class ChatSaver:
    """Writer of one chat; what cannot be stored is kept and written again with the next write.

    `failed` is called with the reason once, until a write succeeds again. `stored` is whether the chat is in the store
    or about to be. `stopped` is whether nothing of it is written any more.
    """

    def __init__(self, store: ChatStore, stored: bool, failed: Callable[[Failure], None]) -> None:
        self.stored = stored
        self._store = store
        self._failed = failed
        self._unsaved: dict[str, ChatMessage] = {}
        self._next_entry: Chat | None = None  # to be written when the current write has ended
        self._entry: Chat | None = None
        self._writing = self._reported = self.stopped = False
        self._failure: Failure | None = None

    def stop(self) -> None:
        """Write nothing of the chat any more, because it was deleted permanently."""
        self.stopped, self._failure = True, None
        self._unsaved.clear()

    def save(self, chat: Chat, messages: Iterable[ChatMessage] = ()) -> None:
        """Store the chat's entry, these messages, and those that could not be stored before."""
        if self.stopped:
            return
        self._unsaved.update((message.id, message) for message in messages)
        self._entry = chat
        if self._writing:
            self._next_entry = chat
            return
        written, was_stored = list(self._unsaved.values()), self.stored
        self._writing = self.stored = True
        self._store.save_in_turn(
            chat, written, lambda failure: self._done(written, was_stored, failure), new=not was_stored
        )

    def retry_unstored(self) -> Failure | None:
        """Try once more to store what could not be stored; return why it still cannot, or None.

        Call this at the program's end, when all writes are done at once.
        """
        if self._failure is not None and self._entry is not None:
            self.save(self._entry)
        return self._failure

    def _done(self, written: list[ChatMessage], was_stored: bool, failure: Failure | None) -> None:
        self._writing = False
        if self.stopped:
            return
        self._failure = failure
        if failure is not None:
            self.stored = was_stored
            self._report(failure)
        else:
            self._reported = False
            for message in written:
                if self._unsaved.get(message.id) is message:  # not a newer state of the message
                    del self._unsaved[message.id]
        next_entry, self._next_entry = self._next_entry, None
        if next_entry is not None:
            self.save(next_entry)

    def _report(self, failure: Failure) -> None:
        log.warning("not stored: %s", failure.log_text)
        was_reported, self._reported = self._reported, True
        if not was_reported:
            self._failed(failure)


class EditStore:
    """The store's column of unsent edits of sent messages, kept over restarts; raises Failure as the store does."""

    def __init__(self, store: ChatStore) -> None:
        self._store = store

    def load(self, chat_id: str) -> dict[str, str]:
        """Return the unsent edits of a chat by message id."""
        return dict(
            self._store.with_connection(
                lambda db: db.execute(
                    "SELECT id, edit FROM messages WHERE chat_id = ? AND edit IS NOT NULL", (chat_id,)
                ).fetchall()
            )
        )

    def save(self, chat_id: str, edits: dict[str, str]) -> None:
        """Replace all stored edits of the chat by these."""

        def write(db: sqlite3.Connection) -> None:
            with transaction(db):
                db.execute("UPDATE messages SET edit = NULL WHERE chat_id = ? AND edit IS NOT NULL", (chat_id,))
                rows = [(text, id) for id, text in edits.items()]
                db.executemany("UPDATE messages SET edit = ? WHERE id = ?", rows)

        self._store.with_connection(write)
