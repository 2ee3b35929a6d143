"""The store's upkeep: files' texts are found, and no word of permanently deleted text is left in the file."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from app.attachments.attachment import Attachment
from app.state.open_chats import OpenChats
from app.store import upkeep
from app.store.chat import Chat, ChatMessage, Folder
from app.store.chat_store import ChatStore
from app.store.database import beside
from app.store.message_search import Search
from app.store.upkeep import MOST_INDEXED, PIECE, run_upkeep
from common.failures import Failure
from tests.app.small_disk import fill_up, small_disk

OLD = 40 * 86_400


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.sqlite3"


def stored(store: ChatStore, words: str, *files: Attachment) -> tuple[Chat, ChatMessage]:
    chat = Chat(f"chat about {words.split()[0]}")
    message = ChatMessage(chat.id, None, "user", words, stop_reason="end", attachments=files)
    store.save(replace(chat, leaf_id=message.id), [message])
    return chat, message


def note(name: str, text: str) -> Attachment:
    return Attachment(name, "text", len(text), text)


def found(path: Path, words: str) -> list[tuple[str | None, str]]:
    search = Search(path)
    hits = [(hit.message_id, hit.snippet) for hit in search.search(words)]
    search.close()
    return hits


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes().lower() for file in path.parent.glob(path.name + "*"))


def test_what_a_file_says_is_found_and_marked(path: Path) -> None:
    store = ChatStore(path)
    text = "Nothing here. " * 3000 + "The walrus sleeps on ice. " + "Nothing more. " * 3000
    _, message = stored(store, "read this", note("Reise nach Süden.txt", text))
    assert found(path, "walrus") == []
    run_upkeep(path)
    ((id, line),) = found(path, "walrus ice")
    assert id == message.id
    assert line.startswith("Reise nach Süden.txt: …")
    assert "The walrus sleeps on ice." in line
    assert found(path, "suden reise")[0][0] == message.id  # the name, without accents
    search = Search(path)
    (hit,) = search.search("walr")
    assert [hit.snippet[start:end].lower() for start, end in hit.marks] == ["walr"]
    search.close()
    store.close()


def test_chinese_in_a_file_is_found_by_its_characters(path: Path) -> None:
    store = ChatStore(path)
    stored(store, "read this", note("笔记.txt", "会议在北京举行，电脑不见了。"))
    run_upkeep(path)
    assert len(found(path, "电脑")) == 1
    assert found(path, "脑电") == []
    store.close()


def test_a_message_is_found_once_whatever_has_the_words(path: Path) -> None:
    store = ChatStore(path)
    stored(store, "a walrus", note("walrus.txt", "walrus " * PIECE), note("more.txt", "walrus"))
    run_upkeep(path)
    assert len(found(path, "walrus")) == 1
    store.close()


def test_what_lies_behind_a_million_characters_is_not_indexed(path: Path) -> None:
    store = ChatStore(path)
    stored(store, "read this", note("long.txt", "early " + "x " * (MOST_INDEXED // 2) + "late"))
    run_upkeep(path)
    assert (len(found(path, "early")), len(found(path, "late"))) == (1, 0)
    store.close()


def test_a_deleted_chats_files_are_not_found(path: Path) -> None:
    store = ChatStore(path)
    chat, _ = stored(store, "read this", note("a.txt", "walrus"))
    run_upkeep(path)
    store.delete(chat.id)
    assert found(path, "walrus") == []
    store.restore(chat.id)
    assert len(found(path, "walrus")) == 1
    store.close()


@pytest.mark.parametrize("indexed", [True, False])
def test_of_a_chat_deleted_for_good_no_word_is_left_in_the_file(path: Path, indexed: bool) -> None:
    store = ChatStore(path)
    for number in range(30):
        stored(store, f"question {number} about penguins", note("p.txt", "penguins swim"))
    chat, _ = stored(store, "the zyxwvut secret 电脑", note("zyxwvut.txt", "qponmlk " * 9000))
    if indexed:
        run_upkeep(path)
    for secret in (b"zyxwvut", b"qponmlk"):
        assert secret in bytes_of(path)
    store.delete(chat.id)
    store.delete_for_good(chat.id)
    run_upkeep(path)
    for secret in (b"zyxwvut", b"zyx", b"qponmlk", b"qpo", "电".encode()):
        assert secret not in bytes_of(path), secret
    assert len(found(path, "penguins")) == 30
    assert len(found(path, "swim")) == 30
    store.close()


def test_what_was_deleted_long_ago_is_gone_after_the_next_start(path: Path) -> None:
    store = ChatStore(path)
    chat, message = stored(store, "kept, zyxwvut")
    other = ChatMessage(chat.id, message.id, "assistant", "qponmlk", stop_reason="end", deleted_at=time.time() - OLD)
    store.save(chat, [other])
    store.close()
    store = ChatStore(path)
    run_upkeep(path)
    assert b"qponmlk" not in bytes_of(path)
    assert b"zyxwvut" in bytes_of(path)
    store.close()


def test_it_goes_on_where_it_was_ended(path: Path) -> None:
    store = ChatStore(path)
    stored(store, "read this", note("a.txt", "walrus " + "x " * PIECE + " seal"))
    chat, _ = stored(store, "zyxwvut")
    store.delete(chat.id)
    store.delete_for_good(chat.id)
    steps = 0
    while b"zyxwvut" in bytes_of(path) or not found(path, "seal"):
        run_upkeep(path, lambda: False)  # one step each time
        steps += 1
        assert steps < 50
        if steps > 5:
            run_upkeep(path)
    assert len(found(path, "walrus")) == 1
    store.close()


def test_a_file_that_is_stored_again_is_not_indexed_twice(path: Path) -> None:
    store = ChatStore(path)
    chat, message = stored(store, "read this", note("a.txt", "walrus"))
    run_upkeep(path)
    store.save(chat, [replace(message, deleted_at=None)])
    run_upkeep(path)
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*), sum(indexed) FROM attachment_pieces").fetchone() == (1, 1)
    db.close()
    store.save(chat, [replace(message, attachments=(note("b.txt", "seal"),))])
    run_upkeep(path)
    assert (found(path, "walrus"), len(found(path, "seal"))) == ([], 1)
    store.close()


def test_with_nothing_to_do_nothing_is_written(path: Path) -> None:
    store = ChatStore(path)
    stored(store, "read this", note("a.txt", "walrus"))
    run_upkeep(path)
    before = beside(path, "-wal").read_bytes()
    run_upkeep(path)
    assert beside(path, "-wal").read_bytes() == before
    store.close()


def test_a_writer_is_not_held_up_and_a_lock_is_a_failure(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ChatStore(path)
    stored(store, "read this", note("a.txt", "walrus"))
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    with pytest.raises(Failure):
        run_upkeep(path)
    db.execute("ROLLBACK")
    db.close()
    monkeypatch.setattr(upkeep, "GAP_SECONDS", 0)
    run_upkeep(path)
    assert len(found(path, "walrus")) == 1
    store.close()


def test_another_program_that_looks_into_the_file_takes_nothing_away(path: Path) -> None:
    """SQLite's locks belong to the process: a connection opened carelessly beside another would drop them."""
    store = ChatStore(path)
    stored(store, "before")
    run_upkeep(path)
    look = "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]); db.execute('SELECT * FROM chats'); db.close()"
    subprocess.run([sys.executable, "-c", look, str(path)], check=True, timeout=120)
    assert beside(path, "-wal").exists()
    stored(store, "later words")
    assert len(found(path, "words")) == 1
    store.close()


def test_deleting_all_chats_is_left_to_upkeep_which_gives_the_room_back(path: Path) -> None:
    """Removing and rewriting hundreds of megabytes would block the window's thread."""
    store = ChatStore(path)
    store.save_folder(Folder("Work"))
    for number in range(10):
        stored(store, f"secret {number} " + "x" * 300_000, note("a.txt", "secret"))
    run_upkeep(path)
    before = path.stat().st_size
    store.delete_all()
    assert (store.chats(), store.deleted_chats(), found(path, "secret")) == ([], [], [])
    assert path.stat().st_size == before
    steps = iter([True, True, False])
    run_upkeep(path, lambda: next(steps))  # the window was closed meanwhile
    store.close()
    store = ChatStore(path)
    run_upkeep(path)
    assert path.stat().st_size < before / 10
    assert b"secret" not in path.read_bytes() + beside(path, "-wal").read_bytes()
    assert [folder.name for folder in store.folders()] == ["Work"]
    store.close()


def test_a_store_with_much_in_it_is_not_written_anew(path: Path) -> None:
    store = ChatStore(path)
    for number in range(10):
        stored(store, f"words {number} " + "x" * 300_000)
    store.delete(gone := store.chats()[0].id)
    store.delete_for_good(gone)
    with contextlib.closing(sqlite3.connect(path)) as db:
        run_upkeep(path)
        assert db.execute("PRAGMA freelist_count").fetchone()[0] > 50
    assert len(store.chats()) == 9
    store.close()


def test_chats_that_cannot_be_deleted_stay_as_they_are(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        store = ChatStore(disk / "library.sqlite3")
        shelf = OpenChats(store)
        shelf.current.send("first")
        shelf.current.withdraw()
        filler = fill_up(disk)
        with pytest.raises(Failure, match="The disk is full"):
            shelf.delete_all()
        assert len(shelf.chats()) == 1
        filler.unlink()
        shelf.current.send("second")
        assert [message.content for message in store.messages(shelf.current.chat)] == ["first", "second"]
        store.close()
