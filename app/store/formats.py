"""Chats in the formats of files: our JSON (docs/chats-json.md), ChatGPT's, and Markdown to read. Knows no files."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal, cast

import msgspec

from app.store.chat import UNTITLED, Chat, ChatMessage, Ending, Folder, title_of
from app.store.tree import Tree, chosen_from
from app.words import tr, worded
from common.sentences import decode_sentence

FORMAT, VERSION = "chickadee-chats", 1
LONGEST_ID = 200
# Namespace of ids that are derived from theirs, so that importing twice makes no duplicates.
SPACE = uuid.UUID("4d9b3f0e-2f53-4c7e-9d0c-6d3f1e8a7b21")
LATEST = 253_370_764_800.0  # the year 9999 as Unix time
LONGEST_TITLE = 300
Node = dict[str, Any]
_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*\x7f]+')
_DEVICE = re.compile(r"CON|PRN|AUX|NUL|COM\d|LPT\d", re.IGNORECASE)  # devices on Windows
LONGEST_NAME = 80


def moment(value: object, otherwise: float) -> float:
    """Return `value` as a Unix time within the calendar's range; `otherwise` if it is not a finite number."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return min(max(float(cast(float, value)), 0.0), LATEST) if usable else otherwise


def line(value: object) -> str:
    """Return a title as one line of usable length; "" if `value` is not text."""
    return clean(" ".join(value.split())[:LONGEST_TITLE]) if isinstance(value, str) else ""


def clean(text: str) -> str:
    """Replace lone surrogates (half of an emoji), which can be neither stored nor sent."""
    return text.encode("utf-8", "replace").decode()


# --- our own JSON, without loss ---------------------------------------------------------------------------------------


def encode_chat(chat: Chat, messages: Iterable[ChatMessage]) -> bytes:
    """Return one entry of "chats" as JSON, without deleted messages.

    The model's path is left out: it names the user's folders.
    """
    entry = msgspec.to_builtins(chat)
    del entry["model_path"], entry["unread_at"], entry["agreed"]
    entry["messages"] = [_entry(message) for message in messages if message.deleted_at is None]
    return msgspec.json.encode(entry)


def encode_folder(folder: Folder) -> bytes:
    return msgspec.json.encode(folder)


def decode_chat(raw: object, now: float) -> tuple[Chat, list[ChatMessage]]:
    """Return the chat and its messages as they are in the file; raise ValueError with the mistake."""
    entry = _cleaned(raw)
    if not {"created_at", "updated_at"} <= _identified(entry).keys():
        raise ValueError("its times are missing")
    chat = msgspec.convert(entry, Chat)
    begun = moment(chat.created_at, now)
    chat = replace(
        chat,
        title=line(chat.title) or "?",
        created_at=begun,
        updated_at=moment(chat.updated_at, begun),
        pinned_at=None if chat.pinned_at is None else moment(chat.pinned_at, now),
        forget_turns=max(0, min(chat.forget_turns, 1_000_000)),
        model=line(chat.model),
        unread_at=None,
        agreed="",  # only the user here can agree
        model_path="",  # a file from elsewhere must not name what a click loads here
    )
    turns = entry.get("messages", [])
    if not isinstance(turns, list):
        raise ValueError("its messages are no list")
    messages = {message.id: message for message in (_message(turn, chat) for turn in turns)}
    return chat, list(messages.values())


def decode_folder(raw: object, now: float) -> Folder:
    """Return the folder; raise ValueError with the mistake."""
    folder = msgspec.convert(_identified(_cleaned(raw)), Folder)
    return replace(folder, name=line(folder.name) or "?", created_at=moment(folder.created_at, now))


def _entry(message: ChatMessage) -> dict[str, Any]:
    entry: dict[str, Any] = msgspec.to_builtins(message)
    for name in ("chat_id", "deleted_at"):
        entry.pop(name)
    entry["problem"] = str(decode_sentence(message.problem))
    if entry["problem"] != message.problem:
        entry["problem_code"] = message.problem
    return entry


def _message(raw: object, chat: Chat) -> ChatMessage:
    entry = {"created_at": chat.created_at} | _identified(raw) | {"chat_id": chat.id, "deleted_at": None}
    entry["problem"] = entry.get("problem_code") or entry.get("problem", "")
    message = msgspec.convert(entry, ChatMessage)
    for file in message.attachments:
        if any(not 0 <= part < len(file.parts) for part in file.sent or ()):
            raise ValueError("an attachment has no such part")
    seconds = message.thought_seconds
    return replace(
        message,
        created_at=moment(message.created_at, chat.created_at),
        thought_seconds=seconds if seconds is not None and math.isfinite(seconds) else None,
    )


def _identified(raw: object) -> dict[str, Any]:
    """Return an object that has an id, else raise ValueError; a new id would make another chat at each import."""
    if not isinstance(raw, dict):
        raise ValueError("it is no object")
    if not isinstance(raw.get("id"), str) or not 0 < len(raw["id"]) <= LONGEST_ID:
        raise ValueError("its id is missing or too long")
    return raw


def _cleaned(value: Any) -> Any:
    """Replace lone surrogates, which cannot be stored, in all strings of a JSON value."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned(each) for key, each in value.items()}
    return value


# --- ChatGPT's conversations.json -------------------------------------------------------------------------------------
# A conversation is a tree of nodes, as ours is. Nodes without a message, of the system, of tools, and messages to a
# tool are skipped: their children become children of the turn above. Any field may be missing or have another type,
# because the format is not documented.


def chat_of_chatgpt(raw: object, now: float) -> tuple[Chat, list[ChatMessage]] | None:
    """Return the chat and its messages, parents first; None if it has no messages. Raises ValueError."""
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
        message = _message_of_node(chat_id, key, above, nodes[key].get("message"), begun)
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


def _from_the_top(nodes: dict[str, Node]) -> Iterator[str]:
    """Yield the keys, parents before children and siblings by time; nodes in rings are left out."""
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


def _message_of_node(chat_id: str, key: str, parent: str | None, raw: object, begun: float) -> ChatMessage | None:
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
    """Return the readable text of a message's content; parts that are not text are named."""
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


# --- Markdown ---------------------------------------------------------------------------------------------------------


def markdown_of(chat: Chat, messages: Iterable[ChatMessage]) -> str:
    branch = Tree(messages, chat.leaf_id, chosen_from(chat.chosen)).branch()
    pieces = [f"# {_line(chat.title)}", *map(_turn, branch)]
    return "\n\n".join(pieces) + "\n"


def file_name(title: str) -> str:
    """Return a file name that every system allows, without an ending."""
    name = _UNSAFE.sub(" ", title)
    name = " ".join(name.split())[:LONGEST_NAME].strip(" .")
    return f"_{name}" if _DEVICE.fullmatch(name.split(".")[0]) else name or "chat"


def _turn(message: ChatMessage) -> str:
    who = tr("You") if message.role == "user" else message.model or tr("Assistant")
    moment = datetime.fromtimestamp(message.created_at).strftime("%Y-%m-%d %H:%M")
    pieces = [f"## {_line(who)} · {moment}"]
    pieces += [tr("*Attached: {name}*", name=_line(file.name)) for file in message.attachments]
    pieces += [message.content] if message.content else []
    pieces += [f"*{_line(worded(decode_sentence(message.problem)))}*"] if message.problem else []
    return "\n\n".join(pieces)


def _line(text: str) -> str:
    """Return the text as one line in which nothing is markup."""
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", " ".join(text.split()))
