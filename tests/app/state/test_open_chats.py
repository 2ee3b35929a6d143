"""The list of chats: pins, folders, deleting several, and that all of it is there after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.state.conversation import Conversation
from app.state.draft import MessageDraft
from app.state.open_chats import OpenChats
from app.store.chat import Chat, ChatMessage, Folder
from app.store.chat_store import ChatStore
from app.store.upkeep import run_upkeep
from common.failures import Failure
from engine.protocol.events import Statistics
from engine.protocol.requests import StopReason

NUMBERS = Statistics(
    prompt_tokens=1, reused_tokens=0, prompt_seconds=1, decode_tokens=1, decode_seconds=1, steps=1, stop_reason="end",
    context_tokens=2, n_ctx=64,
)  # fmt: skip


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    store = ChatStore(tmp_path / "library.sqlite3")
    for number in range(4):
        store.save(Chat(f"chat {number}", id=str(number), updated_at=float(number)))
    yield store
    store.close()


def test_pins_outlive_the_program_and_an_answer_in_the_chat(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    open_chats.open("1").send("a question")
    open_chats.pin(["1", "2", "no such chat"])
    open_chats.current.send("another")
    assert {chat.id for chat in OpenChats(store).chats() if chat.pinned_at} == {"1", "2"}
    open_chats.pin(["1"], False)
    assert {chat.id for chat in OpenChats(store).chats() if chat.pinned_at} == {"2"}


def test_a_folder_holds_chats_until_it_is_deleted(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    work, home = open_chats.add_folder("  Work  "), open_chats.add_folder("home")
    open_chats.open("1")
    open_chats.move(["1", "2"], work.id)
    open_chats.rename_folder(home.id, "A home")
    open_chats.rename_folder(home.id, " ")
    open_chats.fold(work.id, True)
    again = OpenChats(store)
    assert [(folder.name, folder.folded) for folder in again.folders()] == [("A home", False), ("Work", True)]
    assert {chat.id for chat in again.chats() if chat.folder_id == work.id} == {"1", "2"}
    folder, inside = again.delete_folder(work.id)
    assert sorted(inside) == ["1", "2"]
    assert len(again.chats()) == 4
    assert not [chat for chat in OpenChats(store).chats() if chat.folder_id]
    again.restore_folder(folder, inside)
    assert {chat.id for chat in OpenChats(store).chats() if chat.folder_id == work.id} == {"1", "2"}
    again.move(["1"], None)
    again.move(["2"], "no such folder")
    assert {chat.id for chat in OpenChats(store).chats() if chat.folder_id == work.id} == {"2"}


def test_many_are_deleted_and_come_back(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    open_chats.open("1")
    gone = open_chats.delete(["1", "3", "no such chat"])
    assert [chat.id for chat in open_chats.chats()] == ["2", "0"]
    assert open_chats.current.chat.id != "1"
    assert [(chat.id, moment > 0) for chat, moment in store.deleted_chats()] == [("3", True), ("1", True)]
    open_chats.restore([chat.id for chat in gone])
    assert [chat.id for chat in open_chats.chats()] == ["3", "2", "1", "0"]
    assert store.deleted_chats() == []


def test_what_another_wrote_is_read_again(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    current, shown = open_chats.open("1"), list[str]()
    current.branch_changed.connect(lambda conversation: shown.extend(each.content for each in conversation.messages))
    store.save(Chat("renamed", id="1", updated_at=9.0), [ChatMessage("1", None, "user", "from elsewhere")])
    open_chats.reload(["1"])
    assert open_chats.chats()[0].title == "renamed"
    assert open_chats.current is current
    assert current.chat.title == "renamed"
    assert shown == ["from elsewhere"]


def test_an_import_leaves_what_is_being_written(store: ChatStore, monkeypatch: pytest.MonkeyPatch) -> None:
    open_chats = OpenChats(store)
    conversation = open_chats.open("1")
    conversation.send("a question")
    conversation.begin_answer("model")
    conversation.append_text("half an")
    waits = open_chats.load("2")
    with monkeypatch.context() as full:
        full.setattr(store.writer, "write", lambda _work, done, **_: done(Failure("store_locked.file", path="x")))
        waits.send("not stored yet")
    for id in ("1", "2"):
        store.save(
            Chat("renamed", id=id, updated_at=9.0), [ChatMessage(id, None, "user", "from elsewhere", f"new {id}")]
        )
    open_chats.reload(["1", "2"])
    assert len(conversation.tree) == 3
    conversation.append_text(" answer")
    conversation.finish_answer(NUMBERS)
    assert [each.content for each in conversation.messages] == ["a question", "half an answer"]
    assert open_chats.retry_unstored() == []
    again = OpenChats(store)
    assert [each.content for each in again.open("1").messages] == ["a question", "half an answer"]
    assert [each.content for each in again.open("2").messages] == ["not stored yet"]
    assert "new 2" in again.current.tree


def test_a_chat_that_waits_during_an_import_is_stored_as_it_is_shown(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    conversation = open_chats.open("1")
    conversation.send("a question")
    store.save(Chat("renamed", id="1", updated_at=9.0))
    open_chats.reload(["1"])
    conversation.withdraw()
    assert OpenChats(store).load("1").chat == conversation.chat


def test_a_chat_that_was_never_stored_is_stored_as_deleted(store: ChatStore, monkeypatch: pytest.MonkeyPatch) -> None:
    open_chats = OpenChats(store)
    conversation = open_chats.current
    with monkeypatch.context() as full:
        full.setattr(store.writer, "write", lambda _work, done, **_: done(Failure("store_locked.file", path="x")))
        conversation.send("a question")
    open_chats.delete([conversation.chat.id])
    assert open_chats.retry_unstored() == []
    again = OpenChats(store)
    assert conversation.chat.id not in [chat.id for chat in again.chats()]
    assert again.restore([conversation.chat.id]) == [conversation.chat.id]
    assert again.open(conversation.chat.id).messages[0].content == "a question"


def test_undoing_a_deletion_keeps_what_an_import_changed_since(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    open_chats.delete(["1"])
    store.save(Chat("renamed", id="1", updated_at=9.0))
    open_chats.restore(["1"])
    assert open_chats.chats()[0].title == "renamed"
    open_chats.pin(["1"])
    assert OpenChats(store).chats()[0].title == "renamed"


def test_a_chat_that_an_import_brings_back_is_the_same_conversation(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    conversation = open_chats.open("1")
    open_chats.delete(["1"])
    open_chats.delete_for_good(["1"])
    assert not conversation.send("into nothing")
    conversation.update_entry(title="never stored")
    run_upkeep(store.path)
    store.save(Chat("imported", id="1", updated_at=9.0))
    open_chats.reload(["1"])
    assert open_chats.open("1") is conversation
    assert conversation.chat.title == "imported"
    conversation.send("a question")
    assert OpenChats(store).open("1").messages[0].content == "a question"


def test_undoing_the_deletion_of_a_folder_leaves_chats_in_their_new_folder(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    first, second = open_chats.add_folder("first"), open_chats.add_folder("second")
    open_chats.move(["1", "2"], first.id)
    deleted = open_chats.delete_folder(first.id)
    open_chats.move(["1"], second.id)
    open_chats.restore_folder(*deleted)
    assert {chat.id: chat.folder_id for chat in open_chats.chats() if chat.folder_id} == {"1": second.id, "2": first.id}


def test_a_turn_is_not_included_twice(store: ChatStore) -> None:
    """Two undos of leaving out turns may be pressed in any order."""
    conversation = OpenChats(store).open("1")
    conversation.forget_oldest(1)
    conversation.forget_oldest(-1)
    conversation.forget_oldest(-1)
    assert conversation.chat.forget_turns == 0


def test_a_chat_that_is_deleted_while_it_is_answered_comes_back_with_the_answer(store: ChatStore) -> None:
    """It came back as a second object, which had none of what the engine wrote into the first."""
    open_chats = OpenChats(store)
    conversation = open_chats.open("1")
    conversation.send("a question")
    conversation.begin_answer("model")
    conversation.append_text("The first half")
    gone = open_chats.delete(["1"])
    assert conversation.state == "deleted"
    assert open_chats.current is not conversation
    assert open_chats.open("1") is not conversation
    conversation.append_text(" and the second.")
    conversation.finish_answer(NUMBERS)
    assert open_chats.restore([chat.id for chat in gone]) == ["1"]
    assert open_chats.open("1") is conversation
    assert conversation.messages[-1].content == "The first half and the second."
    [again] = [chat for chat in OpenChats(store).chats() if chat.id == "1"]
    assert [each.content for each in store.messages(again)] == ["a question", "The first half and the second."]
    assert open_chats.chats()[0].updated_at == conversation.chat.updated_at


def test_text_that_could_not_be_stored_outlives_deleting_and_undo(
    store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_chats = OpenChats(store)
    conversation = open_chats.open("1")
    new = open_chats.new_beside()
    with monkeypatch.context() as full:
        full.setattr(store.writer, "write", lambda _work, done, **_: done(Failure("store_locked.file", path="x")))
        conversation.send("a question")
        new.send("never stored")
    gone = open_chats.delete(["1", new.chat.id])
    assert open_chats.retry_unstored() == []
    assert set(open_chats.restore([chat.id for chat in gone])) == {"1", new.chat.id}
    again = OpenChats(store)
    assert again.open("1").messages[-1].content == "a question"
    assert again.open(new.chat.id).messages[-1].content == "never stored"


def test_a_branch_takes_the_chats_options_and_none_of_its_marks(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    source = open_chats.open("1")
    open_chats.pin(["1"])
    source.send("a question")
    answered(source)
    source.update_entry(options='{"seed": 1}', agreed="a.example", unread_at=3.0, title_from="user")
    folder = open_chats.add_folder("work")
    open_chats.move(["1"], folder.id)
    branch = open_chats.branch_off(source.messages[0].id)
    assert open_chats.current is branch
    assert [each.content for each in branch.messages] == ["a question"]
    assert branch.messages[0].id != source.messages[0].id
    [stored] = [chat for chat in OpenChats(store).chats() if chat.id == branch.chat.id]
    assert stored == branch.chat
    kept = (stored.title, stored.options, stored.folder_id)
    assert kept == ("chat 1 (branch)", '{"seed": 1}', folder.id)
    dropped = (stored.pinned_at, stored.unread_at, stored.agreed, stored.title_from, stored.chosen)
    assert dropped == (None, None, "", "", "")
    assert stored.created_at == stored.updated_at > source.chat.created_at
    assert open_chats.open("1") is source
    assert len(source.messages) == 2
    temporary = open_chats.new_temporary()
    temporary.send("a secret")
    assert open_chats.branch_off(temporary.messages[0].id).temporary
    assert open_chats.temporary_ids == {temporary.chat.id, open_chats.current.chat.id}
    assert len(OpenChats(store).chats()) == 5


def answered(conversation: Conversation, reason: StopReason = "end") -> None:
    """Write an answer, which ends for `reason`."""
    conversation.begin_answer("model")
    conversation.append_text("text")
    conversation.finish_answer(replace(NUMBERS, stop_reason=reason))


def test_an_answer_that_ended_unseen_marks_its_chat_until_it_is_opened(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    chats = {id: open_chats.load(id) for id in "0123"}
    for conversation in chats.values():
        conversation.send("a question")
    assert open_chats.busy_ids == set(chats)
    open_chats.open("0")
    open_chats.delete(["1"])
    for id, conversation in chats.items():
        answered(conversation, "cancelled" if id == "2" else "end")
    assert open_chats.busy_ids == frozenset()
    assert {chat.id for chat in OpenChats(store).chats() if chat.unread_at is not None} == {"3"}
    assert chats["3"].chat.unread_at == pytest.approx(chats["3"].messages[-1].created_at, abs=60)
    open_chats.open("3")
    assert not [chat for chat in OpenChats(store).chats() if chat.unread_at is not None]


def test_views_follow_the_shown_chat_and_hear_of_all(store: ChatStore) -> None:
    open_chats, shown, heard = OpenChats(store), list[str](), list[str]()
    open_chats.follow_current(lambda: shown.append(open_chats.current.chat.id), open_chats.phase_changed)
    open_chats.phase_changed.connect(lambda conversation: heard.append(conversation.chat.id))
    open_chats.open("1").send("a question")
    open_chats.load("2").send("a question")
    assert open_chats.open("2") is open_chats.conversation("2")
    assert shown == ["1", "1", "2"]
    assert heard == ["1", "2"]
    assert open_chats.conversation("3") is None


def test_an_unsent_chat_with_a_draft_is_opened_again(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    first = open_chats.current
    assert open_chats.new() is not first
    first.draft = MessageDraft(text="unsent")
    open_chats.new_temporary().draft = MessageDraft(text="a secret")
    assert open_chats.new() is first
    first.send("a question")
    assert open_chats.new() is not first
    assert [chat.id for chat in open_chats.chats()] == [first.chat.id, "3", "2", "1", "0"]
    assert (open_chats.is_listed("3"), open_chats.is_listed(first.chat.id)) == (True, True)
    assert not open_chats.is_listed(open_chats.current.chat.id)


def test_a_name_that_the_user_gave_is_marked_as_such(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    open_chats.open("1")
    open_chats.rename("1", " A\n name ")
    open_chats.rename("2", "Another")
    names = {chat.id: (chat.title, chat.title_from) for chat in OpenChats(store).chats() if chat.title_from}
    assert names == {"1": ("A name", "user"), "2": ("Another", "user")}
    assert open_chats.current.chat.title == "A name"


def test_chats_that_are_deleted_permanently_stay_so(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    conversation = open_chats.open("1")
    conversation.send("a question")
    conversation.edits["id"] = "unsent"
    open_chats.delete(["1", "2"])
    open_chats.delete_for_good(["1", "2", "3"])
    assert (conversation.state, conversation.edits, open_chats.conversation("1")) == ("gone", {}, None)
    assert open_chats.restore(["1", "2", "3", "3"]) == ["3"]
    assert [chat.id for chat in open_chats.chats()] == ["3", "0"]
    opened = open_chats.open("3")
    ids, was_open = open_chats.delete_all()
    assert set(ids) >= {"0", "3"}
    assert opened in was_open
    assert (opened.state, open_chats.chats(), store.chats()) == ("gone", [], [])
    assert open_chats.current.state == "new"
    store.save(Chat("imported"))
    open_chats.reload()
    assert [chat.title for chat in open_chats.chats()] == ["imported"]


def test_what_an_import_deleted_or_filed_is_shown_so(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    conversation = open_chats.open("1")
    OpenChats(store).delete(["1"])
    store.save_folder(Folder("imported"))
    open_chats.reload(["1", "2", "no such chat"])
    assert not open_chats.is_listed("1")
    assert open_chats.current is not conversation
    assert [folder.name for folder in open_chats.folders()] == ["imported"]
    assert [chat.id for chat in open_chats.chats()] == ["3", "2", "0"]
    assert open_chats.conversation("2") is None
    store.restore("1")
    open_chats.reload(["1"])
    assert conversation.state == "listed"
    assert [chat.id for chat in open_chats.chats()] == ["3", "2", "1", "0"]


def test_folders_stand_by_name_and_a_blank_name_is_a_number(store: ChatStore) -> None:
    open_chats = OpenChats(store)
    for name in ("b", "A", " ", "a\n b"):
        open_chats.add_folder(name)
    assert [folder.name for folder in open_chats.folders()] == ["3", "A", "a b", "b"]
    open_chats.rename_folder("no such folder", "x")
    open_chats.fold("no such folder", True)
    assert len(OpenChats(store).folders()) == 4


def test_chats_that_still_cannot_be_stored_are_named(store: ChatStore, monkeypatch: pytest.MonkeyPatch) -> None:
    open_chats = OpenChats(store)
    open_chats.load("2").send("stored")
    with monkeypatch.context() as full:
        failure = Failure("store_locked.file", path="x")
        full.setattr(store.writer, "write", lambda _work, done, **_: done(failure))
        open_chats.open("1").send("a question")
        assert open_chats.retry_unstored() == [("chat 1", failure)]
    assert open_chats.retry_unstored() == []
    assert open_chats.retry_unstored() == []
