"""Chats to learn from, a file with one a line: token ids, and which are to be learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from engine.graph.calibration_text import folder
from engine.protocol import Message
from engine.words.template import ChatTemplate
from models.failures import Failure
from models.header import Header


def questions() -> list[str]:
    """To learn from: none of those that `calibrate --midlayer` asks afterwards."""
    return (folder().parent / "midlayer" / "training_questions.txt").read_text("utf-8").splitlines()


class Chat(msgspec.Struct, frozen=True):
    """A line of the file. `whole`: where its last answer ends, the answer ends, and not the room for it."""

    messages: tuple[Message, ...]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Example:
    """`tokens` of a chat; those from index `first` on, its last answer, are to be learned."""

    tokens: tuple[int, ...]
    first: int


def read_chats(path: Path) -> list[Chat]:
    """Raises Failure with the number of a line that is no chat."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure("unreadable", f"{path} cannot be read: {error}.") from error
    chats = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            chat = msgspec.json.decode(line, type=Chat)
        except msgspec.MsgspecError as error:
            sentence = f"Line {number} of {path.name} is no chat: {error}."
            raise Failure(
                "bad_data", sentence + ' A line is like {"messages": [{"role": "user", "content": "…"}, …]}.'
            ) from error
        if len(chat.messages) < 2 or chat.messages[-1].role != "assistant" or not chat.messages[-1].content.strip():
            raise Failure("bad_data", f"Line {number} of {path.name} does not end with an answer to learn from.")
        chats.append(chat)
    if not chats:
        raise Failure("bad_data", f"{path.name} holds no chats.")
    return chats


def examples(chats: Sequence[Chat], template: ChatTemplate, header: Header, most: int) -> Iterator[Example]:
    """As the model sees them; of chats that are longer than `most` tokens the beginning of the answer, if it fits."""
    end = header.metadata.get("tokenizer.ggml.eos_token_id")
    for chat in chats:
        prompt = template.tokens(chat.messages[:-1])
        answer = template.vocabulary.tokenize(chat.messages[-1].content, special=False)
        whole = (*prompt, *answer, *([end] if isinstance(end, int) and chat.whole else []))[:most]
        if len(prompt) < len(whole):
            yield Example(tuple(whole), len(prompt))
