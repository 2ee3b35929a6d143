"""Open WebUI: rows of the table `chat` in `webui.db`, and the same as a list in its exported JSON.

The column `chat` has the messages twice: `history` is the tree, and `messages` the shown branch, which older versions
had alone. An answer's thought is a `<details type="reasoning">` block in its text.
"""

from __future__ import annotations

import html
import json
import re
import sqlite3
from collections.abc import Iterator
from typing import Any

from app.store.readers.neutral import ImportedConversation, Turn, items, part, seconds, text, thought

_DETAILS = re.compile(r'<details type="(\w+)"([^>]*)>\s*(?:<summary>.*?</summary>)?(.*?)</details>\s*', re.DOTALL)
_DURATION = re.compile(r'\bduration="(\d{1,6})"')


def rows(db: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    """Yield the chats of the database in the form of the export."""
    for id, title, chat, created, updated in db.execute("SELECT id, title, chat, created_at, updated_at FROM chat"):
        try:
            content = json.loads(chat)
        except (ValueError, TypeError, RecursionError):
            content = None
        yield {"id": id, "title": title, "chat": content, "created_at": created, "updated_at": updated}


def conversation_of(raw: dict[str, Any]) -> ImportedConversation:
    """Return one entry of the export; raise ValueError if it is no chat."""
    chat = part(raw, "chat")
    if not text(raw, "id") or not chat:
        raise ValueError("it has no messages or no id")
    history = part(chat, "history")
    turns = [_turn(str(key), each) for key, each in part(history, "messages").items() if isinstance(each, dict)]
    if not turns:
        turns = _line_of(items(chat, "messages"))
    return ImportedConversation(
        "open-webui",
        f"open-webui/{raw['id']}",
        text(raw, "title") or text(chat, "title"),
        turns,
        seconds(raw.get("created_at")),
        seconds(raw.get("updated_at")),
        text(history, "currentId") or None,
    )


def _line_of(messages: list[dict[str, Any]]) -> list[Turn]:
    turns: list[Turn] = []
    for number, each in enumerate(messages):
        turn = _turn(text(each, "id") or str(number), each)
        turn.parent = turns[-1].key if turns else None
        turns.append(turn)
    return turns


def _turn(key: str, raw: dict[str, Any]) -> Turn:
    took: list[float] = []

    def block(match: re.Match[str]) -> str:
        if match[1] != "reasoning":  # a tool's call
            return ""
        took.extend(float(number) for number in _DURATION.findall(match[2]))
        return thought("\n".join(re.sub(r"^> ?", "", line) for line in html.unescape(match[3]).strip().split("\n")))

    words = raw.get("content")
    if isinstance(words, list):
        words = "\n\n".join(text(each, "text") for each in items(raw, "content"))
    role, words = text(raw, "role"), words if isinstance(words, str) else ""
    if role == "assistant":
        words = _DETAILS.sub(block, words)
    files = [f"[{text(each, 'name')}]" for each in items(raw, "files") if text(each, "name")]
    return Turn(
        key,
        text(raw, "parentId") or None,
        role,
        "\n\n".join(filter(None, (*files, words))),
        seconds(raw.get("timestamp")),
        text(raw, "model"),
        "cancelled" if raw.get("done") is False else "end",
        sum(took) if took else None,
    )
