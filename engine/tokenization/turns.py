"""The turns of a chat, and which of them to forget when the context is full. Knows only the number of tokens."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from common.failures import Failure
from common.sentences import Sentence
from engine.protocol.events import ModelInfo, Remedy
from engine.protocol.requests import Message


class ChatTooLong(Failure):
    """The chat does not fit the context; `remedies` are the user's choices."""

    def __init__(self, sentence: Sentence, remedies: tuple[Remedy, ...]) -> None:
        super().__init__(sentence)
        self.remedies = remedies


MOST_COUNTED = 1 << 18  # tokens; counting them takes about a second, and few models have a larger context
ANSWER_SHARE = 4  # a quarter of the context is freed for answers, so that not every new turn forgets an old one


def turn_starts(messages: Sequence[Message]) -> list[int]:
    """Return the indices at which turns begin: user messages that do not follow another user message."""
    return [
        i for i, m in enumerate(messages) if m.role == "user" and (i == 0 or messages[i - 1].role != "user")
    ]  # fmt: skip


def drop_oldest_turns(messages: Sequence[Message], turns: int) -> tuple[Message, ...]:
    """Return the chat without its `turns` oldest turns; system messages and the last turn always stay."""
    starts = turn_starts(messages)
    if turns <= 0 or len(starts) < 2:
        return tuple(messages)
    first_kept = starts[min(turns, len(starts) - 1)]
    pinned = [m for m in messages[:first_kept] if m.role == "system"]
    return (*pinned, *messages[first_kept:])


def turns_to_forget(messages: Sequence[Message], n_ctx: int, count: Callable[[Sequence[Message]], int]) -> int | None:
    """Return how many of the oldest turns must go to leave room for an answer, or None if no number suffices.

    `count` returns the prompt tokens of messages and is called about log2(turns) times.
    """
    most = len(turn_starts(messages)) - 1
    if most < 1 or count(drop_oldest_turns(messages, most)) >= n_ctx:
        return None
    room = n_ctx - n_ctx // ANSWER_SHARE
    fewer = range(1, most)
    return 1 + bisect_left(fewer, True, key=lambda turns: count(drop_oldest_turns(messages, turns)) <= room)


def max_counted_tokens(info: ModelInfo) -> int:
    """Return the number of tokens up to which a chat is counted, so that the user reads how much is too much."""
    return max(info.n_ctx, info.n_ctx_train, MOST_COUNTED)


def chat_too_long(
    messages: Sequence[Message],
    tokens: int,
    info: ModelInfo,
    count: Callable[[Sequence[Message]], int],
    larger: Remedy | None,
) -> ChatTooLong:
    """Return the failure, with remedies, for `messages` that need more tokens than the context holds.

    `tokens`: the prompt's length. `count`: as for `turns_to_forget`. `larger`: how to load the model with a context
    that holds the messages, if that is possible.
    """
    max_tokens = max_counted_tokens(info)
    needed = (
        Sentence.of("turns.more_than", tokens=max_tokens)
        if tokens > max_tokens
        else Sentence.of("turns.tokens", tokens=tokens)
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
    sentence = Sentence.of("prompt_too_long.chat", needed=needed, n_ctx=info.n_ctx, first=first, other=other)
    return ChatTooLong(sentence, tuple(remedies))
