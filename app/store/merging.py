"""Merges imported chats into the store: first hidden, then all at once. Knows neither files nor their formats."""

from __future__ import annotations

import sqlite3
import tempfile
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from app.store.chat import Chat, ChatMessage, Folder
from app.store.chat_store import ChatStore, write_chat, write_folder
from app.store.database import transaction
from app.store.formats import SPACE

PATIENCE_MS = 10_000  # the window writes too, but never for long
# `deleted_at` of chats that are being imported. No list shows them, and the next start removes those left by a kill.
HIDDEN = -1.0


@dataclass(frozen=True, slots=True)
class Imported:
    """The numbers of new, changed and unchanged chats of an import; `touched` has the ids of the changed ones."""

    added: int
    changed: int
    same: int
    touched: tuple[str, ...] = ()


class Merging:
    """A context manager for one import; without `finish` the store is as before at its end."""

    def __init__(self, store: ChatStore) -> None:
        self._store = store
        self._folders: list[Folder] = []
        self._folder_of: list[tuple[str, str]] = []
        self._to_merge = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._added: set[str] = set()
        self._changed: list[str] = []
        self._same = 0

    def __enter__(self) -> Merging:
        self._store.using(lambda db: db.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}"))
        return self

    def __exit__(self, *_error: object) -> None:
        self._to_merge.close()
        self._store.using(lambda db: db.execute("DELETE FROM chats WHERE deleted_at = ?", (HIDDEN,)))

    def add_folder(self, folder: Folder) -> None:
        self._folders.append(folder)

    def add(self, chat: Chat, messages: list[ChatMessage]) -> None:
        """Add a chat from the file: hide it in the store if it is new, else keep it for `finish`."""
        if chat.folder_id is not None:
            self._folder_of.append((chat.folder_id, chat.id))
        chat = replace(chat, folder_id=None)
        chat, messages = self._store.using(lambda db: _with_unique_ids(db, chat, messages))
        if self._store.using(lambda db: _is_stored(db, chat.id)):
            self._to_merge.write(msgspec.json.encode((chat, messages)) + b"\n")
        else:
            self._store.using(lambda db: _hide(db, chat, messages))
            self._added.add(chat.id)

    def finish(self) -> Imported:
        """Show the new chats and merge the others; return the numbers."""
        self._store.using(self._finish)
        return Imported(len(self._added), len(self._changed), self._same, tuple(self._changed))

    def _finish(self, db: sqlite3.Connection) -> None:
        self._to_merge.seek(0)
        with transaction(db):
            known = {folder_id for (folder_id,) in db.execute("SELECT id FROM folders")}
            for folder in self._folders:
                if folder.id not in known:
                    write_folder(db, folder)
            for line in self._to_merge:
                chat, messages = msgspec.json.decode(line, type=tuple[Chat, list[ChatMessage]])
                self._merge(db, chat, messages)
            db.executemany(
                "UPDATE chats SET folder_id = ? WHERE id = ? AND folder_id IS NULL AND deleted_at = ?",
                [(*pair, HIDDEN) for pair in self._folder_of if pair[0] in known | {f.id for f in self._folders}],
            )
            db.execute("UPDATE chats SET deleted_at = NULL WHERE deleted_at = ?", (HIDDEN,))

    def _merge(self, db: sqlite3.Connection, chat: Chat, messages: list[ChatMessage]) -> None:
        stored, deleted_at = self._store.chat_row(chat.id)
        known = {message.id: message for message in self._store.messages(stored)}
        is_newer = chat.updated_at > stored.updated_at
        new = [message for message in messages if message.id not in known]
        changed = [message for message in messages if message.id in known and message != known[message.id]]
        changed = changed if is_newer else []
        entry = replace(chat, folder_id=stored.folder_id) if is_newer else stored
        is_deleted = deleted_at is not None and deleted_at != HIDDEN
        if not (new or changed or is_deleted or entry != stored):
            self._same += 1
            return
        write_chat(db, entry, new + changed)
        if is_deleted:
            db.execute("UPDATE chats SET deleted_at = NULL WHERE id = ?", (chat.id,))
        if chat.id not in self._added:
            self._changed.append(chat.id)


def _is_stored(db: sqlite3.Connection, chat_id: str) -> bool:
    return db.execute("SELECT 1 FROM chats WHERE id = ?", (chat_id,)).fetchone() is not None


def _hide(db: sqlite3.Connection, chat: Chat, messages: Iterable[ChatMessage]) -> None:
    with transaction(db):
        write_chat(db, chat, messages)
        db.execute("UPDATE chats SET deleted_at = ? WHERE id = ?", (HIDDEN, chat.id))


def _with_unique_ids(db: sqlite3.Connection, chat: Chat, messages: list[ChatMessage]) -> tuple[Chat, list[ChatMessage]]:
    """Give new ids to messages whose id belongs to another chat's message; the same new ones at each import."""
    taken: set[str] = set()
    for message in messages:
        found = db.execute("SELECT chat_id FROM messages WHERE id = ?", (message.id,)).fetchone()
        if found is not None and found[0] != chat.id:
            taken.add(message.id)
    if not taken:
        return chat, messages

    def own(id: Any) -> Any:
        return uuid.uuid5(SPACE, f"{chat.id}/{id}").hex if id in taken else id

    owned = [replace(message, id=own(message.id), parent_id=own(message.parent_id)) for message in messages]
    return replace(chat, leaf_id=own(chat.leaf_id)), owned
