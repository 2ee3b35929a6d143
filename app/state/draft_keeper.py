"""Storage of drafts: each chat's unsent text and files, kept over restarts. Knows no Qt."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any

import msgspec

from app.attachments.attachment import Attachment
from app.events import Event
from app.state.conversation import Conversation
from app.state.draft import CHOICES, DraftFile, MessageDraft, Unsent
from app.store.chat_store import UNSENT, ChatStore
from app.store.database import Done, transaction
from common.failures import Failure
from common.paths import path_of, path_text

TEXTS = ("text", "queued", *CHOICES)
PUT_TEXT = f"""INSERT INTO unsent (chat_id, {", ".join(TEXTS)}, attachments) VALUES (?{", ?" * len(TEXTS)}, '[]')
    ON CONFLICT (chat_id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in TEXTS)}"""
GET_TEXT = f"SELECT {', '.join(TEXTS)} FROM unsent WHERE chat_id = ?"
IS_FOLDER = "SELECT 1 FROM folders WHERE id = ? AND deleted_at IS NULL"
PUT_FILES = """INSERT INTO unsent_files (chat_id, attachments, unread, queued, queued_unread) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (chat_id) DO UPDATE SET attachments = excluded.attachments, unread = excluded.unread,
    queued = excluded.queued, queued_unread = excluded.queued_unread"""
NO_TEXT, NO_FILES = (f"DELETE FROM {table} WHERE chat_id = ?" for table in UNSENT)


class DraftStore:
    """The store's tables of unsent drafts; raises Failure as the store does."""

    def __init__(self, store: ChatStore) -> None:
        self._store = store
        self._without_files: set[str] = set()  # chats known to have no row in the table of files

    def load(self, chat_id: str) -> MessageDraft:
        columns = "attachments, unread, queued, queued_unread"

        def read_rows(db: sqlite3.Connection) -> tuple[Any, Any]:
            row = db.execute(GET_TEXT, (chat_id,)).fetchone() or ("",) * len(TEXTS)
            files = db.execute(f"SELECT {columns} FROM unsent_files WHERE chat_id = ?", (chat_id,)).fetchone()
            texts = dict(zip(TEXTS, row, strict=True))
            if not db.execute(IS_FOLDER, (texts["folder_id"],)).fetchone():
                texts["folder_id"] = ""
            return texts, files

        texts, files = self._store.with_connection(read_rows)
        if files is None:
            self._without_files.add(chat_id)
        read, unread, queued_read, queued_unread = files or ("", "", "", "")
        waiting = Unsent(texts.pop("queued"), _files(queued_read, queued_unread))
        return MessageDraft(items=_files(read, unread), queued=waiting, **texts)

    def save(self, chat_id: str, draft: MessageDraft, done: Done, files: bool = True) -> None:
        """Replace the stored draft and call `done` with the outcome.

        `files` False leaves the stored files as they are, because they may be long.
        """
        messages, chosen = (draft, draft.queued), [getattr(draft, name) for name in CHOICES]
        text, queued = (message.text for message in messages)
        packed = [part for message in messages for part in _packed(message)]
        has_files = any(message.items for message in messages)
        files = files and (has_files or chat_id not in self._without_files)

        def write(db: sqlite3.Connection) -> None:
            with transaction(db):
                if text or queued or any(chosen):
                    db.execute(PUT_TEXT, (chat_id, text, queued, *chosen))
                else:
                    db.execute(NO_TEXT, (chat_id,))
                if files and has_files:
                    db.execute(PUT_FILES, (chat_id, *(msgspec.json.encode(part).decode() for part in packed)))
                elif files:
                    db.execute(NO_FILES, (chat_id,))

        def written(failure: Failure | None) -> None:
            if failure is None and files and not has_files:
                self._without_files.add(chat_id)
            done(failure)

        if has_files:
            self._without_files.discard(chat_id)
        self._store.writer.write(write, written, long=files)


class DraftKeeper:
    """The drafts of all chats: in memory while the window is open, and stored for the next start.

    `failed` is told once why a draft cannot be stored or read; storing it is tried again with the next write.
    `not_saved` is emitted each time that storing one fails, `loaded` when a draft was read from the store.
    """

    def __init__(self, store: DraftStore, failed: Callable[[Failure], object]) -> None:
        self._store, self._failed = store, failed
        self.not_saved: Event[()] = Event()
        self.loaded: Event[Conversation] = Event()
        self._unstored: dict[Conversation, tuple[bool, Failure]] = {}  # whether its files are unstored too, and why

    def draft_of(self, conversation: Conversation) -> MessageDraft:
        """Return the conversation's draft; load it from the store the first time."""
        if conversation.draft is None:
            conversation.draft = MessageDraft()
            if conversation.temporary:
                return conversation.draft

            def load() -> None:
                conversation.draft = self._store.load(conversation.chat.id)

            self._guarded(load)
            self.loaded.emit(conversation)
        return conversation.draft

    def store_draft(self, conversation: Conversation, files: bool = True) -> None:
        """Store the draft, and all drafts that could not be stored before.

        With `files` False only the text has changed.
        """
        for each, (with_files, _) in ({conversation: (files, None)} | self._unstored).items():
            draft = each.draft
            if draft is not None:
                self._save(each, draft, with_files or (each is conversation and files))

    def retry_unstored(self) -> Failure | None:
        """Try once more to store the drafts that could not be stored; return the first Failure, or None."""
        for conversation, (files, _) in tuple(self._unstored.items()):
            self._save(conversation, conversation.draft or MessageDraft(), files)
        return next((failure for _, failure in self._unstored.values()), None)

    def _save(self, conversation: Conversation, draft: MessageDraft, files: bool) -> None:
        if conversation.state == "gone" or conversation.temporary:
            self._unstored.pop(conversation, None)
            return

        def done(failure: Failure | None) -> None:
            before = self._unstored.pop(conversation, None)
            if conversation.state == "gone":
                return
            if failure is not None:
                self._unstored[conversation] = files, failure
                self.not_saved.emit()
            if before is None:  # report it once
                self._report(failure)

        self._store.save(conversation.chat.id, draft, done, files)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Failure as failure:
            self._report(failure)

    def _report(self, failure: Failure | None) -> None:
        if failure is not None:
            self._failed(failure)


def _packed(message: Unsent) -> tuple[tuple[Attachment, ...], list[str]]:
    """Return what is stored of a message's files: those that were read, and the paths of the others."""
    return message.attachments, [path_text(path) for path in message.unread]


def _files(read: str, unread: str) -> list[DraftFile]:
    """Return the files that were stored; those of another version are left out."""
    try:
        attachments = msgspec.json.decode(read or "[]", type=tuple[Attachment, ...])
    except msgspec.DecodeError:  # keep at least the text
        attachments = ()
    paths = [path_of(path) for path in msgspec.json.decode(unread or "[]", type=list[str])]
    return [
        *(DraftFile(attachment.name, attachment) for attachment in attachments),
        *(DraftFile(path.name, source=path) for path in paths),
    ]
