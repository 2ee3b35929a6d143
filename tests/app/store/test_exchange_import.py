"""Export and import: nothing is lost or duplicated, even while the window writes."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from app.folders import users_umask
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.store.exchange import JsonExporter, Stopped, TransferProgress, import_chats
from app.store.upkeep import run_upkeep
from common.sentences import Sentence, encode_sentence
from tests.app.store.moved_chats import counts, everything, exported, fill, load


def test_what_is_exported_comes_back_whole_and_once(store: ChatStore, other: ChatStore, tmp_path: Path) -> None:
    fill(store)
    file = exported(store, tmp_path / "chats.json")
    assert counts(load(file, other)) == (3, 0, 0)
    assert everything(other) == everything(store)
    assert [folder.id for folder in other.folders()] == ["folder"]
    assert counts(load(file, other)) == (0, 0, 3)
    assert everything(other) == everything(store)
    assert file.stat().st_mode & 0o777 == 0o666 & ~users_umask()
    assert json.loads(file.read_bytes())["version"] == 1


def test_only_what_was_chosen_is_exported(store: ChatStore, other: ChatStore, tmp_path: Path) -> None:
    fill(store)
    store.delete("c2")
    assert counts(load(exported(store, tmp_path / "one.json", ["c1"]), other)) == (1, 0, 0)
    assert other.folders() == []
    assert counts(load(exported(store, tmp_path / "all.json"), other)) == (1, 0, 1)


def test_a_merge_loses_nothing_and_the_later_change_wins(store: ChatStore, other: ChatStore, tmp_path: Path) -> None:
    fill(store)
    old = exported(store, tmp_path / "old.json")
    load(old, other)
    mine = ChatMessage("c0", "b0", "user", "only here", "mine", 20.0)
    store.save(replace(everything(store)["c0"][0], title="newer", updated_at=20.0, leaf_id="mine"), [mine])
    theirs = ChatMessage("c0", "b0", "user", "only there", "theirs", 15.0)
    other.save(replace(everything(other)["c0"][0], title="older", updated_at=15.0, leaf_id="theirs"), [theirs])
    new = exported(store, tmp_path / "new.json")
    imported = load(new, other)
    assert (counts(imported), imported.touched) == ((0, 1, 2), ("c0",))
    chat, messages = everything(other)["c0"]
    assert (chat.title, chat.leaf_id) == ("newer", "mine")
    assert {message.id for message in messages} == {"q0", "a0", "b0", "mine", "theirs"}
    assert counts(load(old, other)) == (0, 0, 3)
    assert everything(other)["c0"][0].title == "newer"


def test_a_deleted_chat_comes_back(store: ChatStore, tmp_path: Path) -> None:
    fill(store)
    file = exported(store, tmp_path / "chats.json")
    store.delete("c0", "c1")
    store.delete_for_good("c1")
    run_upkeep(store.path)
    assert counts(load(file, store)) == (1, 1, 1)
    assert {"c0", "c1", "c2"} == set(everything(store))


def test_ids_of_another_chats_messages_are_not_taken_away(store: ChatStore, tmp_path: Path) -> None:
    fill(store, 1)
    chat = {"id": "stranger", "title": "s", "leaf_id": "b0", "created_at": 1, "updated_at": 1}
    turns = [
        {"id": "q0", "parent_id": None, "role": "user", "content": "other"},
        {"id": "b0", "parent_id": "q0", "role": "assistant", "content": "words"},
    ]
    file = tmp_path / "f.json"
    file.write_text(json.dumps({"format": "chickadee-chats", "version": 1, "chats": [chat | {"messages": turns}]}))
    for expected in ((1, 0, 0), (0, 0, 1)):
        assert counts(load(file, store)) == expected
    assert [message.content for message in everything(store)["c0"][1]] == ["q 🐦 答案\n", "first", "second"]
    question, answer = everything(store)["stranger"][1]
    assert answer.parent_id == question.id


def test_stopping_and_being_killed_leave_nothing(store: ChatStore, other: ChatStore, tmp_path: Path) -> None:
    fill(store, 50)
    file = exported(store, tmp_path / "chats.json")
    progress = TransferProgress()
    tell = progress.update

    def stop_in_the_middle(share: float, chats: int) -> None:
        tell(share, chats)
        if chats == 20:
            progress.stop()

    progress.update = stop_in_the_middle  # type: ignore[method-assign]
    with pytest.raises(Stopped):
        import_chats(file, other.path, progress)
    assert other._db.execute("SELECT count(*) FROM chats").fetchone() == (0,)
    other.save(Chat("half", "half"))
    other._db.execute("UPDATE chats SET deleted_at = -1")
    assert other.chats() == []
    assert other.deleted_chats() == []
    ChatStore(other.path).close()
    assert other._db.execute("SELECT count(*) FROM chats").fetchone() == (0,)
    with pytest.raises(Stopped):
        JsonExporter().export(store.path, None, tmp_path / "stopped.json", progress)
    assert not list(tmp_path.glob("stopped*"))


def test_the_window_may_write_while_chats_come_in(store: ChatStore, other: ChatStore, tmp_path: Path) -> None:
    fill(store, 30)
    file = exported(store, tmp_path / "chats.json")
    progress = TransferProgress()
    tell = progress.update

    def write_too(share: float, chats: int) -> None:
        tell(share, chats)
        other.save(Chat("mine", f"mine{chats}"))

    progress.update = write_too  # type: ignore[method-assign]
    import_chats(file, other.path, progress)
    assert len(other.chats()) == 60


def test_sqlite_is_never_left_locked(store: ChatStore, tmp_path: Path) -> None:
    fill(store)
    file = exported(store, tmp_path / "chats.json")
    db = sqlite3.connect(store.path, isolation_level=None)
    load(file, store)
    db.execute("BEGIN IMMEDIATE")
    db.close()


def test_why_an_answer_failed_can_be_read_and_comes_back_as_it_was(
    store: ChatStore, other: ChatStore, tmp_path: Path
) -> None:
    fill(store, chats=1)
    (chat,) = store.chats()
    said = Sentence.of("no_such_file.model", path="m.gguf")
    for id, problem in (("a0", encode_sentence(said)), ("b0", "It was said in English by an earlier version.")):
        answer = next(message for message in store.messages(chat) if message.id == id)
        store.save(chat, [replace(answer, stop_reason="failed", problem=problem)])
    file = exported(store, tmp_path / "chats.json")
    entries = {entry["id"]: entry for entry in json.loads(file.read_bytes())["chats"][0]["messages"]}
    assert entries["a0"]["problem"] == "There is no file m.gguf. It may have been moved or renamed."
    assert entries["b0"]["problem"] == "It was said in English by an earlier version."
    assert "problem_code" not in entries["b0"]
    assert "problem_code" not in entries["q0"]
    load(file, other)
    assert everything(other) == everything(store)
