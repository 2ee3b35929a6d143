"""Summing up the oldest turns of a chat: how many of them, and what the model is asked. Knows no Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from app.state.prompt import last_summed_up, prompt_of
from app.state.titles import questions_script
from app.store.chat import ChatMessage, storable
from common.reasoning import without_thoughts
from engine.protocol.requests import Message

MOST_TOKENS, MOST_SHARE = 384, 0.125  # of a summary, and its share of the context
KEPT_SHARE = 0.4  # of the context: the newest turns that stay as they are
READ_SHARE = 0.8  # of the context: the most that is read for one summary; longer chats take several
FULL_SHARE = 0.75  # of the context: a chat that fills more gets a summary
CHINESE = (
    "请总结以上对话，使对话可以在没有原文的情况下继续：保留所有关于用户和主题的事实、姓名、数字、决定、未解决的问题，"
    "以及对回答的要求。不超过三百字。只写总结。"
)
OTHER = (
    "Sum up this conversation, so that it can go on without its text: all facts about the user and the subject, names, "
    "numbers, decisions, open questions, and what the answers should be like. Write in the language of the "
    "conversation, at most 200 words. Only the summary."
)


@dataclass(frozen=True, slots=True)
class OldTurns:
    """The oldest turns of a branch, which a summary is to stand for: its first `messages`, `turns` of them new."""

    messages: tuple[ChatMessage, ...]
    turns: int

    @property
    def last(self) -> ChatMessage:
        return self.messages[-1]

    def question(self) -> tuple[Message, ...]:
        """Return the prompt for the summary: the turns, an earlier summary in place of those before, and the request.

        Its pictures are left out.
        """
        words = CHINESE if questions_script(self.messages) == "CJK" else OTHER
        return prompt_of([*self.messages, ChatMessage(self.last.chat_id, self.last.id, "user", words)])


def turns_of(messages: Sequence[ChatMessage]) -> list[tuple[ChatMessage, ...]]:
    """Return the turns after the last summary: each begins with a question, or with several in a row."""
    turns: list[list[ChatMessage]] = []
    for message in messages[last_summed_up(messages) :]:
        if not turns or (message.role == "user" and turns[-1][-1].role != "user"):
            turns.append([])
        turns[-1].append(message)
    return [tuple(turn) for turn in turns]


def texts_of(turns: Sequence[Sequence[ChatMessage]]) -> tuple[str, ...]:
    """Return what the model reads of each turn, to be counted."""
    return tuple("\n\n".join(part.content for part in prompt_of(turn)) for turn in turns)


def old_turns(messages: Sequence[ChatMessage], tokens: Sequence[int], pinned: int, n_ctx: int) -> OldTurns | None:
    """Return the turns to sum up next; None if there are none, or the oldest alone is too long to be read.

    `tokens`: the size of each turn of `turns_of(messages)`; `pinned`: that of the instructions and the last summary.
    The newest turn stays, and so do the turns before it that fill at most KEPT_SHARE of the context with it.
    """
    turns = turns_of(messages)
    kept = sum(size <= KEPT_SHARE * n_ctx for size in accumulate(reversed(tokens)))
    room = READ_SHARE * n_ctx - most_tokens(n_ctx) - pinned
    readable = sum(size <= room for size in accumulate(tokens))
    count = min(len(turns) - max(1, kept), readable)
    if count < 1:
        return None
    first = last_summed_up(messages)
    return OldTurns(tuple(messages[: first + sum(map(len, turns[:count]))]), count)


def most_tokens(n_ctx: int) -> int:
    """Return the length of the longest summary in a context of `n_ctx` tokens."""
    return min(MOST_TOKENS, int(MOST_SHARE * n_ctx))


def is_full(tokens: Sequence[int], pinned: int, n_ctx: int) -> bool:
    """Return whether a chat fills so much of the context that its oldest turns should be summed up."""
    return pinned + sum(tokens) > FULL_SHARE * n_ctx


def clean_summary(answer: str) -> str:
    """Return the summary in a model's answer; "" if it wrote none."""
    return storable(without_thoughts(answer)).strip()
