"""The store's file: values survive, old files are migrated, failures become sentences."""

from __future__ import annotations

import os
import sqlite3
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest

from app.attachments.attachment import Attachment, Place
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.store.database import failure_of
from app.store.upkeep import run_upkeep
from common.failures import Failure


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "library.sqlite3"


def dialogue(chat: Chat) -> tuple[Chat, list[ChatMessage]]:
    question = ChatMessage(chat.id, None, "user", "q\n'; DROP TABLE chats; --", stop_reason="end")
    answer = ChatMessage(chat.id, question.id, "assistant", "ä 🐦", stop_reason="cancelled", detail="d", model="m")
    return replace(chat, leaf_id=answer.id), [question, answer]


def test_what_goes_in_comes_out_after_a_restart(path: Path) -> None:
    chat, messages = dialogue(Chat("title"))
    store = ChatStore(path)
    store.save(chat, messages)
    store.close()
    store = ChatStore(path)
    assert store.chats() == [chat]
    assert store.messages(chat) == messages
    store.close()


def test_attachments_stay_with_their_message(path: Path) -> None:
    files = (
        Attachment("a.pdf", "pdf", 5, "first second", ((0, 6), (5, 12)), (0, 6), sent=(1,)),
        Attachment("ü '\"; DROP.txt", "text", 0, "🐦"),
    )
    chat = Chat("files", options='{"persona": "Plain"}')
    question = ChatMessage(chat.id, None, "user", "q", stop_reason="end", attachments=files)
    answer = ChatMessage(chat.id, question.id, "assistant", "a", stop_reason="end", sources="[]")
    chat = replace(chat, leaf_id=answer.id)
    store = ChatStore(path)
    store.save(chat, [question, answer])
    store.save(chat, [question])  # again, as an unfinished write is
    store.close()
    store = ChatStore(path)
    assert store.chats() == [chat]
    assert store.messages(chat) == [question, answer]
    store.with_connection(lambda db: db.execute("DELETE FROM chats"))
    assert store.with_connection(lambda db: db.execute("SELECT count(*) FROM attachments").fetchone()) == (0,)
    store.close()


@pytest.mark.parametrize(
    "damage",
    ["sent = '[2]'", "sent = '[-1]'", "parts = '['", "parts = '[[0, 1]]', sent = 'null'", "places = '[{}, {}]'",
     "kind = 'unknown'", "pages = 'null'", "parts = 7", "text = CAST(text AS BLOB)"],
)  # fmt: skip
def test_of_a_file_whose_row_is_damaged_name_and_text_are_kept(path: Path, damage: str) -> None:
    places = (Place(0, 5, "Birds", 1), Place(9, 12))
    whole = Attachment("a.txt", "text", 90, "words", ((0, 3), (2, 5)), (0, 3), (0, 1), "/a.txt", places)
    other = Attachment("b.txt", "text", 3, "abc", sent=())
    chat = Chat("files")
    store = ChatStore(path)
    store.save(chat, [ChatMessage(chat.id, None, "user", "q", attachments=(whole, other))])
    assert store.messages(chat)[0].attachments == (whole, other)
    with store.connection() as db:  # a table that takes what a damaged page may have
        db.execute("ALTER TABLE attachments RENAME TO sound")
        db.execute("CREATE TABLE attachments AS SELECT * FROM sound")
        db.execute(f"UPDATE attachments SET {damage} WHERE position = 0")
    assert store.messages(chat)[0].attachments == (Attachment("a.txt", "text", 5, "words"), other)
    store.close()


def test_every_branch_is_read(path: Path) -> None:
    chat, (question, answer) = dialogue(Chat("title"))
    other = replace(answer, id="other", content="second answer")
    store = ChatStore(path)
    store.save(replace(chat, leaf_id="other"), [question, answer, other])
    assert store.messages(store.chats()[0]) == [question, answer, other]
    store.close()


def test_deleted_messages_are_kept_for_a_month(path: Path) -> None:
    now = time.time()
    chat, (question, answer) = dialogue(Chat("title"))
    older, newer = (replace(answer, id=str(days), deleted_at=now - days * 86_400) for days in (31, 29))
    store = ChatStore(path)
    store.save(chat, [question, answer, older, newer])
    run_upkeep(path)
    assert store.messages(chat) == [question, answer, newer]
    store.close()


def test_a_ring_of_parents_ends(path: Path) -> None:
    chat = Chat("ring", leaf_id="a")
    store = ChatStore(path)
    store.save(chat, [ChatMessage(chat.id, "b", "user", "", "a"), ChatMessage(chat.id, "a", "user", "", "b")])
    assert len(store.messages(chat)) == 2
    store.close()


def test_deleted_chats_are_hidden_restored_and_in_the_end_gone(path: Path) -> None:
    store = ChatStore(path)
    chat, messages = dialogue(Chat("title"))
    store.save(chat, messages)
    store.delete(chat.id)
    assert store.chats() == []
    store.restore(chat.id)
    assert store.chats() == [chat]
    store.delete(chat.id)
    store.close()
    db = sqlite3.connect(path)
    db.execute("UPDATE chats SET deleted_at = ?", (time.time() - 31 * 86_400,))
    db.commit()
    store = ChatStore(path)
    store.restore(chat.id)
    assert (store.chats(), store.deleted_chats()) == ([], [])
    run_upkeep(path)
    assert db.execute("SELECT count(*) FROM messages").fetchone() == (0,)
    store.close()
    db.close()


def test_half_a_write_is_none(path: Path) -> None:
    store = ChatStore(path)
    chat, (question, _) = dialogue(Chat("title"))
    stranger = ChatMessage("no such chat", None, "user", "x")
    with pytest.raises(Failure):
        store.save(chat, [question, stranger])
    assert store.chats() == []
    store.close()


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_the_file_is_private(path: Path) -> None:
    store = ChatStore(path)
    store.save(Chat("t"))
    for file in path.parent.glob("library*"):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    store.close()


@pytest.mark.parametrize(("content", "code"), [(b"not a database, " * 100, "store_damaged")])
def test_a_damaged_file_is_told(path: Path, content: bytes, code: str) -> None:
    path.write_bytes(content)
    with pytest.raises(Failure) as caught:
        ChatStore(path)
    assert caught.value.code == code
    assert path.read_bytes() == content


def test_no_room_for_the_index_of_the_log_is_a_full_disk_too(path: Path) -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorname = "SQLITE_IOERR_SHMSIZE"
    assert failure_of(path, error).code == "disk_full"


def test_a_full_disk_is_told_and_the_next_write_succeeds(path: Path) -> None:
    store = ChatStore(path)
    chat = Chat("t")
    store.save(chat)
    (pages,) = store._db.execute("PRAGMA page_count").fetchone()
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(Failure) as caught:
        store.save(chat, [ChatMessage(chat.id, None, "user", "x" * 100_000)])
    assert caught.value.code == "disk_full"
    store._db.execute("PRAGMA max_page_count = 100000")
    store.save(chat, [ChatMessage(chat.id, None, "user", "x" * 100_000)])
    store.close()


def test_recent_models_come_latest_first(path: Path) -> None:
    store = ChatStore(path)
    for name in ("a", "b", "a"):
        store.remember_model(Path(name))
    assert store.recent_models() == [Path("a"), Path("b")]
    store.close()


def test_what_was_not_sent_goes_with_its_chat(path: Path) -> None:
    store = ChatStore(path)
    store.save(Chat("t", id="c"))
    for chat_id in ("new", "c", "never stored"):
        store._db.execute("INSERT INTO unsent (chat_id, text, attachments) VALUES (?, 'half a secret', '')", (chat_id,))
        store._db.execute("INSERT INTO unsent_files (chat_id, attachments) VALUES (?, '[]')", (chat_id,))
    store.delete("c")
    store.delete_for_good("c", "never stored")
    for table in ("unsent", "unsent_files"):
        assert store._db.execute(f"SELECT chat_id FROM {table}").fetchall() == [("new",)]
    assert store.unsent_ids() == ["new"]
    store.close()
