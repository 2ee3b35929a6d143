"""The list of chats: pins, folders, deleting many, and that all of it is there again at the next start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app.chats.chat import Chat
from app.open_chats.shelf import Shelf
from app.store.chat_store import ChatStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ChatStore]:
    store = ChatStore(tmp_path / "library.sqlite3")
    for number in range(4):
        store.save(Chat(f"chat {number}", id=str(number), updated_at=float(number)))
    yield store
    store.close()


def test_pins_outlive_the_program_and_an_answer_in_the_chat(store: ChatStore) -> None:
    shelf = Shelf(store)
    shelf.open("1").send("a question")
    shelf.pin(["1", "2", "no such chat"])
    shelf.current.send("another")
    assert {chat.id for chat in Shelf(store).chats() if chat.pinned_at} == {"1", "2"}
    shelf.pin(["1"], False)
    assert {chat.id for chat in Shelf(store).chats() if chat.pinned_at} == {"2"}


def test_a_folder_holds_chats_until_it_is_deleted(store: ChatStore) -> None:
    shelf = Shelf(store)
    work, home = shelf.add_folder("  Work  "), shelf.add_folder("home")
    shelf.open("1")
    shelf.move(["1", "2"], work.id)
    shelf.rename_folder(home.id, "A home")
    shelf.rename_folder(home.id, " ")
    shelf.fold(work.id, True)
    again = Shelf(store)
    assert [(folder.name, folder.folded) for folder in again.folders()] == [("A home", False), ("Work", True)]
    assert {chat.id for chat in again.chats() if chat.folder_id == work.id} == {"1", "2"}
    folder, inside = again.delete_folder(work.id)
    assert sorted(inside) == ["1", "2"]
    assert len(again.chats()) == 4
    assert not [chat for chat in Shelf(store).chats() if chat.folder_id]
    again.restore_folder(folder, inside)
    assert {chat.id for chat in Shelf(store).chats() if chat.folder_id == work.id} == {"1", "2"}
    again.move(["1"], None)
    again.move(["2"], "no such folder")
    assert {chat.id for chat in Shelf(store).chats() if chat.folder_id == work.id} == {"2"}


def test_many_are_deleted_and_come_back(store: ChatStore) -> None:
    shelf = Shelf(store)
    shelf.open("1")
    gone = shelf.delete(["1", "3", "no such chat"])
    assert [chat.id for chat in shelf.chats()] == ["2", "0"]
    assert shelf.current.chat.id != "1"
    assert [(chat.id, moment > 0) for chat, moment in store.deleted_chats()] == [("3", True), ("1", True)]
    shelf.restore(gone)
    assert [chat.id for chat in shelf.chats()] == ["3", "2", "1", "0"]
    assert store.deleted_chats() == []


def test_what_another_wrote_is_read_again(store: ChatStore) -> None:
    shelf = Shelf(store)
    current = shelf.open("1")
    store.save(Chat("renamed", id="1", updated_at=9.0))
    shelf.reload(["1"])
    assert shelf.chats()[0].title == "renamed"
    assert shelf.current is not current
    assert shelf.current.chat.title == "renamed"
