"""Training examples from chats: the token ids, and which of them are learned."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.tokenization.template import ChatTemplate
from models.assets import asset
from models.header import Header
from training.chat_lines import ChatLine


def training_questions() -> list[str]:
    """Return questions to learn from, none of which `benchmarks.midlayer` asks afterwards."""
    return asset("midlayer/training_questions.txt").read_text("utf-8").splitlines()


@dataclass(frozen=True, slots=True)
class Example:
    """Chat as `tokens`; those from index `first` on, its last answer, are learned."""

    tokens: tuple[int, ...]
    first: int


def examples(chats: Sequence[ChatLine], template: ChatTemplate, header: Header, most: int) -> Iterator[Example]:
    """Yield the chats as the model reads them, cut to `most` tokens; chats whose prompt is longer are left out."""
    end = header.metadata.get("tokenizer.ggml.eos_token_id")
    for chat in chats:
        prompt = template.tokens(chat.prompt)
        answer = template.vocabulary.tokenize(chat.messages[-1].content, special=False)
        whole = (*prompt, *answer, *([end] if isinstance(end, int) and chat.whole else []))[:most]
        if len(prompt) < len(whole):
            yield Example(tuple(whole), len(prompt))
