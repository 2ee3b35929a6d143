"""Chats to learn from, a file with one a line: token ids, and which are to be learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.tokenization.chat_lines import Chat
from engine.tokenization.template import ChatTemplate
from models.assets import asset
from models.header import Header


def questions() -> list[str]:
    """To learn from: none of those that `calibrate --midlayer` asks afterwards."""
    return asset("midlayer/training_questions.txt").read_text("utf-8").splitlines()


@dataclass(frozen=True, slots=True)
class Example:
    """`tokens` of a chat; those from index `first` on, its last answer, are to be learned."""

    tokens: tuple[int, ...]
    first: int


def examples(chats: Sequence[Chat], template: ChatTemplate, header: Header, most: int) -> Iterator[Example]:
    """As the model sees them; of chats that are longer than `most` tokens the beginning of the answer, if it fits."""
    end = header.metadata.get("tokenizer.ggml.eos_token_id")
    for chat in chats:
        prompt = template.tokens(chat.asked)
        answer = template.vocabulary.tokenize(chat.messages[-1].content, special=False)
        whole = (*prompt, *answer, *([end] if isinstance(end, int) and chat.whole else []))[:most]
        if len(prompt) < len(whole):
            yield Example(tuple(whole), len(prompt))
