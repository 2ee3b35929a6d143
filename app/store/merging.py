"""Merges imported chats into the store in short transactions, all or nothing. Knows neither files nor their formats.

While the file is read, new chats are hidden in the store, and what concerns stored chats is staged in a file beside it.
Renaming that file accepts the import. Only then are the stored chats merged, one after the other, so that the user can
go on writing, and the new ones shown; what a kill interrupts, the next start completes.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import Any, BinaryIO

import msgspec

from app.store.chat import Chat, ChatMessage, Folder
from app.store.chat_store import (
    DOOM_HIDDEN,
    DOOMED,
    HIDDEN,
    LONG,
    ChatStore,
    accepted_import,
    write_chat,
    write_folder,
    write_messages,
)
from app.store.database import beside, failures
from app.store.formats import SPACE
from app.store.project_store import ProjectFile, write_files
from app.store.upkeep import GAP_SECONDS, remove_deleted
from common.failures import Failure

log = logging.getLogger(__name__)
PATIENCE_MS = 10_000  # the window writes too, but never for long
WORK_SECONDS = 0.003  # a window that writes meanwhile waits for a frame at most
REMOVE_SECONDS = 2.0  # a user who closes the window does not notice
MOST_AT_ONCE = 100  # messages, or places of chats, in one transaction, unless they are LONG before


@dataclass(frozen=True, slots=True)
class Before:
    """A stored chat before an import changed it to `merged`, and what takes that back.

    `replaced` are messages as they were; `new_ids` are those of messages that came.
    """

    chat: Chat
    deleted_at: float | None
    merged: Chat
    replaced: tuple[ChatMessage, ...]
    new_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Imported:
    """The outcome of an import: ids of the new chats and folders, the changed chats, the number of unchanged ones."""

    added: tuple[str, ...]
    changed: tuple[Before, ...]
    same: int
    folders: tuple[str, ...] = ()

    @property
    def touched(self) -> tuple[str, ...]:
        """Ids of the new and the changed chats."""
        return (*self.added, *(before.chat.id for before in self.changed))


class Step(msgspec.Struct):
    """One line of the file in which an import is prepared: a chat with its messages, or at the end folders with files.

    `places` are the (folder id, chat id) pairs of the chats that the folders contain.
    """

    chat: Chat | None = None
    messages: list[ChatMessage] = []
    folders: list[Folder] = []
    files: list[ProjectFile] = []
    places: list[tuple[str, str]] = []


class Merging:
    """A context manager for one import; without `finish` the store is as before at its end."""

    def __init__(self, store: ChatStore) -> None:
        self._store = store
        self._path = beside(store.path, ".import-part")
        self._folders: list[Folder] = []
        self._files: list[ProjectFile] = []
        self._places: list[tuple[str, str]] = []
        self._added: dict[str, None] = {}
        self._accepted = False

    def __enter__(self) -> Merging:
        self._store.with_connection(lambda db: db.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}"))
        complete_import(self._store)
        with failures(self._store.path):
            self._staged: BinaryIO = os.fdopen(os.open(self._path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb")
        return self

    def __exit__(self, *_error: object) -> None:
        with suppress(OSError):  # a full disk: what is not written is not needed any more
            self._staged.close()
        self._path.unlink(missing_ok=True)
        if not self._accepted:
            self._store.with_connection(_remove_hidden)

    def add_folder(self, folder: Folder, files: Iterable[ProjectFile]) -> None:
        """Add a folder from the file, with what its chats begin with; one that is here already stays as it is."""
        self._folders.append(folder)
        self._files += files

    def add(self, chat: Chat, messages: list[ChatMessage]) -> None:
        """Add a chat from the file: hide it in the store if it is new, else stage it."""
        if chat.folder_id is not None:
            self._places.append((chat.folder_id, chat.id))
        chat = replace(chat, folder_id=None)
        chat, messages = self._store.with_connection(lambda db: _with_unique_ids(db, chat, messages))
        if _stored(self._store, chat.id) is None:
            _hide(self._store, chat, messages)
            self._added[chat.id] = None
        else:
            self._stage(Step(chat, messages))

    def finish(self) -> Imported:
        """Accept the import, merge all of it, and return the numbers."""
        self._stage(Step(folders=self._folders, files=self._files, places=self._places))
        with failures(self._store.path):
            self._staged.flush()
            os.fsync(self._staged.fileno())
            self._staged.close()
            self._path.replace(accepted_import(self._store.path))
        self._accepted = True
        known = {folder.id for folder in self._store.folders()}
        changed, same = _apply(self._store)
        new_folders = tuple(folder.id for folder in self._folders if folder.id not in known)
        touched = tuple(before for before in changed if before.chat.id not in self._added)
        return Imported(tuple(self._added), touched, same, new_folders)

    def _stage(self, step: Step) -> None:
        with failures(self._store.path):
            self._staged.write(msgspec.json.encode(step) + b"\n")


def undo_changes(store: ChatStore, imported: Imported) -> None:
    """Take back what the import changed, except in chats in which the user has written since.

    What the user changed of a chat since then stays: its name, folder or pin, or that it is deleted. The messages that
    came are deleted like those that a user deletes.
    """
    for before in imported.changed:
        row = _stored(store, before.chat.id)
        if row is not None and row[0].updated_at == before.merged.updated_at:
            _restore(store, before, *row)
            pause()


def _restore(store: ChatStore, before: Before, chat: Chat, deleted_at: float | None) -> None:
    names = [field.name for field in fields(chat)]
    changed = [name for name in names if getattr(chat, name) == getattr(before.merged, name)]
    with store.writing() as db:
        write_chat(db, replace(chat, **{name: getattr(before.chat, name) for name in changed}), before.replaced)
        if deleted_at is None:
            db.execute("UPDATE chats SET deleted_at = ? WHERE id = ?", (before.deleted_at, before.chat.id))
        now = time.time()
        db.executemany("UPDATE messages SET deleted_at = ? WHERE id = ?", [(now, id) for id in before.new_ids])


def complete_import(store: ChatStore) -> None:
    """Complete an import that was accepted and then interrupted, if there is one; if that fails, a later call tries."""
    if not accepted_import(store.path).exists():
        return
    try:
        _apply(store)
    except Failure as failure:
        if failure.code == "store_damaged":
            raise
        log.warning("an import waits: %s", failure.log_text)


def _remove_hidden(db: sqlite3.Connection) -> None:
    """Delete the hidden chats; those that are left after REMOVE_SECONDS are removed by the store's upkeep."""
    db.execute(DOOM_HIDDEN)
    deadline = time.monotonic() + REMOVE_SECONDS
    for _ in remove_deleted(db):
        pause()
        if time.monotonic() > deadline:
            break


class Pace:
    """Pauses between two transactions, during which others write; one after WORK_SECONDS of work at most."""

    def __init__(self) -> None:
        self._since = 0.0

    def __call__(self) -> None:
        if time.monotonic() - self._since > WORK_SECONDS:
            time.sleep(GAP_SECONDS)
            self._since = time.monotonic()


pause = Pace()


def _apply(store: ChatStore) -> tuple[list[Before], int]:
    """Do all steps of the accepted import, then show its new chats.

    Each step may be done again. Return the changed chats and the number of unchanged ones.
    """
    path, changed, same = accepted_import(store.path), dict[str, Before](), 0
    with failures(store.path), path.open("rb") as file:
        for line in file:
            try:
                step = msgspec.json.decode(line, type=Step)
            except msgspec.MsgspecError:  # its text may contain a piece of the chat
                log.warning("a step of an import is damaged and left out")
                continue
            if step.chat is None:
                _place(store, step)
            elif before := _merge(store, step.chat, step.messages):
                changed.setdefault(before.chat.id, before)
            else:
                same += 1
    store.with_connection(lambda db: db.execute("UPDATE chats SET deleted_at = NULL WHERE deleted_at = ?", (HIDDEN,)))
    with failures(store.path):
        path.unlink()
    return list(changed.values()), same


def _place(store: ChatStore, step: Step) -> None:
    """Add the folders that are missing, and put the new chats into theirs."""
    with store.writing() as db:
        known = {folder_id for (folder_id,) in db.execute("SELECT id FROM folders WHERE deleted_at IS NULL")}
        for folder in step.folders:
            if folder.id not in known:
                db.execute("DELETE FROM folders WHERE id = ?", (folder.id,))
                write_folder(db, folder)
                write_files(db, [file for file in step.files if file.folder_id == folder.id])
    known |= {folder.id for folder in step.folders}
    places = [place for place in step.places if place[0] in known]
    for start in range(0, len(places), MOST_AT_ONCE):
        with store.writing() as db:
            db.executemany(
                "UPDATE chats SET folder_id = ? WHERE id = ? AND folder_id IS NULL AND deleted_at = ?",
                [(*place, HIDDEN) for place in places[start : start + MOST_AT_ONCE]],
            )
        pause()


def _merge(store: ChatStore, chat: Chat, messages: list[ChatMessage]) -> Before | None:
    """Merge a chat into the stored one; return what it was before, None if nothing changed.

    The entry is written last, from the stored one of that moment, because the user may have written in the chat.
    """
    row = _stored(store, chat.id)
    if row is None:  # it was deleted permanently after the file was read
        _hide(store, chat, messages)
        return Before(chat, DOOMED, chat, (), ())
    stored, deleted_at = row
    known = {message.id: message for message in store.messages(stored)}
    is_newer = chat.updated_at > stored.updated_at
    changed = [
        message
        for message in messages
        if message.id not in known or (is_newer and _replaces(message, known[message.id]))
    ]  # fmt: skip
    is_deleted = deleted_at is not None and deleted_at != HIDDEN
    if not (changed or is_deleted or _merged_entry(chat, stored) != stored):
        return None
    _write_in_steps(store, changed)
    with store.writing() as db:
        now = _stored(store, chat.id)
        if now is not None:
            write_chat(db, _merged_entry(chat, now[0]), ())
        if is_deleted:
            db.execute("UPDATE chats SET deleted_at = NULL WHERE id = ? AND deleted_at > ?", (chat.id, DOOMED))
    pause()
    return Before(
        stored,
        deleted_at,
        _merged_entry(chat, stored),
        tuple(known[message.id] for message in changed if message.id in known),
        tuple(message.id for message in changed if message.id not in known),
    )


def _replaces(message: ChatMessage, stored: ChatMessage) -> bool:
    """Return whether the message differs and is not just a beginning of the stored one, which was still written."""
    is_beginning = stored.content.startswith(message.content) and stored.content != message.content
    return message != stored and not is_beginning


def _merged_entry(chat: Chat, stored: Chat) -> Chat:
    """Return the entry of the chat that changed last; the folder and the model's file are those of this store."""
    if chat.updated_at <= stored.updated_at:
        return stored
    model_path = stored.model_path if chat.model == stored.model else ""
    kept = {name: getattr(stored, name) for name in ("folder_id", "agreed", "collections")}
    return replace(chat, model_path=model_path, **kept)


def _stored(store: ChatStore, chat_id: str) -> tuple[Chat, float | None] | None:
    """Return the chat as `chat_row` does; None if it was deleted permanently."""
    row = store.chat_row(chat_id)
    return None if row is None or row[1] == DOOMED else row


def _hide(store: ChatStore, chat: Chat, messages: list[ChatMessage]) -> None:
    """Write a new chat that no list shows; one of the same id that was deleted permanently leaves the file first."""
    if store.chat_row(chat.id):
        with store.connection() as db:
            for _ in remove_deleted(db):
                pause()
    with store.writing() as db:
        write_chat(db, chat, ())
        db.execute("UPDATE chats SET deleted_at = ? WHERE id = ?", (HIDDEN, chat.id))
    _write_in_steps(store, messages)


def _write_in_steps(store: ChatStore, messages: Iterable[ChatMessage]) -> None:
    for batch in _batches(messages):
        with store.writing() as db:
            write_messages(db, batch)
        pause()


def _batches(messages: Iterable[ChatMessage]) -> Iterator[list[ChatMessage]]:
    """Yield the messages in groups that SQLite writes and indexes in some milliseconds."""
    batch: list[ChatMessage] = []
    size = 0
    for message in messages:
        batch.append(message)
        size += len(message.content) + sum(len(file.text) for file in message.attachments)
        if size >= LONG or len(batch) >= MOST_AT_ONCE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _with_unique_ids(db: sqlite3.Connection, chat: Chat, messages: list[ChatMessage]) -> tuple[Chat, list[ChatMessage]]:
    """Give new ids to messages whose id belongs to another chat's message; the same new ones at each import."""
    others = "SELECT 1 FROM messages WHERE id = ? AND chat_id <> ?"
    taken = {message.id for message in messages if db.execute(others, (message.id, chat.id)).fetchone()}
    if not taken:
        return chat, messages

    def own(id: Any) -> Any:
        return uuid.uuid5(SPACE, f"{chat.id}/{id}").hex if id in taken else id

    owned = [replace(message, id=own(message.id), parent_id=own(message.parent_id)) for message in messages]
    return replace(chat, leaf_id=own(chat.leaf_id)), owned
