"""Forgetting turns: as few as needed, and never the system prompt or the question."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.protocol.requests import Message
from engine.tokenization.turns import drop_oldest_turns, turns_to_forget

CHAT = [
    Message("system", "s"),
    Message("user", "u1"),
    Message("assistant", "a1"),
    Message("user", "u2"),
    Message("assistant", "a2"),
    Message("user", "u3"),
]


def words(messages) -> str:
    return " ".join(m.content for m in messages)


def test_the_oldest_go_first_and_the_system_prompt_stays():
    assert words(drop_oldest_turns(CHAT, 0)) == "s u1 a1 u2 a2 u3"
    assert words(drop_oldest_turns(CHAT, 1)) == "s u2 a2 u3"
    assert words(drop_oldest_turns(CHAT, 2)) == "s u3"
    assert words(drop_oldest_turns(CHAT, 9)) == "s u3"


def test_two_messages_of_the_user_in_a_row_are_one_turn():
    chat = [Message("user", "a"), Message("user", "b"), Message("assistant", "c"), Message("user", "d")]
    assert words(drop_oldest_turns(chat, 1)) == "d"


def size(messages) -> int:
    return sum(len(m.content) for m in messages)


@given(st.lists(st.integers(1, 50), min_size=1, max_size=20), st.integers(8, 400))
def test_what_is_left_fits_and_one_turn_less_would_not(lengths, n_ctx):
    chat = [Message("system", "s" * 5)]
    for length in lengths:
        chat += [Message("user", "u" * length), Message("assistant", "a")]
    chat.append(Message("user", "last"))
    turns = turns_to_forget(chat, n_ctx, size)
    if turns is None:
        assert size(drop_oldest_turns(chat, len(chat))) >= n_ctx
        return
    room = n_ctx - n_ctx // 4
    left = size(drop_oldest_turns(chat, turns))
    assert left <= room or turns == len(lengths)
    assert left < n_ctx
    assert turns == 1 or size(drop_oldest_turns(chat, turns - 1)) > room


def test_a_single_turn_cannot_be_forgotten():
    assert turns_to_forget([Message("user", "x" * 99)], 50, size) is None
