"""Chats of ChatGPT's export (conversations.json), each as a chat of ours. Knows neither files nor the library.

A conversation there is a tree of nodes, as ours is; nodes without a message, of the system, of tools, and what an
assistant wrote to a tool are no turns: what hangs below them hangs below the turn before them here. Any field may be
missing or of another kind than it should: nobody promises this format.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator
from typing import Any, Literal, cast

from app.library.chat import UNTITLED, Chat, ChatMessage, Ending, title_of

SPACE = uuid.UUID("4d9b3f0e-2f53-4c7e-9d0c-6d3f1e8a7b21")  # ids made from theirs: importing twice makes no doubles
LATEST = 253_370_764_800.0  # the year 9999 as Unix time
LONGEST_TITLE = 300
Node = dict[str, Any]


def chat_of(raw: object, now: float) -> tuple[Chat, list[ChatMessage]] | None:
    """The chat and its messages, parents first; None if nobody says anything in it. Raises ValueError."""
    if not isinstance(raw, dict) or not isinstance(raw.get("mapping"), dict):
        raise ValueError("it has no messages")
    nodes: dict[str, Node] = {str(key): node for key, node in raw["mapping"].items() if isinstance(node, dict)}
    begun = moment(raw.get("create_time"), now)
    theirs = raw.get("conversation_id") or raw.get("id") or "/".join([str(begun), *list(nodes)[:2]])
    chat_id = uuid.uuid5(SPACE, str(theirs)).hex
    messages: dict[str, ChatMessage] = {}  # by the node's key
    turn_of: dict[str, str | None] = {}  # by any node's key: the id of the turn there or last before
    for key in _from_the_top(nodes):
        above = turn_of.get(str(nodes[key].get("parent")))
        message = _message(chat_id, key, above, nodes[key].get("message"), begun)
        turn_of[key] = message.id if message else above
        if message:
            messages[key] = message
    if not messages:
        return None
    turns = list(messages.values())
    first = next((turn.content for turn in turns if turn.role == "user"), UNTITLED)
    title = line(raw.get("title")) or title_of(first)
    leaf = turn_of.get(str(raw.get("current_node"))) or turns[-1].id
    latest = max(turn.created_at for turn in turns)
    return Chat(title, chat_id, begun, moment(raw.get("update_time"), latest), leaf), turns


def moment(value: object, otherwise: float) -> float:
    """A Unix time that a calendar knows."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return min(max(float(cast(float, value)), 0.0), LATEST) if usable else otherwise


def line(value: object) -> str:
    """A title: one line of usable length."""
    return clean(" ".join(value.split())[:LONGEST_TITLE]) if isinstance(value, str) else ""


def clean(text: str) -> str:
    """Half an emoji can be neither stored nor sent."""
    return text.encode("utf-8", "replace").decode()


def _from_the_top(nodes: dict[str, Node]) -> Iterator[str]:
    """The keys, parents before children, siblings in their order; rings have no top and are left out."""
    children: dict[str, list[str]] = {}
    for key, node in nodes.items():
        parent = str(node.get("parent"))
        children.setdefault(parent if parent in nodes else "", []).append(key)
    for siblings in children.values():
        siblings.sort(key=lambda key: _time_of(nodes[key]))
    waiting = children.get("", [])[::-1]
    while waiting:
        key = waiting.pop()
        yield key
        waiting += children.get(key, [])[::-1]


def _time_of(node: Node) -> float:
    message = node.get("message")
    return moment(message.get("create_time"), 0.0) if isinstance(message, dict) else 0.0


def _message(chat_id: str, key: str, parent: str | None, raw: object, begun: float) -> ChatMessage | None:
    if not isinstance(raw, dict):
        return None
    role = _part(raw, "author").get("role")
    facts = _part(raw, "metadata")
    to_tool = raw.get("recipient") not in (None, "all")
    if role not in ("user", "assistant") or to_tool or facts.get("is_visually_hidden_from_conversation"):
        return None
    text = clean(_text(_part(raw, "content"))).strip()
    if not text:
        return None
    return ChatMessage(
        chat_id,
        parent,
        cast(Literal["user", "assistant"], role),
        text,
        uuid.uuid5(SPACE, f"{chat_id}/{key}").hex,
        moment(raw.get("create_time"), begun),
        _ending(role, raw, facts),
        model=line(facts.get("model_slug")) if role == "assistant" else "",
    )


def _ending(role: str, raw: dict[str, Any], facts: dict[str, Any]) -> Ending:
    if role == "user":
        return "end"
    if _part(facts, "finish_details").get("type") == "max_tokens":
        return "length"
    return "end" if raw.get("status") in (None, "finished_successfully") else "cancelled"


def _text(content: dict[str, Any]) -> str:
    """What can be read of a message's content; what is no text is named."""
    kind = content.get("content_type")
    if kind in ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"):
        return ""
    if kind in ("code", "execution_output") and isinstance(content.get("text"), str):
        return f"```\n{content['text']}\n```"
    parts = content.get("parts")
    if isinstance(parts, list):
        return "\n\n".join(filter(None, map(_piece, parts)))
    text = content.get("text") or content.get("result")
    return text if isinstance(text, str) else ""


def _piece(part: object) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    kind = str(part.get("content_type") or "")
    return "[image]" if "image" in kind else "[audio]" if "audio" in kind else "[video]" if "video" in kind else ""


def _part(raw: dict[str, Any], name: str) -> dict[str, Any]:
    value = raw.get(name)
    return value if isinstance(value, dict) else {}
