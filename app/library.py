"""All chats in one SQLite file. Knows neither windows nor the engine; every write is one small transaction."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import update_wrapper
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from app.attachments import rows as attachment_rows
from app.chat import Chat, ChatMessage
from app.migrations import migrate
from models.failures import Failure

KEEP_DELETED_SECONDS = 30 * 86_400
CHAT_FIELDS = ", ".join(field.name for field in fields(Chat))
MESSAGE_FIELDS = ", ".join(field.name for field in fields(ChatMessage) if field.name != "attachments")
P = ParamSpec("P")
R = TypeVar("R")
LibraryMethod = Callable[Concatenate["Library", P], R]


def _guarded(method: LibraryMethod[P, R]) -> LibraryMethod[P, R]:
    """SQLite's errors (disk full, file gone, file damaged) become a Failure the user can read."""

    def guarded(self: Library, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except (sqlite3.OperationalError, sqlite3.DatabaseError) as error:
            raise _failure(self.path, error) from error

    return update_wrapper(guarded, method)


def _failure(path: Path, error: sqlite3.Error) -> Failure:
    name = getattr(error, "sqlite_errorname", "")
    if name == "SQLITE_FULL":
        return Failure("disk_full", "The disk is full, so this chat cannot be stored. Free some space.", str(error))
    if name in ("SQLITE_CORRUPT", "SQLITE_NOTADB"):
        sentence = f"The file with your chats, {path}, is damaged and cannot be read."
        return Failure("library_damaged", sentence, str(error))
    return Failure("library", f"Your chats cannot be stored in {path}: {error}.", str(error))


class Library:
    """The chats at `path`; the folder must exist. All methods raise Failure when the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = self._connect()
        except OSError as error:
            raise Failure("library", f"Your chats cannot be stored in {path}: {error.strerror}.", str(error)) from error
        except sqlite3.Error as error:
            raise _failure(path, error) from error

    def _connect(self) -> sqlite3.Connection:
        # One writer per data folder, so a lock is someone's backup: wait briefly rather than freeze the window.
        db = sqlite3.connect(self.path, timeout=0.2, isolation_level=None)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            # Survives the end of the process; only the end of the power can lose the last commits, never the file.
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute("PRAGMA foreign_keys = ON")
            migrate(db)
            for table in ("chats", "messages"):
                db.execute(f"DELETE FROM {table} WHERE deleted_at < ?", (time.time() - KEEP_DELETED_SECONDS,))
        except BaseException:
            db.close()
            raise
        return db

    @_guarded
    def close(self) -> None:
        self._db.close()

    @_guarded
    def save(self, chat: Chat, messages: Sequence[ChatMessage] = ()) -> None:
        """Insert or replace the chat's entry and these of its messages, all or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.execute(_upsert("chats", CHAT_FIELDS), _values(chat))
            for message in messages:
                self._db.execute(_upsert("messages", MESSAGE_FIELDS), _values(message))
                if message.attachments:
                    attachment_rows.write(self._db, message.id, message.attachments)
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:  # SQLite has rolled back by itself after some errors, e.g. a full disk
                self._db.execute("ROLLBACK")
            raise

    @_guarded
    def chats(self) -> list[Chat]:
        """All chats that are not deleted, the latest first."""
        rows = self._db.execute(
            f"SELECT {CHAT_FIELDS} FROM chats WHERE deleted_at IS NULL ORDER BY updated_at DESC, rowid DESC"
        )
        return [Chat(*row) for row in rows]

    @_guarded
    def messages(self, chat: Chat) -> list[ChatMessage]:
        """All of them, on every branch and deleted ones too, in the order they were written."""
        rows = self._db.execute(f"SELECT {MESSAGE_FIELDS} FROM messages WHERE chat_id = ? ORDER BY number", (chat.id,))
        by_id = {message.id: message for message in (ChatMessage(*row) for row in rows)}
        for message_id, attachments in attachment_rows.read(self._db, chat.id).items():
            by_id[message_id] = replace(by_id[message_id], attachments=attachments)
        return list(by_id.values())

    @_guarded
    def delete(self, chat_id: str) -> None:
        """Hide the chat; it can be restored for 30 days."""
        self._db.execute("UPDATE chats SET deleted_at = ? WHERE id = ?", (time.time(), chat_id))

    @_guarded
    def restore(self, chat_id: str) -> None:
        self._db.execute("UPDATE chats SET deleted_at = NULL WHERE id = ?", (chat_id,))

    @_guarded
    def using(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """For tables that another module knows: what `work` returns, its errors as this class's."""
        return work(self._db)

    @_guarded
    def remember_model(self, path: Path) -> None:
        self._db.execute("INSERT OR REPLACE INTO recent_models VALUES (?, ?)", (str(path), time.time()))

    @_guarded
    def recent_models(self, limit: int = 8) -> list[Path]:
        """Model files the user opened, the latest first."""
        rows = self._db.execute("SELECT path FROM recent_models ORDER BY opened_at DESC LIMIT ?", (limit,))
        return [Path(path) for (path,) in rows]


def _values(value: Chat | ChatMessage) -> list[Any]:
    return [getattr(value, field.name) for field in fields(value) if field.name != "attachments"]


def _upsert(table: str, names: str) -> str:
    marks = ", ".join("?" for _ in names.split(", "))
    updates = ", ".join(f"{name} = excluded.{name}" for name in names.split(", ") if name != "id")
    return f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT (id) DO UPDATE SET {updates}"
