"""The web page of llama.cpp's server: its exported JSON, one `{"conv": …, "messages": […]}` or a list of them.

Messages form a tree below a message of type "root".
"""

from __future__ import annotations

from typing import Any

from app.store.readers.neutral import ImportedConversation, Turn, attached, items, part, seconds, text, thought


def conversation_of(raw: dict[str, Any]) -> ImportedConversation:
    """Return one entry of the export; raise ValueError if it is no conversation."""
    about = part(raw, "conv")
    if not text(about, "id") or not isinstance(raw.get("messages"), list):
        raise ValueError("it has no messages or no id")
    turns = [_turn(each) for each in items(raw, "messages")]
    times = [turn.time for turn in turns if turn.time is not None]
    return ImportedConversation(
        "llama.cpp",
        f"llama.cpp/{about['id']}",
        text(about, "name"),
        turns,
        min(times, default=None),
        seconds(about.get("lastModified")),
        _key(about.get("currNode")) or None,
    )


def _turn(raw: dict[str, Any]) -> Turn:
    role = "" if raw.get("type") == "root" else text(raw, "role")
    words = text(raw, "content")
    thinking = text(raw, "reasoningContent") or text(raw, "thinking")
    extra = [(text(each, "name"), text(each, "content")) for each in items(raw, "extra")]
    files = tuple(attached(name, content) for name, content in extra if content.strip())
    names = [f"[{name}]" for name, content in extra if name and not content.strip()]
    return Turn(
        _key(raw.get("id")),
        _key(raw.get("parent")) or None,
        role,
        "\n\n".join(filter(None, (*names, thought(thinking) + words if role == "assistant" else words))),
        seconds(raw.get("timestamp")),
        text(raw, "model"),
        attachments=files,
    )


def _key(value: object) -> str:
    """Return an id as text: older versions of the page used numbers."""
    return str(value) if isinstance(value, str | int) else ""
