"""The store's table of collections: what the user named and chose, which no index can give back."""

from __future__ import annotations

import time

import msgspec

from app.collections.collection import Collection
from app.store.chat_store import ChatStore

PUT = """INSERT INTO collections (id, name, folders, created_at, paused) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET name = excluded.name, folders = excluded.folders, paused = excluded.paused"""


class CollectionStore:
    """The collections in the chats' file; raises Failure as the store does."""

    def __init__(self, store: ChatStore) -> None:
        self._store = store

    def load(self) -> list[Collection]:
        """Return all collections, the oldest first; those removed before this start are deleted."""
        with self._store.writing() as db:
            db.execute("DELETE FROM collections WHERE deleted_at IS NOT NULL")
            rows = db.execute("SELECT name, folders, id, created_at, paused FROM collections ORDER BY created_at, id")
            return [
                Collection(name, _folders(folders), id_, created, bool(paused))
                for name, folders, id_, created, paused in rows
            ]

    def save(self, collection: Collection) -> None:
        """Insert or replace a collection."""
        folders = msgspec.json.encode(collection.folders).decode()
        row = (collection.id, collection.name, folders, collection.created_at, collection.paused)
        with self._store.writing() as db:
            db.execute(PUT, row)

    def mark_removed(self, collection_id: str, removed: bool) -> None:
        """Mark a collection to be deleted at the next start, or undo that."""
        moment = time.time() if removed else None
        with self._store.writing() as db:
            db.execute("UPDATE collections SET deleted_at = ? WHERE id = ?", (moment, collection_id))


def _folders(packed: str) -> tuple[str, ...]:
    try:
        return msgspec.json.decode(packed, type=tuple[str, ...])
    except msgspec.DecodeError:  # from a damaged file
        return ()
