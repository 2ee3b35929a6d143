"""Claude's export: `conversations.json` in a zip file, a list of conversations with their messages in order.

Messages name the one before in newer exports (`parent_message_uuid`), which makes a tree of edits and other answers.
"""

from __future__ import annotations

from typing import Any

from app.store.readers.neutral import ImportedConversation, Turn, attached, items, seconds, text, thought

ROLES = {"human": "user", "user": "user", "assistant": "assistant"}


def conversation_of(raw: dict[str, Any]) -> ImportedConversation:
    """Return one entry of the file; raise ValueError if it is no conversation."""
    if not isinstance(raw.get("chat_messages"), list) or not text(raw, "uuid"):
        raise ValueError("it has no messages or no id")
    turns: list[Turn] = []
    keys = {text(each, "uuid") for each in items(raw, "chat_messages")}
    for number, each in enumerate(items(raw, "chat_messages")):
        before = turns[-1].key if turns else None
        named = text(each, "parent_message_uuid")
        parent = before if not named else named if named in keys else None
        key = text(each, "uuid") or str(number)
        role = ROLES.get(text(each, "sender"), "")
        files = tuple(
            attached(text(file, "file_name"), text(file, "extracted_content"))
            for file in items(each, "attachments")
            if text(file, "extracted_content").strip()
        )
        turns.append(Turn(key, parent, role, _words(each), seconds(each.get("created_at")), attachments=files))
    return ImportedConversation(
        "claude",
        f"claude/{raw['uuid']}",
        text(raw, "name"),
        turns,
        seconds(raw.get("created_at")),
        seconds(raw.get("updated_at")),
        text(raw, "current_leaf_message_uuid") or None,
    )


def _words(message: dict[str, Any]) -> str:
    """Return a message's thoughts and text, after the names of its pictures; tools' blocks are left out."""
    files = [f"[{text(each, 'file_name')}]" for each in items(message, "files") if text(each, "file_name")]
    blocks = items(message, "content")
    words = "".join(
        thought(text(each, "thinking")) if each.get("type") == "thinking" else text(each, "text") + "\n\n"
        for each in blocks
        if each.get("type") in ("text", "thinking")
    )
    return "\n\n".join(filter(None, (*files, words.strip() or text(message, "text"))))
