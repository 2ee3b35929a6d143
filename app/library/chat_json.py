"""Chats as JSON, without loss, and back: the format that docs/chats-json.md describes. Knows no files."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import msgspec

from app.library.chat import Chat, ChatMessage, Folder
from app.library.chatgpt import clean, line, moment

FORMAT, VERSION = "chickadee-chats", 1
LONGEST_ID = 200


def encode_chat(chat: Chat, messages: Iterable[ChatMessage]) -> bytes:
    """One entry of "chats". Deleted messages are left out."""
    entry = msgspec.to_builtins(chat)
    entry["messages"] = [_entry(message) for message in messages if message.deleted_at is None]
    return msgspec.json.encode(entry)


def encode_folder(folder: Folder) -> bytes:
    return msgspec.json.encode(folder)


def decode_chat(raw: object, now: float) -> tuple[Chat, list[ChatMessage]]:
    """The chat and its messages as they stand in the file; raises ValueError with what is wrong."""
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
    )
    turns = entry.get("messages", [])
    if not isinstance(turns, list):
        raise ValueError("its messages are no list")
    messages = {message.id: message for message in (_message(turn, chat) for turn in turns)}
    return chat, list(messages.values())


def decode_folder(raw: object, now: float) -> Folder:
    """Raises ValueError with what is wrong."""
    folder = msgspec.convert(_identified(_cleaned(raw)), Folder)
    return replace(folder, name=line(folder.name) or "?", created_at=moment(folder.created_at, now))


def _entry(message: ChatMessage) -> dict[str, Any]:
    entry: dict[str, Any] = msgspec.to_builtins(message)
    for name in ("chat_id", "deleted_at"):
        entry.pop(name)
    return entry


def _message(raw: object, chat: Chat) -> ChatMessage:
    message = msgspec.convert(
        {"created_at": chat.created_at} | _identified(raw) | {"chat_id": chat.id, "deleted_at": None}, ChatMessage
    )
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
    """An object with an id: made anew, it would be another one at each import."""
    if not isinstance(raw, dict):
        raise ValueError("it is no object")
    if not isinstance(raw.get("id"), str) or not 0 < len(raw["id"]) <= LONGEST_ID:
        raise ValueError("its id is missing or too long")
    return raw


def _cleaned(value: Any) -> Any:
    """Without what cannot be stored."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {clean(key): _cleaned(each) for key, each in value.items()}
    return value
