"""All chats in one SQLite file. Knows neither windows nor the engine; every write is one small transaction."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from app.attachments.attachment import Attachment
from app.store.chat import Chat, ChatMessage, Folder
from app.store.database import Done, FileIdentity, Writer, beside, failures, open_database, transaction
from app.store.migrations import migrate, open_migrated
from common.log_format import kind_of
from common.paths import path_of, path_text
from engine.protocol.requests import Picture

log = logging.getLogger(__name__)

KEEP_DELETED_SECONDS = 30 * 86_400
CHAT_FIELDS = ", ".join(field.name for field in fields(Chat))
MESSAGE_FIELDS = ", ".join(field.name for field in fields(ChatMessage) if field.name != "attachments")
FOLDER_FIELDS = ", ".join(field.name for field in fields(Folder))
ATTACHMENT_VALUES = ("name", "kind", "size", "text", "path", "address", "read_at")
ATTACHMENT_JSON = ("parts", "pages", "sent", "places")
ATTACHMENT_FIELDS = ", ".join((*ATTACHMENT_VALUES, *ATTACHMENT_JSON, "picture", "width", "height"))
DOOMED = 0  # `deleted_at` of permanently deleted chats, which app.store.upkeep removes from the file
# `deleted_at` of chats that are being imported. No list shows them, and the next start removes those left by a kill.
HIDDEN = -1.0
DOOM_HIDDEN = f"UPDATE chats SET deleted_at = {DOOMED} WHERE deleted_at < {DOOMED}"
MARK_DELETED = "UPDATE chats SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL"
DOOM_OLD = f"UPDATE chats SET deleted_at = {DOOMED} WHERE deleted_at > {DOOMED} AND deleted_at < ?"
UNSENT = ("unsent", "unsent_files")
FORGET_UNSENT = tuple(
    f"DELETE FROM {table} WHERE chat_id IN (SELECT id FROM chats WHERE deleted_at = {DOOMED})" for table in UNSENT
)
LONG = 20_000  # characters; storing and indexing this many takes a quarter of a frame
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A chat as the store keeps it: its entry, the unsent `edits` of its messages as (id, text), and its deletion.

    A `deleted` chat can be restored, also if it was not stored before it was deleted.
    """

    chat: Chat
    edits: tuple[tuple[str, str], ...] = ()
    deleted: bool = False


class ChatStore:
    """The chats in the file at `path`, whose folder must exist; all methods raise Failure when the file cannot be used.

    `writer` does writes that may take long in the order in which they were requested; all methods wait for them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with failures(path):
            self._db = open_database(path)
            try:
                migrate(self._db)
                if not accepted_import(path).exists():  # else app.store.merging completes it
                    self._db.execute(DOOM_HIDDEN)
                self._db.execute(DOOM_OLD, (time.time() - KEEP_DELETED_SECONDS,))
                forget_unsent(self._db)
            except BaseException:
                self._db.close()
                raise
        self.file_identity = FileIdentity(path)
        self.writer = Writer(self.file_identity, self._db, lambda: open_migrated(path))

    def close(self) -> None:
        self.writer.wait()
        with failures(self.path):
            self.writer.close()
            self._db.close()

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection once no write is pending, also for modules with own tables; errors become Failures."""
        self.writer.wait()
        self.file_identity.check()
        with failures(self.path):
            yield self._db

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection in one transaction."""
        with self.connection() as db, transaction(db):
            yield db

    def save(self, chat: Chat, messages: Sequence[ChatMessage] = ()) -> None:
        """Insert or replace the chat's entry and these messages in one transaction."""
        with self.writing() as db:
            write_chat(db, chat, messages)

    def save_in_turn(self, row: ChatRow, messages: Sequence[ChatMessage], done: Done, edits: bool = False) -> None:
        """Save like `save`, with the edits if they have changed; call `done` with the outcome.

        That is at once, or later if these messages or earlier ones are long.
        """

        def write(db: sqlite3.Connection) -> None:
            with transaction(db):
                write_chat(db, row.chat, messages)
                if row.deleted:
                    db.execute(MARK_DELETED, (time.time(), row.chat.id))
                if edits:
                    db.execute("UPDATE messages SET edit = NULL WHERE chat_id = ? AND edit IS NOT NULL", (row.chat.id,))
                    db.executemany("UPDATE messages SET edit = ? WHERE id = ?", [(text, id) for id, text in row.edits])

        length = sum(map(_length, messages)) + sum(len(text) for _, text in row.edits if edits)
        self.writer.write(write, done, long=length >= LONG)

    def change_chats(self, chat_ids: Iterable[str], values: Mapping[str, Any]) -> None:
        """Change these values of the chats' entries in one transaction; the other values stay as they are."""
        names = ", ".join(f"{name} = ?" for name in values)
        with self.writing() as db:
            db.executemany(
                f"UPDATE chats SET {names} WHERE id = ?", [(*values.values(), chat_id) for chat_id in chat_ids]
            )

    def chats(self) -> list[Chat]:
        """Return all chats that are not deleted, the latest first."""
        rows = self._execute(
            f"SELECT {CHAT_FIELDS} FROM chats WHERE deleted_at IS NULL ORDER BY updated_at DESC, rowid DESC"
        )
        return [Chat(*row) for row in rows]

    def chat_row(self, chat_id: str) -> tuple[Chat, float | None] | None:
        """Return a chat, deleted or not, and when it was deleted; None if it is not in the file."""
        rows = self._execute(f"SELECT deleted_at, {CHAT_FIELDS} FROM chats WHERE id = ?", chat_id)
        return next(((Chat(*row), moment) for moment, *row in rows), None)

    def messages(self, chat: Chat) -> list[ChatMessage]:
        """Return all messages of all branches, including deleted ones, in the order in which they were written."""
        with self.connection() as db:
            rows = db.execute(f"SELECT {MESSAGE_FIELDS} FROM messages WHERE chat_id = ? ORDER BY number", (chat.id,))
            by_id = {message.id: message for message in (ChatMessage(*row) for row in rows)}
            in_chat = "IN (SELECT id FROM messages WHERE chat_id = ?)"
            for message_id, attachments in _attachments(db, in_chat, chat.id).items():
                by_id[message_id] = replace(by_id[message_id], attachments=attachments)
        return list(by_id.values())

    def unsent_ids(self) -> list[str]:
        """Return the ids of the chats that have a draft but no messages, the oldest first."""
        tables = " UNION ALL ".join(f"SELECT chat_id, rowid AS number FROM {table}" for table in UNSENT)
        found = self._execute(
            f"SELECT chat_id FROM ({tables}) WHERE chat_id NOT IN (SELECT id FROM chats)"
            " GROUP BY chat_id ORDER BY min(number)"
        )
        return [chat_id for (chat_id,) in found]

    def edits(self, chat_id: str) -> dict[str, str]:
        """Return the unsent edits of a chat's messages by message id."""
        return dict(self._execute("SELECT id, edit FROM messages WHERE chat_id = ? AND edit IS NOT NULL", chat_id))

    def delete(self, *chat_ids: str) -> None:
        """Hide the chats; they can be restored for 30 days."""
        self._mark_deleted(time.time(), chat_ids)

    def restore(self, *chat_ids: str) -> list[str]:
        """Undo `delete`; return the ids of those chats that are not deleted permanently."""
        return self._mark_deleted(None, chat_ids)

    def deleted_chats(self) -> list[tuple[Chat, float]]:
        """Return the chats that can be restored and when they were deleted, the latest first."""
        rows = self._execute(
            f"SELECT deleted_at, {CHAT_FIELDS} FROM chats WHERE deleted_at > 0 ORDER BY deleted_at DESC, rowid DESC"
        )
        return [(Chat(*row), moment) for moment, *row in rows]

    def delete_for_good(self, *chat_ids: str) -> None:
        """Delete the deleted ones of these chats permanently; the next upkeep removes their data from the file."""
        ids = [(chat_id,) for chat_id in chat_ids]
        with self.writing() as db:
            db.executemany(f"UPDATE chats SET deleted_at = {DOOMED} WHERE id = ? AND deleted_at IS NOT NULL", ids)
            forget_unsent(db)
            for table in UNSENT:  # the drafts of chats that could not be stored
                db.executemany(f"DELETE FROM {table} WHERE chat_id = ? AND chat_id NOT IN (SELECT id FROM chats)", ids)

    def delete_all(self) -> None:
        """Delete all chats and drafts permanently; folders and personas stay, and chats that are being imported.

        This returns at once; the next upkeep removes the data from the file, which may take seconds.
        """
        with self.writing() as db:
            db.execute(f"UPDATE chats SET deleted_at = {DOOMED} WHERE deleted_at IS NULL OR deleted_at > 0")
            for table in UNSENT:
                db.execute(f"DELETE FROM {table}")

    def folders(self) -> list[Folder]:
        """Return all folders that are not deleted, by name."""
        rows = self._execute(f"SELECT {FOLDER_FIELDS} FROM folders WHERE deleted_at IS NULL")
        folders = [replace(folder, folded=bool(folder.folded)) for folder in (Folder(*row) for row in rows)]
        return sorted(folders, key=lambda folder: (folder.name.casefold(), folder.created_at))

    def save_folder(self, folder: Folder) -> None:
        """Insert or replace the folder; a deleted one comes back with its files."""
        with self.writing() as db:
            write_folder(db, folder)

    def delete_folder(self, folder_id: str) -> None:
        """Mark the folder to be deleted at the next start, with its files but not its chats."""
        self._execute("UPDATE folders SET deleted_at = ? WHERE id = ?", time.time(), folder_id)

    def forget_folders(self) -> None:
        """Delete the folders that were deleted before this start."""
        self._execute("DELETE FROM folders WHERE deleted_at IS NOT NULL")

    def with_connection(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Return the result of `work` on the connection."""
        with self.connection() as db:
            return work(db)

    def remember_model(self, path: Path) -> None:
        """Make the model the latest one that was used; it is loaded, so a mark of `mark_loading` goes."""
        self._execute(
            "INSERT OR REPLACE INTO recent_models (path, opened_at) VALUES (?, ?)", path_text(path), time.time()
        )

    def forget_model(self, path: Path) -> None:
        """Take the model off the list of recent ones, because its file was deleted."""
        self._execute("DELETE FROM recent_models WHERE path = ?", path_text(path))

    def mark_loading(self, path: Path, loading: bool) -> None:
        """Mark a recent model while a start loads it; a mark that a start finds is from one that crashed meanwhile."""
        self._execute("UPDATE recent_models SET loading = ? WHERE path = ?", loading, path_text(path))

    def was_loading(self, path: Path) -> bool:
        """Return whether an earlier start crashed while it loaded the model."""
        return bool(self._execute("SELECT 1 FROM recent_models WHERE path = ? AND loading", path_text(path)))

    def recent_models(self, limit: int = 8) -> list[Path]:
        """Return the model files that the user opened, the latest first."""
        rows = self._execute("SELECT path FROM recent_models ORDER BY opened_at DESC LIMIT ?", limit)
        return [path_of(path) for (path,) in rows]

    def _execute(self, statement: str, *values: object) -> list[Any]:
        """Run one statement, which is a transaction of its own, and return its rows."""
        with self.connection() as db:
            return db.execute(statement, values).fetchall()

    def _mark_deleted(self, moment: float | None, chat_ids: Iterable[str]) -> list[str]:
        """Set when these chats were deleted; return the ids of those that exist."""
        mark = f"UPDATE chats SET deleted_at = ? WHERE id = ? AND deleted_at IS NOT {DOOMED}"
        with self.writing() as db:
            return [chat_id for chat_id in chat_ids if db.execute(mark, (moment, chat_id)).rowcount]


def forget_unsent(db: sqlite3.Connection) -> None:
    """Delete the drafts of chats that were deleted permanently."""
    for statement in FORGET_UNSENT:
        db.execute(statement)


def accepted_import(path: Path) -> Path:
    """Return the file beside the store with what an import still has to merge, once all of the import was read."""
    return beside(path, ".import")


def write_chat(db: sqlite3.Connection, chat: Chat, messages: Iterable[ChatMessage]) -> None:
    """Insert or replace the chat and messages; call this within a transaction."""
    db.execute(_upsert("chats", CHAT_FIELDS), _values(chat))
    write_messages(db, messages)


def write_messages(db: sqlite3.Connection, messages: Iterable[ChatMessage]) -> None:
    """Insert or replace messages of chats that are stored already; call this within a transaction."""
    for message in messages:
        db.execute(_upsert("messages", MESSAGE_FIELDS), _values(message))
        if message.attachments:
            write_attachments(db, message.id, message.attachments)


def write_folder(db: sqlite3.Connection, folder: Folder) -> None:
    db.execute(_upsert("folders", FOLDER_FIELDS), _values(folder))
    db.execute("UPDATE folders SET deleted_at = NULL WHERE id = ?", (folder.id,))


def _length(message: ChatMessage) -> int:
    return len(message.content) + sum(len(file.text) for file in message.attachments)


def _values(value: Chat | ChatMessage | Folder) -> list[Any]:
    return [getattr(value, field.name) for field in fields(value) if field.name != "attachments"]


def _upsert(table: str, names: str) -> str:
    marks = ", ".join("?" for _ in names.split(", "))
    updates = ", ".join(f"{name} = excluded.{name}" for name in names.split(", ") if name != "id")
    return f"INSERT INTO {table} ({names}) VALUES ({marks}) ON CONFLICT (id) DO UPDATE SET {updates}"


def write_attachments(db: sqlite3.Connection, message_id: str, attachments: Sequence[Attachment]) -> None:
    """Replace the message's attachments; equal ones are not written again."""
    if _attachments(db, "= ?", message_id).get(message_id) == tuple(attachments):
        return
    db.execute("DELETE FROM attachments WHERE message_id = ?", (message_id,))
    for position, attachment in enumerate(attachments):
        values = [getattr(attachment, name) for name in ATTACHMENT_VALUES]
        packed = [msgspec.json.encode(getattr(attachment, name)).decode() for name in ATTACHMENT_JSON]
        picture = attachment.picture  # its digest follows from the file
        pixels = (picture.data, picture.width, picture.height) if picture else (None, 0, 0)
        db.execute(
            f"INSERT INTO attachments (message_id, position, {ATTACHMENT_FIELDS}) VALUES ({', '.join('?' * 16)})",
            (message_id, position, *values, *packed, *pixels),
        )


def _attachments(db: sqlite3.Connection, which: str, id: str) -> dict[str, tuple[Attachment, ...]]:
    """Return the attachments of the messages whose id fits the SQL `which` with `id` in it, by message id."""
    rows = db.execute(
        f"""SELECT message_id, {ATTACHMENT_FIELDS} FROM attachments WHERE message_id {which}
        ORDER BY message_id, position""",
        (id,),
    )
    by_message: dict[str, list[Attachment]] = defaultdict(list)
    for message_id, *row in rows:
        by_message[message_id].append(_attachment(row))
    return {message_id: tuple(attachments) for message_id, attachments in by_message.items()}


def _attachment(row: Sequence[Any]) -> Attachment:
    """Build an attachment from ATTACHMENT_FIELDS; a damaged row, or one of another version, keeps only its text."""
    *values, parts, pages, sent, places, picture, width, height = row
    raw = dict(zip(ATTACHMENT_VALUES, values, strict=True))
    try:
        for key, packed in zip(ATTACHMENT_JSON, (parts, pages, sent, places or "[]"), strict=True):
            raw[key] = msgspec.json.decode(packed)
        if picture is not None:
            raw["picture"] = Picture(hashlib.sha256(picture).hexdigest(), width, height, data=picture)
        attachment = msgspec.convert(raw, Attachment)
        if any(not 0 <= index < len(attachment.parts) for index in attachment.sent or ()):
            raise msgspec.ValidationError("a part was sent that there is not")
        if attachment.places and len(attachment.places) != len(attachment.parts):
            raise msgspec.ValidationError("places and parts do not go together")
        return attachment
    except (msgspec.DecodeError, TypeError, ValueError) as error:  # a number or bytes instead of text
        log.warning("an attachment cannot be read: %s", kind_of(error))
        text = raw["text"]
        words = text.decode(errors="replace") if isinstance(text, bytes) else str(text or "")
        return Attachment(str(raw["name"]), "text", len(words), words)
