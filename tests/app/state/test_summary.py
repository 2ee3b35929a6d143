"""Which turns are summed up, and what the model reads afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import hypothesis.strategies as st
from hypothesis import given

from app.state.prompt import SUMMED_UP, context_lines, context_parts, drop_oldest_turns, prompt_of, with_system
from app.state.summary import (
    CHINESE,
    KEPT_SHARE,
    OTHER,
    READ_SHARE,
    SHORTEST_LINE,
    OldTurns,
    is_full,
    most_written,
    old_turns,
    shortened,
    texts_of,
    turns_of,
)
from app.store.chat import ChatMessage
from engine.protocol.requests import Message


def chat(*contents: str) -> list[ChatMessage]:
    """Return a chat whose messages are by the user and the model in turns; an empty one is left out."""
    roles = ("user", "assistant")
    return [
        ChatMessage("c", None, roles[number % 2], content, id=content)  # type: ignore[arg-type]
        for number, content in enumerate(contents)
        if content
    ]


def summed(messages: Sequence[ChatMessage], id: str, summary: str) -> list[ChatMessage]:
    return [replace(message, summary=summary) if message.id == id else message for message in messages]


def test_a_summary_stands_for_its_message_and_all_above() -> None:
    messages = chat("q1", "a1", "q2", "a2", "q3")
    once = summed(messages, "a1", "S1")
    assert prompt_of(once) == (
        Message("system", SUMMED_UP + "S1"), Message("user", "q2"), Message("assistant", "a2"), Message("user", "q3"),
    )  # fmt: skip
    assert prompt_of(summed(once, "a2", "S2")) == (Message("system", SUMMED_UP + "S2"), Message("user", "q3"))
    assert with_system("Be kind.", prompt_of(once))[0] == Message("system", f"Be kind.\n\n{SUMMED_UP}S1")


def test_a_summary_stays_when_turns_are_left_out() -> None:
    prompt = prompt_of(summed(chat("q1", "a1", "q2", "a2", "q3"), "a1", "S1"))
    assert drop_oldest_turns(prompt, 1) == (Message("system", SUMMED_UP + "S1"), Message("user", "q3"))
    parts = context_parts("Be kind.", prompt, 1)
    assert parts.texts() == (f"Be kind.\n\n{SUMMED_UP}S1", "q2\n\na2", "")
    assert context_lines(parts, 1, 10, None)[1] == "Always kept: what the chat begins with and the summary"


def test_turns_begin_with_a_question_after_the_last_summary() -> None:
    messages = summed(chat("q1", "a1", "q2", "", "q3", "a3", "q4", "a4"), "a1", "S")
    assert [[message.id for message in turn] for turn in turns_of(messages)] == [["q2", "q3", "a3"], ["q4", "a4"]]
    assert texts_of(turns_of(messages)) == ("q2\n\nq3\n\na3", "q4\n\na4")


def test_the_newest_turns_stay_and_what_is_summed_up_can_be_read() -> None:
    messages = chat("q1", "a1", "q2", "a2", "q3", "a3", "q4", "a4")
    old = old_turns(messages, [2000, 2000, 2000, 2000], 0, 8192)
    assert old is not None
    assert (old.last.id, old.turns) == ("a3", 3)
    small = old_turns(messages, [2000, 2000, 2000, 2000], 0, 4096)  # of which one turn is read at a time
    assert small is not None
    assert (small.last.id, small.turns) == ("a1", 1)
    assert old_turns(messages, [5000, 10, 10, 10], 0, 4096) is None  # more than can be read
    assert old_turns(messages, [10, 10, 10, 10], 0, 4096) is None  # all of it stays
    assert old_turns(messages[:2], [9000], 0, 4096) is None  # the only turn


@given(st.lists(st.integers(1, 3000), min_size=1, max_size=9), st.integers(0, 500), st.integers(1024, 8192))
def test_what_is_summed_up_fits_and_what_stays_is_small_unless_the_rest_is_long(
    tokens: list[int], pinned: int, n_ctx: int
) -> None:
    messages = chat(*(f"{kind}{number}" for number in range(len(tokens)) for kind in "qa"))
    old = old_turns(messages, tokens, pinned, n_ctx)
    if old is None:
        assert (
            len(tokens) == 1
            or sum(tokens) <= KEPT_SHARE * n_ctx
            or tokens[0] > READ_SHARE * n_ctx - most_written(n_ctx) - pinned
        )
        return
    assert len(old.messages) == 2 * old.turns < 2 * len(tokens)
    assert pinned + sum(tokens[: old.turns]) + most_written(n_ctx) <= READ_SHARE * n_ctx
    more = sum(tokens[: old.turns + 1]) + pinned + most_written(n_ctx) > READ_SHARE * n_ctx
    stays = tokens[old.turns :]
    assert more or len(stays) == 1 or sum(stays) <= KEPT_SHARE * n_ctx
    assert sum(tokens[old.turns - 1 :]) > KEPT_SHARE * n_ctx  # else that turn could stay too


def test_the_question_has_the_earlier_summary_and_the_chats_language() -> None:
    messages = summed(chat("q1", "a1", "q2", "a2", "q3", "a3"), "a1", "S")
    old = old_turns(messages, [3100, 1000], 0, 4096)
    assert old is None  # the first turn after the summary is too long to be read
    old = old_turns(messages, [2000, 1000], 0, 4096)
    assert old is not None
    assert [message.content for message in old.question()] == [SUMMED_UP + "S", "q2", "a2", OTHER]
    old = old_turns(chat("你好吗", "很好", "再见", "再见"), [2000, 2000], 0, 4096)
    assert old is not None
    assert old.question()[-1].content == CHINESE


def test_when_a_chat_is_full() -> None:
    assert not is_full([700, 25], 25, 1000)
    assert is_full([700, 26], 25, 1000)


def old(messages: list[ChatMessage], turns: int, room: int = 1000) -> OldTurns:
    return OldTurns(tuple(messages), turns, room)


def test_a_summary_has_what_the_model_wrote_and_what_the_user_wrote() -> None:
    messages = chat("My dog is\ncalled Biscuit. ", "Nice.", "Why?", "So.")
    first = old(messages[:2], 1).summary("<think>Hm.</think>\n They met.\ud83d\n\n- Twice. ")
    assert first == "They met.?\n- Twice.\nUser: My dog is called Biscuit."
    edited = summed(messages, "Nice.", f"{first}\nThe user's own line.")
    assert old(edited, 1).summary("They parted.\nThey met.?") == (
        "They met.?\n- Twice.\nUser: My dog is called Biscuit.\nThe user's own line.\nThey parted.\nUser: Why?"
    )
    assert old(chat("你好吗", "很好"), 1).summary("他们问好。") == "他们问好。\n用户：你好吗"
    assert old(messages, 2).summary("<think>Hm.</think>") == ""


def test_only_long_lines_of_a_summary_are_cut() -> None:
    summary = old(chat("My dog is called Biscuit.", "Nice."), 1, 120).summary("word " * 100).split("\n")
    assert summary == ["word " * 16 + "word…", "User: My dog is called Biscuit."]


@given(st.lists(st.text("ab ", min_size=1, max_size=200), max_size=30), st.integers(30, 900))
def test_lines_are_cut_to_the_room_and_not_more(lines: list[str], room: int) -> None:
    cut = shortened(lines, room)
    assert sum(len(line) + 1 for line in cut) <= room
    pairs = list(zip(cut, lines[len(lines) - len(cut) :], strict=True))
    assert all(short == line or (short.endswith("…") and line.startswith(short[:-1])) for short, line in pairs)
    if sum(len(line) + 1 for line in lines) <= room and len(lines) <= room // SHORTEST_LINE:
        assert cut == lines
    longest_whole = max((len(line) for short, line in pairs if short == line), default=0)
    assert longest_whole <= min((len(line) for short, line in pairs if short != line), default=room)
