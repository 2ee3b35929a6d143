"""Each change of a chat is told by the events that views follow, and a chat that is too long offers remedies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from app.attachments.attachment import Attachment
from app.state.conversation import Conversation
from app.state.conversation_events import ConversationEvents
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from common.sentences import Sentence
from engine.protocol.events import Remedy
from engine.protocol.requests import Picture
from tests.app.state.test_conversation import NUMBERS, answer, contents, in_file, say

TOO_LONG = Sentence("prompt_too_long")
NAMES = (*vars(ConversationEvents()), "text_appended", "thoughts_counted", "answer_resumed")


@pytest.fixture
def conversation(tmp_path: Path) -> Iterator[Conversation]:
    store = ChatStore(tmp_path / "library.sqlite3")
    yield Conversation(store)
    store.close()


def told(conversation: Conversation, act: Callable[[], object]) -> tuple[object, list[str]]:
    """Return what `act` returns and the names of the events that it emits, in order."""
    heard: list[str] = []
    listeners = {name: (lambda *_, name=name: heard.append(name)) for name in NAMES}
    for name, listener in listeners.items():
        getattr(conversation, name).connect(listener)
    result = act()
    for name, listener in listeners.items():
        getattr(conversation, name).disconnect(listener)
    return result, heard


def remedies(conversation: Conversation) -> tuple[Remedy, ...]:
    return conversation.remedies


def test_an_answer_is_told_from_its_question_to_its_end(conversation: Conversation) -> None:
    hears = partial(told, conversation)
    assert hears(lambda: conversation.send("one")) == (True, ["message_added", "entry_changed", "phase_changed"])
    begun = ["message_added", "entry_changed", "phase_changed"]
    assert hears(lambda: conversation.begin_answer("model", "/model.gguf")) == (None, begun)
    assert (conversation.chat.model, conversation.chat.model_path) == ("model", "/model.gguf")
    assert hears(lambda: conversation.update_prompt_progress(1, 2, 0)) == (None, ["progress_changed"])
    assert hears(lambda: conversation.append_text("a")) == (None, ["phase_changed", "text_appended"])
    assert conversation.phase == "answering"
    assert hears(lambda: conversation.append_text("b")) == (None, ["text_appended"])
    assert conversation.answer_text == "ab"
    assert hears(lambda: conversation.append_text("</think>", "closed", 7)) == (
        None, ["text_appended", "thoughts_counted"],
    )  # fmt: skip
    assert hears(lambda: conversation.finish_answer(NUMBERS)) == (None, ["phase_changed", "answer_ended"])
    assert conversation.answer_text == ""
    late = (lambda: conversation.append_text("late"), lambda: conversation.finish_answer(NUMBERS),
            lambda: conversation.fail_answer(None), lambda: conversation.update_prompt_progress(1, 2, 0),
            conversation.checkpoint, conversation.withdraw)  # fmt: skip
    assert [hears(each) for each in late] == [(None, [])] * len(late)
    assert contents(conversation)[1:] == ["ab</think>"]


def test_another_branch_is_told_and_a_refusal_tells_nothing(conversation: Conversation) -> None:
    hears = partial(told, conversation)
    refusals = (lambda: conversation.answer_again(), conversation.continue_answer, lambda: conversation.show(None))
    assert [hears(each) for each in refusals] == [(False, [])] * 3
    say(conversation, "one", "two")
    one, first, two, second = conversation.messages
    assert hears(lambda: conversation.show("no such message")) == (False, [])
    assert hears(lambda: conversation.delete("no such message")) == (None, [])
    assert hears(lambda: conversation.edit(two.id, " ")) == (False, [])
    assert hears(lambda: conversation.edit(second.id, second.content)) == (True, [])
    edit = ["branch_changed", "message_added", "entry_changed", "phase_changed"]
    assert hears(lambda: conversation.edit(two.id, "2")) == (True, edit)
    assert hears(conversation.withdraw) == (None, ["phase_changed"])
    assert contents(conversation) == ["one", "answer to one", "2"]
    assert hears(lambda: conversation.show(second.id)) == (True, ["branch_changed"])
    assert hears(lambda: conversation.answer_again(first.id)) == (True, ["branch_changed", "phase_changed"])
    assert not conversation.answer_again(first.id)
    assert hears(conversation.withdraw) == (None, ["branch_changed", "phase_changed"])
    assert contents(conversation) == ["one", "answer to one", "two", "answer to two"]
    deleted, events = hears(lambda: conversation.delete(two.id))
    assert (deleted.ids, events) == ((two.id, second.id), ["branch_changed"])  # type: ignore[attr-defined]
    assert hears(lambda: conversation.restore(deleted)) == (None, ["branch_changed"])  # type: ignore[arg-type]
    assert conversation.delete(one.id)
    assert conversation.messages == []
    assert hears(lambda: conversation.delete(one.id)) == (None, [])


def test_an_answer_that_goes_on_is_told(conversation: Conversation) -> None:
    conversation.send("q")
    answer(conversation, "One", "length")
    hears = partial(told, conversation)
    assert hears(conversation.continue_answer) == (True, ["phase_changed"])
    assert hears(lambda: conversation.begin_answer("other")) == (None, ["answer_resumed", "phase_changed"])
    assert conversation.messages[-1].model == "other"
    conversation.fail_answer(Sentence.plain("It broke."), "line 1")
    assert (conversation.messages[-1].problem, conversation.messages[-1].detail) == ("It broke.", "line 1")
    conversation.continue_answer()
    conversation.begin_answer("other")
    stopped = in_file(conversation)[-1]
    assert (stopped.stop_reason, stopped.problem, stopped.detail) == (None, "", "")


def test_an_edited_answer_says_by_whom_and_from_what_it_is(conversation: Conversation) -> None:
    say(conversation, "one")
    first = replace(conversation.messages[1], sources='[{"name": "a.txt"}]')
    conversation.tree.put(first)
    conversation.edits = {first.id: "mine, unsent"}
    told_events = told(conversation, lambda: conversation.edit(first.id, " mine "))
    assert told_events == (True, ["branch_changed", "message_added", "entry_changed"])
    edited = in_file(conversation)[-1]
    assert (edited.content, edited.model, edited.sources) == ("mine", first.model, first.sources)
    assert edited.edited_at is not None
    assert edited.edited_at >= edited.created_at
    assert conversation.edits == {}
    assert conversation.phase == "idle"


def test_files_alone_are_a_question_and_a_title_that_was_given_stays(conversation: Conversation) -> None:
    files = (Attachment("a.txt", "text", 3, "abc"),)
    named = Conversation(conversation.store)
    named.update_entry(title="Mine")
    assert conversation.send(" ", files)
    assert named.send("What is this?")
    assert (conversation.chat.title, named.chat.title) == ("a.txt", "Mine")
    assert in_file(conversation)[0].attachments == files
    conversation.withdraw()
    conversation.send("What else?")
    assert conversation.chat.title == "a.txt"


def test_the_pictures_of_the_last_question_are_read_before_its_answer(conversation: Conversation) -> None:
    seen = Attachment("bird.png", "picture", 3, "", picture=Picture("0" * 64, 8, 8, data=b"png"))
    for files in ((), (seen,), ()):
        conversation.send("What is this?", files)
        conversation.begin_answer("model")
        assert conversation.answer
        assert conversation.answer.reads_pictures == bool(files)
        conversation.append_text("A bird.")
        assert not conversation.answer.reads_pictures
        conversation.finish_answer(NUMBERS)


def test_a_changed_entry_is_stored_and_told_with_what_depends_on_it(conversation: Conversation) -> None:
    say(conversation, "one")
    hears = partial(told, conversation)
    assert hears(lambda: conversation.update_entry(title="Mine")) == (None, ["entry_changed"])
    options = hears(lambda: conversation.update_entry(options='{"seed": 1}'))
    assert options == (None, ["entry_changed", "options_changed"])
    assert hears(lambda: conversation.forget_oldest(2)) == (None, ["entry_changed", "context_changed"])
    assert conversation.store.chats() == [conversation.chat]
    assert (conversation.chat.title, conversation.chat.forget_turns) == ("Mine", 2)


def test_a_host_is_asked_about_once_and_agreed_to_for_this_chat(conversation: Conversation) -> None:
    hears = partial(told, conversation)
    assert hears(lambda: conversation.ask_about("early.example")) == (None, [])
    conversation.send("q")
    for host in ("a.example", "b.example"):
        ask = partial(conversation.ask_about, host)
        assert hears(ask) == (None, ["phase_changed"])
        assert hears(ask) == (None, [])
        assert conversation.asked_host == host
        assert hears(conversation.agree) == (None, ["phase_changed"])
        assert conversation.asked_host == ""
    assert conversation.store.chats()[0].agreed == "a.example\nb.example"
    conversation.withdraw()
    assert conversation.asked_host == ""


def refuse(conversation: Conversation, question: str = "long") -> None:
    """Have the engine refuse a question because the chat is too long."""
    conversation.send(question)
    conversation.begin_answer("model")
    conversation.fail_answer(TOO_LONG, remedies=(Remedy("forget_turns", turns=1),))


def test_a_chat_that_is_too_long_offers_remedies_until_something_is_done(conversation: Conversation) -> None:
    refuse(conversation)
    assert remedies(conversation) == (Remedy("forget_turns", turns=1),)  # nothing older could be summed up
    say(conversation, "one")
    assert contents(conversation) == ["long", "one", "answer to one"]
    acts: list[Callable[[], object]] = [
        lambda: conversation.forget_oldest(1),
        lambda: conversation.sum_up(conversation.messages[0].id, "S"),
        lambda: conversation.answer_again(conversation.messages[0].id),
        lambda: conversation.send("more"),
    ]
    for act in acts:
        refuse(conversation)
        assert remedies(conversation) == (Remedy("sum_up"), Remedy("forget_turns", turns=1))
        larger = Remedy("larger_context", n_ctx=8192)
        assert told(conversation, lambda: conversation.offer(larger)) == (None, ["context_changed"])  # noqa: B023
        assert remedies(conversation)[-1] == larger
        act()
        assert remedies(conversation) == ()
        conversation.withdraw()
    assert told(conversation, lambda: conversation.offer(Remedy("sum_up"))) == (None, [])
    assert remedies(conversation) == ()


def test_an_answer_that_never_began_is_no_message(conversation: Conversation) -> None:
    """It is shown until something else is done, but never stored, and no other version of the answer."""
    refuse(conversation)
    assert [message.role for message in conversation.messages] == ["user", "assistant"]
    assert [message.role for message in in_file(conversation)] == ["user"]
    question = conversation.messages[0].id
    deleted = conversation.delete(question)
    assert deleted
    conversation.restore(deleted)
    assert contents(conversation) == ["long"]
    refuse(conversation, "again")
    assert conversation.show(question)
    assert contents(conversation) == ["long", "again"]
    conversation.answer_again()
    conversation.begin_answer("model")
    conversation.append_text("half")
    conversation.fail_answer(TOO_LONG)
    assert contents(conversation)[-1] == "half"
    conversation.continue_answer()
    conversation.begin_answer("model")
    conversation.fail_answer(TOO_LONG)
    assert contents(conversation)[-1] == "half"


def test_a_full_context_offers_to_leave_out_turns(conversation: Conversation) -> None:
    conversation.send("one")
    answer(conversation, "a" * 100, "context")
    assert remedies(conversation) == ()  # nothing older is there
    conversation.withdraw()
    conversation.send("two")
    answer(conversation, "b" * 100, "context")
    assert remedies(conversation) == (Remedy("sum_up"), Remedy("forget_turns", turns=1))


def test_a_summary_is_stored_told_and_taken_back(conversation: Conversation) -> None:
    say(conversation, "one", "two")
    conversation.forget_oldest(1)
    first = conversation.messages[1].id
    _, events = told(conversation, lambda: conversation.sum_up(first, " S\ud83d ", forget_turns=-3))
    assert events == ["entry_changed", "context_changed", "branch_changed", "context_changed"]
    assert conversation.messages[1].summary == in_file(conversation)[1].summary == "S?"
    assert conversation.chat.forget_turns == 0
    conversation.forget_oldest(1)
    assert told(conversation, lambda: conversation.sum_up(first, "")) == (None, ["branch_changed", "context_changed"])
    assert in_file(conversation)[1].summary == ""
    assert conversation.chat.forget_turns == 1
    assert told(conversation, lambda: conversation.sum_up("no such message", "S")) == (None, [])


def test_a_temporary_chat_and_one_that_was_opened_say_what_they_are(conversation: Conversation) -> None:
    say(conversation, "one")
    opened = Conversation(conversation.store, conversation.chat, conversation.messages, edits={"id": "text"})
    assert (conversation.cache_id, opened.cache_id) == (conversation.chat.id, conversation.chat.id)
    assert (opened.state, opened.saver.stored, opened.edits) == ("listed", True, {"id": "text"})
    temporary = Conversation(conversation.store, temporary=True)
    say(temporary, "secret")
    assert (temporary.cache_id, temporary.state, temporary.saver.stored) == ("", "listed", False)
    assert conversation.store.chats() == [conversation.chat]


def test_an_import_is_told_and_ends_a_refusal(conversation: Conversation) -> None:
    refuse(conversation)
    chat = replace(conversation.chat, title="imported", options='{"seed": 1}', forget_turns=1)
    new = ChatMessage(chat.id, conversation.messages[0].id, "assistant", "imported", stop_reason="end")
    conversation.store.save(replace(chat, leaf_id=new.id), [new])
    imported, _ = conversation.store.chat_row(chat.id) or (Chat(), None)
    _, events = told(conversation, lambda: conversation.reload(imported, conversation.store.messages(imported)))
    assert events[-4:] == ["branch_changed", "entry_changed", "options_changed", "context_changed"]
    assert contents(conversation) == ["long", "imported"]
    assert remedies(conversation) == ()
