"""Writes one chat, and what was begun to be made of its messages, to the store. Knows no Qt."""

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
    """What cannot be stored is kept and tried again with the next write.

    `failed` is told the reason once, until a write succeeds again. `stored`: is the chat in the store, or about to
    be?"""

    def __init__(self, store: ChatStore, stored: bool, failed: Callable[[Failure], None]) -> None:
        self.stored = stored
        self._store = store
        self._failed = failed
        self._unsaved: dict[str, ChatMessage] = {}
        self._later: Chat | None = None  # what the entry is to be when the write that is under way has ended
        self._entry: Chat | None = None
        self._writing = self._told = self._ended = False
        self._failure: Failure | None = None

    def end(self) -> None:
        """The chat was deleted for good: nothing of it is written any more."""
        self._ended, self._failure = True, None
        self._unsaved.clear()

    def save(self, chat: Chat, messages: Iterable[ChatMessage] = ()) -> None:
        """Store the chat's entry, these messages, and those that could not be stored before."""
        if self._ended:
            return
        self._unsaved.update((message.id, message) for message in messages)
        self._entry = chat
        if self._writing:
            self._later = chat
            return
        written, was_stored = list(self._unsaved.values()), self.stored
        self._writing = self.stored = True
        self._store.save_in_turn(chat, written, lambda failure: self._done(written, was_stored, failure))

    def unstored(self) -> Failure | None:
        """Try once more to store what could not be; returns why it still cannot.

        For the end, when all writes are done at once."""
        if self._failure is not None and self._entry is not None:
            self.save(self._entry)
        return self._failure

    def _done(self, written: list[ChatMessage], was_stored: bool, failure: Failure | None) -> None:
        self._writing = False
        self._failure = failure
        if failure is not None:
            self.stored = was_stored
            self._complain(failure)
        else:
            self._told = False
            for message in written:
                if self._unsaved.get(message.id) is message:  # not another state of it
                    del self._unsaved[message.id]
        later, self._later = self._later, None
        if later is not None:
            self.save(later)

    def _complain(self, failure: Failure) -> None:
        log.warning("not stored: %s (%s)", failure, failure.detail)
        told, self._told = self._told, True
        if not told:
            self._failed(failure)


class EditStore:
    """The store's column of what the user has begun to make of sent messages: kept with them, over restarts too.

    Raises Failure as the store does."""

    def __init__(self, store: ChatStore) -> None:
        self._store = store

    def load(self, chat_id: str) -> dict[str, str]:
        """By the messages' ids."""
        return dict(
            self._store.using(
                lambda db: db.execute(
                    "SELECT id, edit FROM messages WHERE chat_id = ? AND edit IS NOT NULL", (chat_id,)
                ).fetchall()
            )
        )

    def save(self, chat_id: str, edits: dict[str, str]) -> None:
        """These instead of what is stored for the chat."""

        def write(db: sqlite3.Connection) -> None:
            with transaction(db):
                db.execute("UPDATE messages SET edit = NULL WHERE chat_id = ? AND edit IS NOT NULL", (chat_id,))
                rows = [(text, id) for id, text in edits.items()]
                db.executemany("UPDATE messages SET edit = ? WHERE id = ?", rows)

        self._store.using(write)
