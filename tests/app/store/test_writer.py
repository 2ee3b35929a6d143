"""Long writes have a thread, everything is written in the order in which it was asked for, and whoever reads waits."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.attachments.attachment import Attachment
from app.chats.chat import Chat, ChatMessage, Folder
from app.open_chats.conversation import Conversation
from app.open_chats.unsent import Item, Unsent, UnsentStore
from app.store.chat_store import LONG, Library
from app.store.upkeep import keep_up
from common.failures import Failure

Call = Callable[[], object]


class Window:
    """Stands for the window's thread: what is to be told there waits until `hear`."""

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
def library(tmp_path: Path, window: Window) -> Iterator[Library]:
    library = Library(tmp_path / "library.sqlite3")
    library.writer.use_thread(window.tell)
    yield library
    library.close()


def note(name: str, text: str) -> Attachment:
    return Attachment(name, "text", len(text), text)


def message(chat: Chat, id: str, text: str = "") -> ChatMessage:
    return ChatMessage(chat.id, None, "user", text, id=id)


def test_a_short_write_is_done_when_it_returns(library: Library) -> None:
    chat, ended = Chat("t"), list[Failure | None]()
    library.save_in_turn(chat, [message(chat, "a")], ended.append)
    assert ended == [None]


def test_what_comes_behind_a_long_write_is_written_behind_it(library: Library, window: Window) -> None:
    order, go = list[str](), threading.Event()

    def slowly(_db: sqlite3.Connection) -> None:
        assert go.wait(60)
        order.append("long")

    library.writer.write(slowly, lambda _: order.append("told"), long=True)
    library.writer.write(lambda _db: order.append("short"), lambda _: order.append("told too"))
    assert order == []
    go.set()
    library.writer.settle()
    assert order == ["long", "short"]
    window.hear()
    window.hear()
    assert order == ["long", "short", "told", "told too"]


def test_who_reads_finds_what_was_to_be_written(library: Library) -> None:
    chat = Chat("t")
    library.save_in_turn(chat, [message(chat, "a", "x" * LONG)], lambda _: None)
    assert [each.id for each in library.messages(chat)] == ["a"]


def test_what_is_under_way_at_the_end_is_done(tmp_path: Path, window: Window) -> None:
    library = Library(tmp_path / "library.sqlite3")
    library.writer.use_thread(window.tell)
    chat, ended = Chat("t"), list[Failure | None]()
    for id in ("a", "b"):
        library.save_in_turn(chat, [message(chat, id, "x" * LONG)], ended.append)
    library.close()
    assert ended == [None, None]
    again = Library(tmp_path / "library.sqlite3")
    assert [each.id for each in again.messages(chat)] == ["a", "b"]
    again.close()


def test_a_write_that_fails_says_so_and_the_next_one_goes_on(library: Library, window: Window) -> None:
    ended = list[Failure | None]()

    def full(_db: sqlite3.Connection) -> None:
        raise sqlite3.OperationalError("no room")

    def broken(_db: sqlite3.Connection) -> None:
        raise ZeroDivisionError

    for work in (full, broken, lambda _db: None):
        library.writer.write(work, ended.append, long=True)
        window.hear()
    assert [failure and failure.code for failure in ended] == ["library", "internal", None]


def test_an_answer_that_begins_meanwhile_is_stored_too(library: Library, window: Window) -> None:
    conversation = Conversation(library)
    conversation.send("what is in it?", (note("a.txt", "word " * LONG),))
    conversation.begin("model")
    conversation.use_options("{}")
    assert conversation.stored
    window.hear()
    library.writer.settle()
    (chat,) = library.chats()
    assert [each.role for each in library.messages(chat)] == ["user", "assistant"]
    assert chat.options == "{}"
    conversation.fail("", reason="cancelled")


def test_files_of_the_composer_are_stored_apart_from_its_text(library: Library, window: Window) -> None:
    store, ended = UnsentStore(library), list[Failure | None]()
    file = note("a.txt", "word " * LONG)
    unsent = Unsent("a question", [Item(file.name, file)])
    assert store.load("c").items == []
    store.save("c", unsent, ended.append)
    assert ended == []
    window.hear()
    unsent.text = "a longer question"
    store.save("c", unsent, ended.append, files=False)
    assert ended == [None, None]
    again = UnsentStore(library).load("c")
    assert (again.text, again.attachments) == ("a longer question", (file,))
    unsent.sent(unsent.text)
    store.save("c", unsent, ended.append)
    window.hear()
    assert not UnsentStore(library).load("c").begun


def test_upkeep_moves_the_log_into_the_file(library: Library) -> None:
    chat = Chat("t")
    library.save(chat, [message(chat, "a", "some words")])
    before = library.path.stat().st_size
    keep_up(library.path)
    assert library.path.stat().st_size >= before
    assert b"some words" in library.path.read_bytes()


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a file that is open can be neither moved nor deleted")
def test_a_library_that_is_moved_away_is_told_and_nothing_is_lost(library: Library, tmp_path: Path) -> None:
    """SQLite itself goes on writing to a file that nobody finds again."""
    chat, ended = Chat("t"), list[Failure | None]()
    library.path.rename(tmp_path / "away")
    library.save_in_turn(chat, [message(chat, "a")], ended.append)
    with pytest.raises(Failure, match="was moved or deleted"):
        library.save(chat)
    assert [failure and failure.code for failure in ended] == ["library_gone"]
    assert not library.path.exists()
    (tmp_path / "away").rename(library.path)
    library.save_in_turn(chat, [message(chat, "a")], ended.append)
    assert ended[1:] == [None]
    assert [each.id for each in library.messages(chat)] == ["a"]


@pytest.mark.skipif(os.name != "posix", reason="elsewhere a folder with an open file in it cannot be deleted")
def test_a_library_whose_folder_is_gone_can_still_be_closed(library: Library) -> None:
    shutil.rmtree(library.path.parent)
    with pytest.raises(Failure, match="was moved or deleted"):
        library.save_folder(Folder("Work"))
    library.close()
