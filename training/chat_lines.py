"""Chats in a file, one per line as JSON: training data, or prompts for a benchmark."""

from __future__ import annotations

from pathlib import Path

import msgspec

from common.failures import CommandFailure
from engine.protocol.requests import Message


class ChatLine(msgspec.Struct, frozen=True):
    """One line of the file. `whole`: the last answer was not cut off by a length limit."""

    messages: tuple[Message, ...]
    whole: bool = True

    @property
    def prompt(self) -> tuple[Message, ...]:
        """Messages before the last answer: the prompt that it answers."""
        return self.messages[:-1]


def read_chats(path: Path) -> list[ChatLine]:
    """Load the chats, each of which ends with an answer.

    Raises CommandFailure if the file cannot be read, and with the line's number if a line is invalid.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailure("unreadable", f"{path} cannot be read: {error}.") from error
    chats = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            chat = msgspec.json.decode(line, type=ChatLine)
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
