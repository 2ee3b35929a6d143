"""Ollama's app: the tables `chats` and `messages` of its SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from app.store.readers.neutral import ImportedConversation, Turn, seconds, thought

CHATS = "SELECT id, title, created_at FROM chats"
MESSAGES = """SELECT id, role, content, thinking, model_name, created_at, thinking_time_start, thinking_time_end
    FROM messages WHERE chat_id = ? ORDER BY created_at, id"""


def conversations(db: sqlite3.Connection) -> Iterator[ImportedConversation]:
    """Yield the chats; raise sqlite3.Error if the tables are others."""
    for id, title, created in db.execute(CHATS):
        turns: list[Turn] = []
        for row in db.execute(MESSAGES, (id,)):
            turns.append(_turn(row, turns[-1].key if turns else None))
        yield ImportedConversation("ollama", f"ollama/{id}", _text(title), turns, seconds(created))


def _turn(row: tuple[object, ...], before: str | None) -> Turn:
    id, role, content, thinking, model, created, begun, ended = row
    start, end = seconds(begun), seconds(ended)
    took = end - start if start is not None and end is not None and end > start else None
    words = thought(_text(thinking)) + _text(content)
    return Turn(str(id), before, _text(role), words, seconds(created), _text(model), thought_seconds=took)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
