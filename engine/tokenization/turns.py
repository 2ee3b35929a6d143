"""The turns of a chat, and which of them to forget when the context is full. Knows no tokens but their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from engine.protocol import Message, Remedy
from models.failures import Failure


class TooLong(Failure):
    """The chat does not fit the context; `remedies` are what the user may choose from."""

    def __init__(self, sentence: str, remedies: tuple[Remedy, ...]) -> None:
        super().__init__("prompt_too_long", sentence)
        self.remedies = remedies


ANSWER_SHARE = 4  # a quarter of the context is kept free for answers, so that not every turn forgets another one


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """Indices at which turns begin: a user's message that does not follow another one of his."""
    return [
        i for i, m in enumerate(messages) if m.role == "user" and (i == 0 or messages[i - 1].role != "user")
    ]  # fmt: skip


def without_oldest(messages: Sequence[Message], turns: int) -> tuple[Message, ...]:
    """The chat without its `turns` oldest turns; system messages stay, and so does the last turn."""
    starts = turn_starts(messages)
    if turns <= 0 or len(starts) < 2:
        return tuple(messages)
    first_kept = starts[min(turns, len(starts) - 1)]
    pinned = [m for m in messages[:first_kept] if m.role == "system"]
    return (*pinned, *messages[first_kept:])


def turns_to_forget(messages: Sequence[Message], n_ctx: int, count: Callable[[Sequence[Message]], int]) -> int | None:
    """How many of the oldest turns must go for the rest to leave room for an answer; None if the last is too long.

    `count` gives the prompt tokens of messages; it is asked about log2(turns) times."""
    low, high = 1, len(turn_starts(messages)) - 1
    if high < 1 or count(without_oldest(messages, high)) >= n_ctx:
        return None
    room = n_ctx - n_ctx // ANSWER_SHARE
    while low < high:
        middle = (low + high) // 2
        if count(without_oldest(messages, middle)) <= room:
            high = middle
        else:
            low = middle + 1
    return low
