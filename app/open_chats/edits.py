"""What the user has begun to make of sent messages: kept with them, over restarts too. Knows no Qt."""

from __future__ import annotations

import sqlite3

from app.store.chat_store import ChatStore
from app.store.database import transaction


class EditStore:
    """The store's column of what stands in messages' editors. Raises Failure as the store does."""

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
