"""The library's schema as an append-only list of steps; `PRAGMA user_version` counts the steps a file has taken."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from models.failures import Failure


def create_chats_and_messages(db: sqlite3.Connection) -> None:
    """Messages point at the one they answer, so that a second answer or an edit can stand beside the first.

    `chats.leaf_id` is the last message of the branch that is shown. A message without `stop_reason` was not finished.
    """
    db.execute(
        """CREATE TABLE chats (
            id TEXT PRIMARY KEY, title TEXT NOT NULL, created_at REAL NOT NULL, updated_at REAL NOT NULL,
            deleted_at REAL, leaf_id TEXT) STRICT"""
    )
    db.execute(
        """CREATE TABLE messages (
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
            chat_id TEXT NOT NULL REFERENCES chats(id) ON DELETE CASCADE, parent_id TEXT,
            role TEXT NOT NULL, content TEXT NOT NULL, created_at REAL NOT NULL,
            stop_reason TEXT, problem TEXT NOT NULL DEFAULT '', detail TEXT NOT NULL DEFAULT '',
            model TEXT NOT NULL DEFAULT '', statistics TEXT NOT NULL DEFAULT '') STRICT"""
    )
    db.execute("CREATE INDEX messages_of_chat ON messages(chat_id)")
    db.execute("CREATE INDEX chats_by_time ON chats(deleted_at, updated_at)")


def create_recent_models(db: sqlite3.Connection) -> None:
    """Which model files were opened, for the model menu and the next start."""
    db.execute("CREATE TABLE recent_models (path TEXT PRIMARY KEY, opened_at REAL NOT NULL) STRICT")


def remember_forgotten_turns(db: sqlite3.Connection) -> None:
    """How many of a chat's oldest turns the user chose to leave out when the context was full."""
    db.execute("ALTER TABLE chats ADD COLUMN forget_turns INTEGER NOT NULL DEFAULT 0")


def create_attachments(db: sqlite3.Connection) -> None:
    """Files that go along with a message, as the text that was read of them; `parts`, `pages`, `sent` are JSON."""
    db.execute(
        """CREATE TABLE attachments (
            message_id TEXT NOT NULL REFERENCES messages(id) ON DELETE CASCADE, position INTEGER NOT NULL,
            name TEXT NOT NULL, kind TEXT NOT NULL, size INTEGER NOT NULL, text TEXT NOT NULL,
            parts TEXT NOT NULL, pages TEXT NOT NULL, sent TEXT NOT NULL,
            PRIMARY KEY (message_id, position)) STRICT"""
    )
    db.execute("ALTER TABLE messages ADD COLUMN sources TEXT NOT NULL DEFAULT ''")


def create_chat_options_and_personas(db: sqlite3.Connection) -> None:
    """What a chat has other than the settings, and such options saved under a name; both as JSON."""
    db.execute("ALTER TABLE chats ADD COLUMN options TEXT NOT NULL DEFAULT ''")
    db.execute("CREATE TABLE personas (name TEXT PRIMARY KEY, options TEXT NOT NULL) STRICT")


def create_unsent(db: sqlite3.Connection) -> None:
    """What stands in the composer of each chat; the chat that is not stored yet has the id ''."""
    db.execute("CREATE TABLE unsent (chat_id TEXT PRIMARY KEY, text TEXT NOT NULL, attachments TEXT NOT NULL) STRICT")


def keep_deleted_messages(db: sqlite3.Connection) -> None:
    """Deleted messages are marked and kept for a while; a chat remembers the branches that were looked at last."""
    db.execute("ALTER TABLE messages ADD COLUMN deleted_at REAL")
    db.execute("ALTER TABLE chats ADD COLUMN chosen TEXT NOT NULL DEFAULT ''")


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    create_chats_and_messages,
    create_recent_models,
    remember_forgotten_turns,
    create_attachments,
    create_chat_options_and_personas,
    create_unsent,
    keep_deleted_messages,
)


def migrate(db: sqlite3.Connection) -> None:
    """Take the steps the file has not taken yet, each in its own transaction; raises Failure for a newer file."""
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise Failure(
            "library_newer", "Your chats were stored by a newer Chickadee. Please update this one to open them."
        )
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        db.execute("BEGIN IMMEDIATE")
        try:
            step(db)
            db.execute(f"PRAGMA user_version = {number}")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
