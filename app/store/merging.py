"""Puts imported chats into the store: hidden first, then all at once. Knows neither files nor their formats."""

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

PATIENCE_MS = 10_000  # the window writes too; it is never long about it
HIDDEN = -1.0  # chats "deleted" then are not in any list, and the next start clears them away if we are killed


@dataclass(frozen=True, slots=True)
class Imported:
    """How many chats are new, were changed, were there as they are; `touched` are the ids of the changed ones."""

    added: int
    changed: int
    same: int
    touched: tuple[str, ...] = ()


class Merging:
    """A context: without `finish` nothing has happened at its end."""

    def __init__(self, store: ChatStore) -> None:
        self._store = store
        self._folders: list[Folder] = []
        self._folder_of: list[tuple[str, str]] = []
        self._later = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._added: set[str] = set()
        self._changed: list[str] = []
        self._same = 0

    def __enter__(self) -> Merging:
        self._store.using(lambda db: db.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}"))
        return self

    def __exit__(self, *_error: object) -> None:
        self._later.close()
        self._store.using(lambda db: db.execute("DELETE FROM chats WHERE deleted_at = ?", (HIDDEN,)))

    def add_folder(self, folder: Folder) -> None:
        self._folders.append(folder)

    def add(self, chat: Chat, messages: list[ChatMessage]) -> None:
        """A chat as it stands in the file."""
        if chat.folder_id is not None:
            self._folder_of.append((chat.folder_id, chat.id))
        chat = replace(chat, folder_id=None)
        chat, messages = self._store.using(lambda db: _own_ids(db, chat, messages))
        if self._store.using(lambda db: _is_there(db, chat.id)):
            self._later.write(msgspec.json.encode((chat, messages)) + b"\n")
        else:
            self._store.using(lambda db: _hide(db, chat, messages))
            self._added.add(chat.id)

    def finish(self) -> Imported:
        """Show what was added and merge what was there."""
        self._store.using(self._finish)
        return Imported(len(self._added), len(self._changed), self._same, tuple(self._changed))

    def _finish(self, db: sqlite3.Connection) -> None:
        self._later.seek(0)
        with transaction(db):
            known = {folder_id for (folder_id,) in db.execute("SELECT id FROM folders")}
            for folder in self._folders:
                if folder.id not in known:
                    write_folder(db, folder)
            for line in self._later:
                chat, messages = msgspec.json.decode(line, type=tuple[Chat, list[ChatMessage]])
                self._merge(db, chat, messages)
            db.executemany(
                "UPDATE chats SET folder_id = ? WHERE id = ? AND folder_id IS NULL AND deleted_at = ?",
                [(*pair, HIDDEN) for pair in self._folder_of if pair[0] in known | {f.id for f in self._folders}],
            )
            db.execute("UPDATE chats SET deleted_at = NULL WHERE deleted_at = ?", (HIDDEN,))

    def _merge(self, db: sqlite3.Connection, chat: Chat, messages: list[ChatMessage]) -> None:
        there, deleted_at = self._store.chat_row(chat.id)
        have = {message.id: message for message in self._store.messages(there)}
        newer = chat.updated_at > there.updated_at
        new = [message for message in messages if message.id not in have]
        other = [message for message in messages if message.id in have and message != have[message.id]] if newer else []
        entry = replace(chat, folder_id=there.folder_id) if newer else there
        back = deleted_at is not None and deleted_at != HIDDEN
        if not (new or other or back or entry != there):
            self._same += 1
            return
        write_chat(db, entry, new + other)
        if back:
            db.execute("UPDATE chats SET deleted_at = NULL WHERE id = ?", (chat.id,))
        if chat.id not in self._added:
            self._changed.append(chat.id)


def _is_there(db: sqlite3.Connection, chat_id: str) -> bool:
    return db.execute("SELECT 1 FROM chats WHERE id = ?", (chat_id,)).fetchone() is not None


def _hide(db: sqlite3.Connection, chat: Chat, messages: Iterable[ChatMessage]) -> None:
    with transaction(db):
        write_chat(db, chat, messages)
        db.execute("UPDATE chats SET deleted_at = ? WHERE id = ?", (HIDDEN, chat.id))


def _own_ids(db: sqlite3.Connection, chat: Chat, messages: list[ChatMessage]) -> tuple[Chat, list[ChatMessage]]:
    """Messages with ids that no other chat's messages have: the same ones at each import."""
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
