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

    `entry` returns the chat's entry as it is now and whether the chat is deleted, or None while nothing of the chat is
    to be stored. `failed` is called with the reason once, until a write succeeds again. `stored` is whether the chat is
    in the store or about to be, `unsaved` has the messages that are not, and `failure` is why.
    """

    def __init__(
        self,
        store: ChatStore,
        entry: Callable[[], tuple[Chat, bool] | None],
        failed: Callable[[Failure], None],
        stored: bool,
    ) -> None:
        self.stored = stored
        self.unsaved: dict[str, ChatMessage] = {}
        self.failure: Failure | None = None
        self._store, self._entry, self._failed = store, entry, failed
        self._writing = False

    def save(self, messages: Iterable[ChatMessage] = ()) -> None:
        """Store the chat's entry, these messages, and those that could not be stored before."""
        self.unsaved.update((message.id, message) for message in messages)
        if not self._writing:
            self._write()

    def _write(self) -> None:
        entry = self._entry()
        if entry is None:
            self.unsaved.clear()
            self.failure = None
            return
        written, was_stored = list(self.unsaved.values()), self.stored
        self._writing = self.stored = True

        def done(failure: Failure | None) -> None:
            self._writing = False
            if failure is not None:
                self.stored = was_stored
                self._keep_failure(failure)
                return
            self.failure = None
            for message in written:
                if self.unsaved.get(message.id) is message:  # not a newer state of the message
                    del self.unsaved[message.id]
            if self.unsaved or self._entry() != entry:
                self._write()

        chat, deleted = entry
        self._store.save_in_turn(chat, written, done, deleted)

    def _keep_failure(self, failure: Failure) -> None:
        """Remember why a write failed; report it unless the write before failed too."""
        log.warning("not stored: %s", failure.log_text)
        before, self.failure = self.failure, failure
        if before is None and self._entry() is not None:
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
