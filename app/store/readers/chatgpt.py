"""ChatGPT's export: `conversations.json`, alone or in a zip file.

A conversation is a tree of nodes, as ours is. Those of the system and of tools, and messages to a tool, have no text
here. Any field may be missing or have another type, because the format is not documented.
"""

from __future__ import annotations

from typing import Any

from app.store.chat import Ending
from app.store.readers.neutral import ImportedConversation, Turn, part, seconds, text


def conversation_of(raw: dict[str, Any]) -> ImportedConversation:
    """Return one entry of the file; raise ValueError if it has no messages."""
    if not isinstance(raw.get("mapping"), dict):
        raise ValueError("it has no messages")
    nodes = {str(key): node for key, node in raw["mapping"].items() if isinstance(node, dict)}
    created = seconds(raw.get("create_time"))
    theirs = raw.get("conversation_id") or raw.get("id") or "/".join([str(created), *list(nodes)[:2]])
    return ImportedConversation(
        "chatgpt",
        str(theirs),
        text(raw, "title"),
        [_turn(key, node) for key, node in nodes.items()],
        created,
        seconds(raw.get("update_time")),
        str(raw.get("current_node")),
    )


def _turn(key: str, node: dict[str, Any]) -> Turn:
    raw, parent = part(node, "message"), str(node.get("parent"))
    role, facts = text(part(raw, "author"), "role"), part(raw, "metadata")
    hidden = raw.get("recipient") not in (None, "all") or facts.get("is_visually_hidden_from_conversation")
    words = "" if hidden else _words(part(raw, "content"))
    model = text(facts, "model_slug")
    return Turn(key, parent, role, words, seconds(raw.get("create_time")), model, _ending(raw, facts))


def _ending(raw: dict[str, Any], facts: dict[str, Any]) -> Ending:
    if part(facts, "finish_details").get("type") == "max_tokens":
        return "length"
    return "end" if raw.get("status") in (None, "finished_successfully") else "cancelled"


def _words(content: dict[str, Any]) -> str:
    """Return the readable text of a message's content; parts that are not text are named."""
    kind = content.get("content_type")
    if kind in ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"):
        return ""
    if kind in ("code", "execution_output") and isinstance(content.get("text"), str):
        return f"```\n{content['text']}\n```"
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n\n".join(filter(None, map(_piece, parts)))
    return text(content, "text") or text(content, "result")


def _piece(piece: object) -> str:
    if isinstance(piece, str):
        return piece
    if text(piece, "text"):
        return text(piece, "text")
    kind = text(piece, "content_type")
    return "[image]" if "image" in kind else "[audio]" if "audio" in kind else "[video]" if "video" in kind else ""
