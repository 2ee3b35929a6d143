"""The turns of a chat, and which of them to forget when the context is full. Knows no tokens but their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from common.failures import Failure
from engine.protocol import Message, ModelInfo, Remedy


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


def most_counted(info: ModelInfo) -> int:
    """Tokens of a chat that are counted; more would fit no context of this model."""
    return max(info.n_ctx, info.n_ctx_train)


def too_long(
    messages: Sequence[Message],
    tokens: int,
    info: ModelInfo,
    count: Callable[[Sequence[Message]], int],
    larger: Remedy | None,
) -> TooLong:
    """What to say and to offer when `messages` need more tokens than the context holds.

    `count` as for `turns_to_forget`; `larger`: how to load the model with a context that holds them, if that can be."""
    needed = f"more than {most_counted(info):,}" if tokens > most_counted(info) else f"{tokens:,}"
    sentence = f"This chat needs {needed} tokens, the context holds {info.n_ctx:,}."
    remedies = []
    turns = turns_to_forget(messages, info.n_ctx, count)
    if turns:
        remedies.append(Remedy("forget_turns", turns=turns))
        sentence += f" Leave out the oldest {turns} turns," if turns > 1 else " Leave out the oldest turn,"
    else:
        sentence += " Shorten the message,"
    if larger:
        remedies.append(larger)
        how = " and an 8-bit KV cache" if larger.kind == "smaller_kv" else ""
        sentence += f" start a new chat, or load the model with a context of {larger.n_ctx:,} tokens{how}."
    elif info.n_ctx < info.n_ctx_train:
        sentence += " or start a new chat; a context large enough would not fit into memory."
    else:
        sentence += " or start a new chat; the model was not trained for a larger context."
    return TooLong(sentence, tuple(remedies))
