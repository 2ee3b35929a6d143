"""Chats in a file, one a line as JSON: to learn from, or to ask again what was asked there."""

from __future__ import annotations

from pathlib import Path

import msgspec

from common.failures import CommandFailure
from engine.protocol import Message


class Chat(msgspec.Struct, frozen=True):
    """A line of the file. `whole`: where its last answer ends, the answer ends, and not the room for it."""

    messages: tuple[Message, ...]
    whole: bool = True

    @property
    def asked(self) -> tuple[Message, ...]:
        """What that answered."""
        return self.messages[:-1]


def read_chats(path: Path) -> list[Chat]:
    """Each with an answer at its end. Raises Failure with the number of a line that is no such chat."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailure("unreadable", f"{path} cannot be read: {error}.") from error
    chats = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            chat = msgspec.json.decode(line, type=Chat)
        except msgspec.MsgspecError as error:
            sentence = f"Line {number} of {path.name} is no chat: {error}."
            raise CommandFailure(
                "bad_data", sentence + ' A line is like {"messages": [{"role": "user", "content": "…"}, …]}.'
            ) from error
        if len(chat.messages) < 2 or chat.messages[-1].role != "assistant" or not chat.messages[-1].content.strip():
            raise CommandFailure("bad_data", f"Line {number} of {path.name} does not end with an answer to learn from.")
        chats.append(chat)
    if not chats:
        raise CommandFailure("bad_data", f"{path.name} holds no chats.")
    return chats
