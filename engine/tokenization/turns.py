"""The turns of a chat, and which of them to forget when the context is full. Knows no tokens but their number."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from common.failures import Failure
from common.sentences import Sentence
from engine.protocol import Message, ModelInfo, Remedy


class TooLong(Failure):
    """The chat does not fit the context; `remedies` are what the user may choose from."""

    def __init__(self, sentence: Sentence, remedies: tuple[Remedy, ...]) -> None:
        super().__init__(sentence)
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
    most = most_counted(info)
    needed = (
        Sentence.of("turns.more_than", tokens=most) if tokens > most else Sentence.of("turns.tokens", tokens=tokens)
    )
    turns = turns_to_forget(messages, info.n_ctx, count)
    remedies = [Remedy("forget_turns", turns=turns)] if turns else []
    first = Sentence.of("turns.leave_out", n=turns) if turns else Sentence.of("turns.shorten")
    if larger:
        remedies.append(larger)
        quantised = larger.kind == "smaller_kv"
        other = Sentence.of("turns.larger_8_bit" if quantised else "turns.larger_context", n_ctx=larger.n_ctx)
    else:
        other = Sentence.of("turns.no_memory" if info.n_ctx < info.n_ctx_train else "turns.not_trained")
    said = Sentence.of("prompt_too_long.chat", needed=needed, n_ctx=info.n_ctx, first=first, other=other)
    return TooLong(said, tuple(remedies))
