"""Attachments in the library's file: rows of a message, in order. Knows only a database connection."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import msgspec

from app.attachments.attachment import Attachment

FIELDS = "name, kind, size, text, parts, pages, sent"


def write(db: sqlite3.Connection, message_id: str, attachments: Sequence[Attachment]) -> None:
    """What the message had before is replaced; the same again costs nothing but a look."""
    if _of(db, "= ?", message_id).get(message_id) == tuple(attachments):
        return
    db.execute("DELETE FROM attachments WHERE message_id = ?", (message_id,))
    for position, a in enumerate(attachments):
        packed = [msgspec.json.encode(value).decode() for value in (a.parts, a.pages, a.sent)]
        db.execute(
            f"INSERT INTO attachments (message_id, position, {FIELDS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (message_id, position, a.name, a.kind, a.size, a.text, *packed),
        )


def read(db: sqlite3.Connection, chat_id: str) -> dict[str, tuple[Attachment, ...]]:
    """All attachments of a chat by the message's id."""
    return _of(db, "IN (SELECT id FROM messages WHERE chat_id = ?)", chat_id)


def _of(db: sqlite3.Connection, which: str, id: str) -> dict[str, tuple[Attachment, ...]]:
    rows = db.execute(
        f"SELECT message_id, {FIELDS} FROM attachments WHERE message_id {which} ORDER BY message_id, position", (id,)
    )
    found: dict[str, list[Attachment]] = defaultdict(list)
    for message_id, *row in rows:
        found[message_id].append(_attachment(row))
    return {message_id: tuple(attachments) for message_id, attachments in found.items()}


def _attachment(row: Sequence[Any]) -> Attachment:
    """Of the columns `FIELDS`."""
    name, kind, size, text, parts, pages, sent = row
    raw = {"name": name, "kind": kind, "size": size, "text": text}
    for key, packed in (("parts", parts), ("pages", pages), ("sent", sent)):
        raw[key] = msgspec.json.decode(packed)
    return msgspec.convert(raw, Attachment)
