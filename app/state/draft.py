"""Drafts: the unsent content of each chat's composer, kept over restarts. Knows no Qt."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from app.attachments.attachment import Attachment
from app.store.chat_store import UNSENT, ChatStore
from app.store.database import Done, transaction
from common.failures import Failure
from engine.protocol.events import ModelInfo

Fit = Literal["all", "unknown", "too_much", "best", "beginning"]
LEAST_ROOM = 400  # tokens: a part and its heading
NEW = ""  # the id of the chat that is not stored yet
PUT_TEXT = """INSERT INTO unsent (chat_id, text, options, collections, attachments) VALUES (?, ?, ?, ?, '[]')
    ON CONFLICT (chat_id) DO UPDATE
    SET text = excluded.text, options = excluded.options, collections = excluded.collections"""
PUT_FILES = """INSERT INTO unsent_files (chat_id, attachments) VALUES (?, ?)
    ON CONFLICT (chat_id) DO UPDATE SET attachments = excluded.attachments"""
NO_TEXT, NO_FILES = (f"DELETE FROM {table} WHERE chat_id = ?" for table in UNSENT)


@dataclass
class DraftFile:
    """An attached file or web page; `attachment` is None while it is read, `tokens` until they are counted.

    `link`: the web page's address as the user wrote it; "" for a file. `stop`: ends the reading. `source`: the path or
    image from which a picture can be read again, None after a restart. `in_detail`: whether the picture has all its
    detail; `more_detail`: whether it can have it.
    """

    name: str
    attachment: Attachment | None = None
    tokens: int | None = None
    link: str = ""
    stop: Callable[[], object] = lambda: None
    source: object = None
    in_detail: bool = False
    more_detail: bool = False

    @property
    def address(self) -> str:
        """The web page's address; "" for a file."""
        return self.link or (self.attachment.address if self.attachment else "")


@dataclass
class MessageDraft:
    """The unsent text and files of one chat.

    `fit` is whether the files fit into the context: `too_much` waits for the user's choice, `best` and `beginning` are
    choices. `room` is how many tokens of files fit. `model` is the one that counted the tokens. `options` is JSON of
    app.settings.resolve.ChatOptions and `collections` ids, one a line, both chosen for a chat that is not stored yet;
    other chats have them in their entry.
    """

    text: str = ""
    items: list[DraftFile] = field(default_factory=list)
    fit: Fit = "unknown"
    room: int = 0
    model: ModelInfo | None = None
    options: str = ""
    collections: str = ""

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        return tuple(item.attachment for item in self.items if item.attachment)

    @property
    def no_room(self) -> bool:
        """Whether this chat has too little room left for even one part."""
        return self.fit == "too_much" and self.room < LEAST_ROOM

    @property
    def has_content(self) -> bool:
        return bool(self.text.strip() or self.items or self.options or self.collections)

    @property
    def reading(self) -> bool:
        """Whether a file is still being read."""
        return any(item.attachment is None for item in self.items)

    @property
    def tokens(self) -> int | None:
        """Tokens of all files; None while one is not counted."""
        counts = [item.tokens for item in self.items]
        return None if None in counts else sum(count for count in counts if count is not None)

    def certain_attachments(self) -> tuple[Attachment, ...]:
        """Return the files if they are certain to be sent whole, because they fit; else ()."""
        return self.attachments if self.fit == "all" and not self.reading else ()

    def files_to_count(self, model: ModelInfo | None) -> list[DraftFile]:
        """Return the files whose tokens are not counted; for another model than before, all that have been read."""
        if model is not self.model:
            self.model = model
            for item in self.items:
                item.tokens = None
        return [item for item in self.items if item.attachment and item.tokens is None]

    def clear_sent(self, text: str) -> None:
        """Remove what was sent; text that was typed meanwhile stays."""
        self.text = "" if self.text == text else self.text
        self.items, self.fit, self.options, self.collections = [], "unknown", "", ""


class DraftStore:
    """The store's tables of unsent drafts; raises Failure as the store does."""

    def __init__(self, store: ChatStore) -> None:
        self._store = store
        self._without_files: set[str] = set()  # chats known to have no row in the table of files

    def load(self, chat_id: str) -> MessageDraft:
        row, packed = self._store.with_connection(
            lambda db: (
                db.execute("SELECT text, options, collections FROM unsent WHERE chat_id = ?", (chat_id,)).fetchone(),
                db.execute("SELECT attachments FROM unsent_files WHERE chat_id = ?", (chat_id,)).fetchone(),
            )
        )
        if packed is None:
            self._without_files.add(chat_id)
        try:
            attachments = msgspec.json.decode(packed[0], type=tuple[Attachment, ...]) if packed else ()
        except msgspec.DecodeError:  # of another version: keep at least the text
            attachments = ()
        files = [DraftFile(attachment.name, attachment) for attachment in attachments]
        text, options, collections = row or ("", "", "")
        return MessageDraft(text, files, options=options, collections=collections)

    def save(self, chat_id: str, draft: MessageDraft, done: Done, files: bool = True) -> None:
        """Replace the stored draft and call `done` with the outcome.

        `files` False leaves the stored files as they are, because they may be long.
        """
        text, attachments, chosen = draft.text, draft.attachments, (draft.options, draft.collections)
        files = files and bool(attachments or chat_id not in self._without_files)

        def write(db: sqlite3.Connection) -> None:
            with transaction(db):
                if text or any(chosen):
                    db.execute(PUT_TEXT, (chat_id, text, *chosen))
                else:
                    db.execute(NO_TEXT, (chat_id,))
                if files and attachments:
                    db.execute(PUT_FILES, (chat_id, msgspec.json.encode(attachments).decode()))
                elif files:
                    db.execute(NO_FILES, (chat_id,))

        def written(failure: Failure | None) -> None:
            if failure is None and files and not attachments:
                self._without_files.add(chat_id)
            done(failure)

        if attachments:
            self._without_files.discard(chat_id)
        self._store.writer.write(write, written, long=files)

    def delete_orphans(self) -> None:
        """Delete the drafts of chats that are permanently deleted."""
        for table in UNSENT:
            forget = f"DELETE FROM {table} WHERE chat_id != ? AND chat_id NOT IN (SELECT id FROM chats)"
            self._store.with_connection(lambda db, forget=forget: db.execute(forget, (NEW,)))  # type: ignore[misc]
