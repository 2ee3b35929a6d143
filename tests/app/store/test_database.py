"""Long writes run in a thread, all writes keep their order, and reads wait for them."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.attachments.attachment import Attachment
from app.state.conversation import Conversation
from app.state.draft import DraftFile, MessageDraft
from app.state.draft_keeper import DraftStore
from app.state.open_chats import OpenChats
from app.store.chat import Chat, ChatMessage, Folder
from app.store.chat_store import LONG, ChatRow, ChatStore
from app.store.upkeep import run_upkeep
from app.words import current_text
from common.failures import Failure

Call = Callable[[], object]


class Window:
    """A stand-in for the window's thread: dispatched calls wait until `hear`."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._some = threading.Semaphore(0)

    def tell(self, call: Call) -> None:
        self._calls.append(call)
        self._some.release()

    def hear(self) -> None:
        assert self._some.acquire(timeout=60)
        self._calls.pop(0)()


@pytest.fixture
def window() -> Window:
    return Window()


@pytest.fixture
def store(tmp_path: Path, window: Window) -> Iterator[ChatStore]:
    store = ChatStore(tmp_path / "library.sqlite3")
    store.writer.use_thread(window.tell)
    yield store
    store.close()


def note(name: str, text: str) -> Attachment:
    return Attachment(name, "text", len(text), text)


def message(chat: Chat, id: str, text: str = "") -> ChatMessage:
    return ChatMessage(chat.id, None, "user", text, id=id)


def test_a_short_write_is_done_when_it_returns(store: ChatStore) -> None:
    chat, ended = Chat("t"), list[Failure | None]()
    store.save_in_turn(ChatRow(chat), [message(chat, "a")], ended.append)
    assert ended == [None]


def test_what_comes_behind_a_long_write_is_written_behind_it(store: ChatStore, window: Window) -> None:
    order, go = list[str](), threading.Event()

    def slowly(_db: sqlite3.Connection) -> None:
        assert go.wait(60)
        order.append("long")

    store.writer.write(slowly, lambda _: order.append("told"), long=True)
    store.writer.write(lambda _db: order.append("short"), lambda _: order.append("told too"))
    assert order == []
    go.set()
    store.writer.wait()
    assert order == ["long", "short"]
    window.hear()
    window.hear()
    assert order == ["long", "short", "told", "told too"]


def test_who_reads_finds_what_was_to_be_written(store: ChatStore) -> None:
    chat = Chat("t")
    store.save_in_turn(ChatRow(chat), [message(chat, "a", "x" * LONG)], lambda _: None)
    assert [each.id for each in store.messages(chat)] == ["a"]


def test_an_edit_takes_the_thread_if_it_is_long_and_has_changed(store: ChatStore, window: Window) -> None:
    chat, ended = Chat("t"), list[Failure | None]()
    store.save(chat, [message(chat, "a")])
    for length, changed in ((LONG - 1, True), (LONG, False), (LONG, True)):
        row = ChatRow(chat, (("a", "x" * length),))
        store.save_in_turn(row, [], ended.append, edits=changed)
        assert store.edits(chat.id) == {"a": "x" * (length if changed else LONG - 1)}
    assert ended == [None, None]
    window.hear()
    assert ended == [None] * 3


def test_what_is_under_way_at_the_end_is_done(tmp_path: Path, window: Window) -> None:
    store = ChatStore(tmp_path / "library.sqlite3")
    store.writer.use_thread(window.tell)
    chat, ended = Chat("t"), list[Failure | None]()
    for id in ("a", "b"):
        store.save_in_turn(ChatRow(chat), [message(chat, id, "x" * LONG)], ended.append)
    store.close()
    assert ended == [None, None]
    again = ChatStore(tmp_path / "library.sqlite3")
    assert [each.id for each in again.messages(chat)] == ["a", "b"]
    again.close()


def test_a_write_that_fails_says_so_and_the_next_one_goes_on(store: ChatStore, window: Window) -> None:
    ended = list[Failure | None]()

    def full(_db: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("no room")

    def broken(_db: sqlite3.Connection) -> None:
        raise ZeroDivisionError

    for work in (full, broken, lambda _db: None):
        store.writer.write(work, ended.append, long=True)
        window.hear()
    assert [failure and failure.code for failure in ended] == ["store", "internal", None]


def test_an_answer_that_begins_meanwhile_is_stored_too(store: ChatStore, window: Window) -> None:
    conversation = Conversation(store)
    conversation.send("what is in it?", (note("a.txt", "word " * LONG),))
    conversation.begin_answer("model")
    conversation.update_entry(options="{}")
    conversation.append_text("words")
    conversation.fail_answer(None, reason="cancelled")
    assert conversation.saver.stored
    window.hear()
    store.writer.wait()
    (chat,) = store.chats()
    assert [each.content for each in store.messages(chat)] == ["what is in it?", "words"]
    assert chat.options == "{}"


@pytest.mark.parametrize("ends", ["heard", "closed"])
@pytest.mark.parametrize("changed", ["message", "entry", "edit"])
def test_what_changes_during_a_long_write_is_written_behind_it(
    store: ChatStore, window: Window, ends: str, changed: str
) -> None:
    conversation = Conversation(store)
    conversation.send("old " * LONG)
    message = conversation.messages[0]
    if changed == "message":
        message = replace(message, content="newer")
        conversation.save(message)
        assert conversation.saver.unsaved == {message.id: message}
    elif changed == "entry":
        conversation.update_entry(title="newer")
    else:
        conversation.edits[message.id] = "newer"
        conversation.save()
    window.hear() if ends == "heard" else store.close()
    assert conversation.saver.unsaved == {}
    with closing(ChatStore(store.path)) as again:
        assert again.chats() == [conversation.chat]
        assert again.messages(conversation.chat) == [message]
        assert again.edits(conversation.chat.id) == conversation.edits


def test_each_row_of_failures_is_told_once_unless_the_chat_is_gone(store: ChatStore, window: Window) -> None:
    open_chats, told = OpenChats(store), list[str]()
    conversation = open_chats.current
    open_chats.not_saved.connect(lambda _conversation, words: told.append(current_text(words)))
    full = store.with_connection(lambda db: db.execute("PRAGMA page_count").fetchone())[0]
    for round in (1, 2):
        store._db.execute(f"PRAGMA max_page_count = {full}")
        for number in range(2):
            conversation.send(f"{number} " + "x" * 9000)
            conversation.withdraw()
            assert (len(told), len(conversation.saver.unsaved)) == (round, number + 1)
        assert conversation.saver.stored == (round == 2)
        failure = conversation.saver.retry()
        assert failure is not None
        assert failure.code == "disk_full"
        assert open_chats.retry_unstored() == [(conversation.chat.title, conversation.saver.failure)]
        store._db.execute("PRAGMA max_page_count = 100000")
        assert conversation.saver.retry() is conversation.saver.failure is None
        assert conversation.saver.unsaved == {}
        full = store.with_connection(lambda db: db.execute("PRAGMA page_count").fetchone())[0]
    assert told[0].startswith("The disk is full")
    if os.name != "posix":  # an open file cannot be moved
        return
    away = store.path.rename(store.path.with_name("away"))
    conversation.send("word " * LONG)
    store.writer.wait()
    away.rename(store.path)
    open_chats.delete([conversation.chat.id])
    open_chats.delete_for_good([conversation.chat.id])
    window.hear()
    assert len(told) == 2


def test_files_of_the_composer_are_stored_apart_from_its_text(store: ChatStore, window: Window) -> None:
    draft_store, ended = DraftStore(store), list[Failure | None]()
    file = note("a.txt", "word " * LONG)
    draft = MessageDraft("a question", [DraftFile(file.name, file)])
    assert draft_store.load("c").items == []
    draft_store.save("c", draft, ended.append)
    assert ended == []
    window.hear()
    draft.text = "a longer question"
    draft_store.save("c", draft, ended.append, files=False)
    assert ended == [None, None]
    again = DraftStore(store).load("c")
    assert (again.text, again.attachments) == ("a longer question", (file,))
    draft.clear()
    draft_store.save("c", draft, ended.append)
    window.hear()
    assert not DraftStore(store).load("c").has_content


def test_upkeep_alone_moves_the_log_into_the_file(store: ChatStore) -> None:
    """It waits for the disk, so no write of the window does it, however long the log is."""
    before, chat = store.path.stat().st_size, Chat("t")
    store.save(chat, [message(chat, "a", "some words"), message(chat, "b", "x" * 6_000_000)])
    store.save(replace(chat, title="u"))
    assert store.path.stat().st_size == before
    run_upkeep(store.path)
    assert store.path.stat().st_size >= before + 6_000_000
    assert b"some words" in store.path.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a file that is open can be neither moved nor deleted")
def test_a_store_that_is_moved_away_is_told_and_nothing_is_lost(store: ChatStore, tmp_path: Path) -> None:
    """SQLite itself keeps writing to a file that the user cannot find."""
    chat, ended = Chat("t"), list[Failure | None]()
    store.path.rename(tmp_path / "away")
    store.save_in_turn(ChatRow(chat), [message(chat, "a")], ended.append)
    with pytest.raises(Failure, match="was moved or deleted"):
        store.save(chat)
    assert [failure and failure.code for failure in ended] == ["store_gone"]
    assert not store.path.exists()
    (tmp_path / "away").rename(store.path)
    store.save_in_turn(ChatRow(chat), [message(chat, "a")], ended.append)
    assert ended[1:] == [None]
    assert [each.id for each in store.messages(chat)] == ["a"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a folder with an open file in it cannot be deleted")
def test_a_store_whose_folder_is_gone_can_still_be_closed(store: ChatStore) -> None:
    shutil.rmtree(store.path.parent)
    with pytest.raises(Failure, match="was moved or deleted"):
        store.save_folder(Folder("Work"))
    store.close()
