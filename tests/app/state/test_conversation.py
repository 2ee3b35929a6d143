"""The state machine of a chat, without a window and without an engine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.attachments.attachment import Attachment
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.store.chat import GROUPS, ChatMessage, days_of, group_of, title_of
from app.store.chat_store import ChatStore
from app.words import UiText, current_text
from common.failures import Failure
from common.sentences import Sentence
from engine.protocol.events import Statistics
from engine.protocol.requests import Message, StopReason

NUMBERS = Statistics(10, 0, 0.1, 5, 0.2, 5, "end", 15, 4096)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    store = ChatStore(tmp_path / "library.sqlite3")
    yield store
    store.close()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def conversation(store: ChatStore, clock: Clock) -> Conversation:
    return Conversation(store, clock=clock)


def in_file(conversation: Conversation) -> list[ChatMessage]:
    """Return the shown branch as a restart would find it."""
    chat = next(chat for chat in conversation.store.chats() if chat.id == conversation.chat.id)
    return Conversation(conversation.store, chat, conversation.store.messages(chat)).messages


def test_an_empty_chat_is_not_stored(conversation: Conversation) -> None:
    assert conversation.store.chats() == []


@pytest.mark.parametrize("text", ["", "  \n\t "])
def test_nothing_is_not_sent(conversation: Conversation, text: str) -> None:
    assert not conversation.send(text)
    assert conversation.phase == "idle"


def test_the_question_is_stored_before_the_answer_begins(conversation: Conversation) -> None:
    assert conversation.send("  What is *this*?\nMore.  ")
    assert [message.content for message in in_file(conversation)] == ["What is *this*?\nMore."]
    assert conversation.store.chats()[0].title == "What is this?"
    assert conversation.phase == "waiting"
    assert not conversation.send("another")


def test_half_an_emoji_is_stored_as_a_question_mark(conversation: Conversation) -> None:
    conversation.send("a\ud83d")
    assert in_file(conversation)[0].content == "a?"


def test_the_answer_is_stored_now_and_then_and_at_its_end(conversation: Conversation, clock: Clock) -> None:
    conversation.send("q")
    conversation.begin_answer("model")
    conversation.append_text("one ")
    assert in_file(conversation)[-1].content == "q"
    clock.now += 0.3
    conversation.append_text("two ")
    assert in_file(conversation)[-1].content == "q"
    clock.now += 0.2
    conversation.checkpoint()
    assert in_file(conversation)[-1].content == "one two "
    assert in_file(conversation)[-1].stop_reason is None
    conversation.append_text("three")
    conversation.finish_answer(NUMBERS)
    assert in_file(conversation)[-1].content == "one two three"
    assert in_file(conversation)[-1].stop_reason == "end"
    assert conversation.phase == "idle"


@pytest.mark.parametrize("gap", [0.01, 0.07, 0.2, 0.9])
def test_no_text_of_an_answer_waits_for_a_second_to_be_stored(
    conversation: Conversation, clock: Clock, gap: float
) -> None:
    """Half a second of the promised second is left for a busy computer, where a piece or a tick may be late."""
    conversation.send("q")
    conversation.begin_answer("model")
    written, begun = list[float](), clock.now
    for moment in sorted([number * gap for number in range(1, 40)] + [number * 0.25 for number in range(1, 60)]):
        clock.now = begun + moment
        if moment % 0.25 == 0:  # app.foundation.Intervals.tick
            conversation.checkpoint()
        else:
            written.append(clock.now)
            conversation.append_text(f"{len(written)} ")
        stored = len(in_file(conversation)[-1].content.split())
        assert all(clock.now - then < 0.5 for then in written[stored:])


def test_reading_tells_the_time_that_is_left(conversation: Conversation, clock: Clock) -> None:
    conversation.send("q")
    conversation.begin_answer("model")
    answer = conversation.answer
    assert answer
    conversation.update_prompt_progress(1000, 3000, 1000)
    assert answer.progress
    assert answer.progress.seconds_left is None
    clock.now += 2
    conversation.update_prompt_progress(1500, 3000, 1000)
    assert answer.progress.seconds_left == pytest.approx(6)
    conversation.append_text("x")
    assert answer.progress is None


def test_a_failure_keeps_the_partial_answer(conversation: Conversation) -> None:
    conversation.send("q")
    conversation.begin_answer("model")
    conversation.append_text("partial")
    conversation.fail_answer(Sentence.plain("It broke."), "detail", reason="engine")
    answer = in_file(conversation)[-1]
    assert (answer.content, answer.problem, answer.stop_reason) == ("partial", "It broke.", "engine")


def test_the_prompt_leaves_out_empty_answers_and_joins_neighbours(conversation: Conversation) -> None:
    conversation.send("one")
    conversation.begin_answer("model")
    conversation.fail_answer(Sentence.plain("It broke."))
    conversation.send("two")
    assert conversation.prompt() == (Message("user", "one\n\ntwo"),)


def test_answering_again_keeps_the_first_answer_in_the_file(conversation: Conversation) -> None:
    conversation.send("q")
    for text in ("first", "second"):
        conversation.begin_answer("model")
        conversation.append_text(text)
        conversation.finish_answer(NUMBERS)
        if text == "first":
            assert conversation.answer_again()
    assert [message.content for message in in_file(conversation)] == ["q", "second"]
    count = conversation.store._db.execute("SELECT count(*) FROM messages").fetchone()
    assert count == (3,)


def say(conversation: Conversation, *texts: str) -> None:
    """Add questions and their answers, in turn."""
    for question in texts:
        conversation.send(question)
        answer(conversation, f"answer to {question}")


def answer(conversation: Conversation, text: str, reason: StopReason = "end") -> None:
    conversation.begin_answer("model")
    conversation.append_text(text)
    conversation.finish_answer(replace(NUMBERS, stop_reason=reason))


def contents(conversation: Conversation) -> list[str]:
    assert [message.id for message in conversation.messages] == [message.id for message in in_file(conversation)]
    return [message.content for message in conversation.messages]


def test_an_edit_is_a_sibling_and_both_are_kept(conversation: Conversation) -> None:
    say(conversation, "one", "two")
    first = conversation.messages[0].id
    assert conversation.edit(first, " won ")
    assert contents(conversation) == ["won"]
    answer(conversation, "new")
    assert contents(conversation) == ["won", "new"]
    assert conversation.show(conversation.tree.sibling(conversation.messages[0].id, -1))
    assert contents(conversation) == ["one", "answer to one", "two", "answer to two"]
    assert not conversation.show(conversation.tree.sibling(first, -1))
    assert conversation.show(conversation.tree.sibling(first, 1))
    assert contents(conversation) == ["won", "new"]


def test_an_edited_message_keeps_its_files(conversation: Conversation) -> None:
    say(conversation, "one")
    files = (Attachment("a.txt", "text", 3, "abc"),)
    first = replace(conversation.messages[0], attachments=files)
    conversation.tree.put(first)
    conversation.edit(first.id, "two")
    assert conversation.messages[0].attachments == files
    assert "abc" in conversation.prompt()[0].content


def test_an_edit_of_nothing_is_another_answer(conversation: Conversation) -> None:
    say(conversation, "one")
    assert not conversation.edit(conversation.messages[0].id, "  ")
    assert conversation.edit(conversation.messages[0].id, "one ")
    answer(conversation, "another")
    assert contents(conversation) == ["one", "another"]
    assert len(conversation.tree.siblings(conversation.messages[0].id)) == 1


def test_any_answer_can_be_written_again(conversation: Conversation) -> None:
    say(conversation, "one", "two")
    assert conversation.answer_again(conversation.messages[1].id)
    assert [message.content for message in conversation.messages] == ["one"]
    answer(conversation, "other")
    assert contents(conversation) == ["one", "other"]
    conversation.show(conversation.tree.sibling(conversation.messages[1].id, -1))
    assert contents(conversation)[2:] == ["two", "answer to two"]


def test_an_answer_that_was_not_begun_gives_the_old_one_back(conversation: Conversation) -> None:
    say(conversation, "one", "two")
    conversation.answer_again(conversation.messages[1].id)
    conversation.withdraw()
    assert len(contents(conversation)) == 4


@pytest.mark.parametrize("reason", ["length", "context", "cancelled"])
def test_a_stopped_answer_grows_on(conversation: Conversation, reason: StopReason) -> None:
    conversation.send("q")
    answer(conversation, "One, two", reason)
    assert conversation.continue_answer()
    assert conversation.continuing
    conversation.begin_answer("model")
    assert in_file(conversation)[-1].content == "One, two"
    conversation.append_text(", three.")
    conversation.finish_answer(NUMBERS)
    assert contents(conversation) == ["q", "One, two, three."]
    assert conversation.messages[-1].stop_reason == "end"
    assert not conversation.continue_answer()
    numbers = json.loads(conversation.messages[-1].statistics)
    assert numbers["decode_tokens"] == 2 * NUMBERS.decode_tokens
    assert numbers["decode_seconds"] == pytest.approx(2 * NUMBERS.decode_seconds)


def test_an_answer_that_cannot_go_on_keeps_its_text(conversation: Conversation) -> None:
    conversation.send("q")
    answer(conversation, "One, two", "length")
    conversation.continue_answer()
    conversation.begin_answer("model")
    conversation.fail_answer(Sentence.plain("Too long."))
    assert contents(conversation) == ["q", "One, two"]
    assert conversation.continue_answer()


def test_deleted_messages_come_back(conversation: Conversation) -> None:
    say(conversation, "one", "two")
    deleted = conversation.delete(conversation.messages[1].id)
    assert deleted
    assert contents(conversation) == ["one"]
    conversation.restore(deleted)
    assert len(contents(conversation)) == 4


def test_nothing_moves_while_an_answer_is_written(conversation: Conversation) -> None:
    say(conversation, "one")
    first = conversation.messages[0].id
    conversation.send("two")
    conversation.begin_answer("model")
    assert not conversation.edit(first, "other")
    assert not conversation.answer_again(first)
    assert not conversation.show(first)
    assert conversation.delete(first) is None
    assert not conversation.continue_answer()
    assert len(conversation.messages) == 4


def test_a_chat_that_cannot_be_stored_goes_on_and_is_stored_later(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object) -> None:
        raise Failure("disk_full.chats")

    heard: list[UiText] = []
    conversation.not_saved.connect(lambda _conversation, words: heard.append(words))
    with monkeypatch.context() as context:
        context.setattr("app.store.chat_store.write_chat", full)
        conversation.send("q")
        conversation.begin_answer("model")
        conversation.append_text("answer")
        conversation.finish_answer(NUMBERS)
    assert list(map(current_text, heard)) == [
        "The disk is full, so this chat cannot be saved. Free some space. You can go on chatting, but what is not "
        "saved is lost when you close the window."
    ]
    assert conversation.store.chats() == []
    conversation.send("second")
    assert [message.content for message in in_file(conversation)] == ["q", "answer", "second"]


def test_the_open_chats_find_chats_again(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    open_chats.current.send("hello there")
    chat_id = open_chats.current.chat.id
    open_chats.rename(chat_id, "  Greeting ")
    again = OpenChats(store)
    assert [chat.title for chat in again.chats()] == ["Greeting"]
    assert again.open(chat_id).messages[0].content == "hello there"
    again.rename(chat_id, "   ")
    assert [chat.title for chat in again.chats()] == ["Greeting"]


def test_a_deleted_chat_comes_back(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    open_chats.current.send("hello")
    (chat,) = open_chats.delete([open_chats.current.chat.id])
    assert open_chats.chats() == []
    assert not open_chats.current.messages
    open_chats.restore([chat.id])
    assert open_chats.chats() == [chat]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\n\n## Hello  there\nmore", "Hello there"),
        ("", "New chat"),
        ("`" * 9, "New chat"),
        ("word " * 40, None),
        ("How do I sort in C#?", "How do I sort in C#?"),
        ("3 ways to cook rice", "3 ways to cook rice"),
        ("1. First\n2. Second", "1. First"),
        ("What is 2 * 3 * 4?", "What is 2 * 3 * 4?"),
        ("rename snake_case_names in **all** `files`", "rename snake_case_names in all files"),
        ("> quoted *words*", "quoted words"),
        ("- [ ] a task", "[ ] a task"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("#hashtag and F# > C", "#hashtag and F# > C"),
    ],
)
def test_titles(text: str, title: str | None) -> None:
    assert title_of(text) == title if title else len(title_of(text)) <= 65


def test_pinning_an_empty_chat_stores_nothing(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    conversation = open_chats.current
    open_chats.pin([conversation.chat.id])
    assert not conversation.saver.stored
    assert store.chats() == []
    conversation.send("Are there birds in winter?")
    assert [chat.pinned_at is not None for chat in store.chats()] == [True]


def test_groups_follow_the_calendar() -> None:
    from datetime import datetime

    now = datetime(2026, 3, 10, 0, 30).timestamp()
    days = [datetime(2026, 3, 10, 0, 1), datetime(2026, 3, 9, 23), datetime(2026, 3, 4), datetime(2026, 3, 3, 12)]
    assert [group_of(day.timestamp(), days_of(now)) for day in days] == list(GROUPS)
    earlier = [datetime(2026, 2, 9), datetime(2026, 2, 8, 23), datetime(2025, 12, 31)]
    assert [group_of(day.timestamp(), days_of(now)) for day in earlier] == ["Last 30 days", "2026-02", "2025-12"]
