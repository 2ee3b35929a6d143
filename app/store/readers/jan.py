"""Jan: a folder for each thread with `thread.json` and `messages.jsonl`, one message a line."""

from __future__ import annotations

from typing import Any

from app.store.readers.neutral import ImportedConversation, Turn, items, object_of, part, seconds, text, thought

UNFINISHED = ("pending", "stopped", "error")


def conversation_of(thread: bytes, messages: bytes, name: str) -> ImportedConversation:
    """Return the thread from its two files; `name` is the folder's. Raises ValueError if they are damaged."""
    about = object_of(thread)
    models = [text(part(each, "model"), "id") for each in items(about, "assistants")]
    model = next(filter(None, models), "") or text(part(about, "model"), "id")
    turns: list[Turn] = []
    for number, line in enumerate(messages.splitlines()):
        if line.strip():
            turns.append(_turn(object_of(line), number, turns[-1].key if turns else None, model))
    created = seconds(about.get("created"))
    times = [turn.time for turn in turns if turn.time is not None]
    title = text(about, "title") or text(part(about, "metadata"), "title")
    updated = seconds(about.get("updated")) or max(times, default=None)
    return ImportedConversation("jan", f"jan/{text(about, 'id') or name}", title, turns, created, updated)


def _turn(raw: dict[str, Any], number: int, before: str | None, model: str) -> Turn:
    content = raw.get("content")
    words = content if isinstance(content, str) else "".join(map(_words, items(raw, "content")))
    facts = part(raw, "metadata")
    own_model = text(facts, "modelId") or text(part(facts, "assistant"), "model")
    return Turn(
        text(raw, "id") or str(number),
        before,
        text(raw, "role"),
        words,
        seconds(raw.get("created_at")),
        own_model or model,
        "cancelled" if raw.get("status") in UNFINISHED else "end",
    )


def _words(piece: dict[str, Any]) -> str:
    value = piece.get("text")
    words = value if isinstance(value, str) else text(value, "value")
    if piece.get("type") == "reasoning":
        return thought(words)
    return words + "\n\n" if words else "[image]\n\n" if "image" in text(piece, "type") else ""
