"""Summing up the oldest turns of a chat: how many of them, what the model is asked, and what is kept. Knows no Qt.

A summary has what the model wrote and what the user wrote, line by line. Small models sum up the last text that they
read and forget the rest: of 17 facts that the user had told a model of 1.5 billion weights, none was left after four
summaries; with the user's own lines, nearly all are (docs/notes/long-chats.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from app.state.prompt import last_summed_up, prompt_of
from app.state.titles import questions_script
from app.store.chat import ChatMessage, storable
from common.reasoning import without_thoughts
from engine.protocol.requests import Message

MOST_WRITTEN = 384  # tokens that the model writes for a summary, at most half of it
MOST_TOKENS, MOST_SHARE = 1024, 0.125  # of a whole summary, and its share of the context
SHORTEST_LINE = 24  # characters: where there is no room for that much of each line, the oldest lines are left out
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
    """The oldest turns of a branch, which a summary is to stand for: its first `messages`, `turns` turns of them new.

    `room`: the most characters of the summary.
    """

    messages: tuple[ChatMessage, ...]
    turns: int
    room: int

    @property
    def last(self) -> ChatMessage:
        return self.messages[-1]

    def question(self) -> tuple[Message, ...]:
        """Return the prompt for the summary: the turns, an earlier summary in place of those before, and the request.

        Its pictures are left out.
        """
        words = CHINESE if self._is_chinese else OTHER
        return prompt_of([*self.messages, ChatMessage(self.last.chat_id, self.last.id, "user", words)])

    def summary(self, answer: str) -> str:
        """Return the summary: the earlier one, what the model answered, and what the user wrote in the new turns.

        "" if the model wrote none. The longest lines are cut where there is not enough room.
        """
        written = storable(without_thoughts(answer)).strip()
        if not written:
            return ""
        first = last_summed_up(self.messages)
        earlier = self.messages[first - 1].summary if first else ""
        user = "用户：" if self._is_chinese else "User: "
        told = [user + message.content for message in self.messages[first:] if message.role == "user"]
        lines = [*earlier.split("\n"), *written.split("\n"), *(" ".join(text.split()) for text in told)]
        return "\n".join(shortened(list(dict.fromkeys(filter(None, map(str.strip, lines)))), self.room))

    @property
    def _is_chinese(self) -> bool:
        return questions_script(self.messages) == "CJK"


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
    room = READ_SHARE * n_ctx - most_written(n_ctx) - pinned
    readable = sum(size <= room for size in accumulate(tokens))
    count = min(len(turns) - max(1, kept), readable)
    if count < 1:
        return None
    first = last_summed_up(messages)
    per_token = sum(map(len, texts_of(turns))) / max(1, sum(tokens))
    return OldTurns(tuple(messages[: first + sum(map(len, turns[:count]))]), count, int(most_tokens(n_ctx) * per_token))


def most_tokens(n_ctx: int) -> int:
    """Return the length of the longest summary in a context of `n_ctx` tokens."""
    return min(MOST_TOKENS, int(MOST_SHARE * n_ctx))


def most_written(n_ctx: int) -> int:
    """Return how many tokens of a summary the model writes at most."""
    return min(MOST_WRITTEN, most_tokens(n_ctx) // 2)


def shortened(lines: Sequence[str], room: int) -> list[str]:
    """Return the lines with at most `room` characters in all, each with its line end; the longest ones are cut."""
    lines = lines[-(room // SHORTEST_LINE) or len(lines) :]
    left, longest = room, room
    for number, length in enumerate(sorted(len(line) + 1 for line in lines)):
        if length > (longest := left // (len(lines) - number)):
            break
        left -= length
    return [line if len(line) < longest else f"{line[: longest - 2].rsplit(' ', 1)[0]}…" for line in lines]


def is_full(tokens: Sequence[int], pinned: int, n_ctx: int) -> bool:
    """Return whether a chat fills so much of the context that its oldest turns should be summed up."""
    return pinned + sum(tokens) > FULL_SHARE * n_ctx
