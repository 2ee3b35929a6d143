"""Export and import: nothing is lost or duplicated, even while the window writes."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from app.folders import users_umask
from app.store import merging
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.store.exchange import JsonExporter
from app.store.formats import decode_chat
from app.store.importing import Choice, import_chats, undo_import
from app.store.readers.places import Source
from app.store.recovery import open_store
from app.store.transfer import Stopped, TransferProgress
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
    chat, (_, answer, *_) = everything(store)["c0"]
    changed = replace(answer, content="changed here")
    store.save(replace(chat, title="newer", updated_at=20.0, leaf_id="mine", model="m"), [mine, changed])
    store.save(replace(everything(store)["c1"][0], updated_at=20.0, model="another"))
    theirs = ChatMessage("c0", "b0", "user", "only there", "theirs", 15.0)
    other.save(replace(everything(other)["c0"][0], title="older", updated_at=15.0, leaf_id="theirs"), [theirs])
    other.change_chats(["c0", "c1"], {"model": "m", "model_path": "/m.gguf"})
    new = exported(store, tmp_path / "new.json")
    imported = load(new, other)
    assert (counts(imported), set(imported.touched)) == ((0, 2, 1), {"c0", "c1"})
    chat, messages = everything(other)["c0"]
    assert (chat.title, chat.leaf_id, chat.model_path) == ("newer", "mine", "/m.gguf")
    assert everything(other)["c1"][0].model_path == ""  # of another model than the chat's
    assert {message.id for message in messages} == {"q0", "a0", "b0", "mine", "theirs"}
    assert counts(load(old, other)) == (0, 0, 3)
    chat, messages = everything(other)["c0"]
    assert chat.title == "newer"
    assert changed in messages


def test_a_chat_that_is_deleted_permanently_during_its_import_comes_back(store: ChatStore) -> None:
    fill(store, 1)
    before = everything(store)["c0"]
    with merging.Merging(store) as importing:
        importing.add(*before)
        store.delete("c0")
        store.delete_for_good("c0")
        imported = importing.finish()
    assert (counts(imported), imported.touched) == ((0, 1, 0), ("c0",))
    assert everything(store)["c0"] == before


def test_a_deleted_chat_comes_back(store: ChatStore, tmp_path: Path) -> None:
    fill(store)
    file = exported(store, tmp_path / "chats.json")
    store.delete("c0", "c1")
    store.delete_for_good("c1")
    run_upkeep(store.path)
    imported = load(file, store)
    assert (counts(imported), imported.touched) == ((1, 1, 1), ("c1", "c0"))
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
        import_chats([Choice(Source(file))], other.path, progress)
    assert [path.name for path in other.path.parent.iterdir() if "import" in path.name] == []
    assert other._db.execute("SELECT count(*) FROM chats").fetchone() == (0,)
    other.save(Chat("half", "half"))
    other._db.execute("UPDATE chats SET deleted_at = -1")
    assert (other.chats(), other.deleted_chats()) == ([], [])
    ChatStore(other.path).close()
    run_upkeep(other.path)
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
    import_chats([Choice(Source(file))], other.path, progress)
    assert len(other.chats()) == 60


def changed_later(store: ChatStore, file: Path) -> Path:
    """Change all chats of an exported file, as another computer may have done, and add one and a folder."""
    content = json.loads(file.read_bytes())
    for chat in content["chats"]:
        chat |= {"title": chat["title"] + " of another computer", "updated_at": 99.0, "leaf_id": "late" + chat["id"]}
        late = {"id": chat["leaf_id"], "parent_id": chat["messages"][-1]["id"], "role": "user", "content": "late"}
        chat["messages"].append(late)
    content["folders"].append({"id": "new folder", "name": "New", "created_at": 1.0})
    turns = [{"id": "n1", "parent_id": None, "role": "user", "content": "new"}]
    new = {"id": "new", "title": "new", "folder_id": "new folder", "created_at": 1.0, "updated_at": 1.0}
    content["chats"].insert(2, new | {"messages": turns})
    file.write_text(json.dumps(content))
    return file


def test_a_merge_leaves_room_for_the_window_between_any_two_chats(
    store: ChatStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a user sends during the merge is stored, also in a chat that is being merged."""
    fill(store, 20)
    file = changed_later(store, exported(store, tmp_path / "chats.json"))
    store._db.execute("PRAGMA busy_timeout = 0")  # a write that would have to wait fails
    sent: list[str] = []

    def send() -> None:
        id = f"sent{len(sent)}"
        chat, _ = store.chat_row("c7") or pytest.fail("the chat is gone")
        store.save(replace(chat, leaf_id=id, updated_at=100.0), [ChatMessage("c7", "b7", "user", "sent", id)])
        sent.append(id)

    monkeypatch.setattr(merging, "pause", send)
    assert counts(load(file, store)) == (1, 20, 0)
    assert len(sent) > 20
    monkeypatch.undo()
    chat, messages = everything(store)["c7"]
    assert (chat.title, chat.leaf_id) == ("chat 7", sent[-1])
    assert {*sent, "latec7"} <= {message.id for message in messages}
    assert everything(store)["c8"][0].leaf_id == "latec8"


def test_many_messages_of_one_chat_are_written_in_short_transactions(
    store: ChatStore, other: ChatStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = [ChatMessage("c", None, "user", "word " * 400, f"m{number}") for number in range(100)]
    store.save(Chat("long", "c"), messages)
    pauses: list[None] = []
    monkeypatch.setattr(merging, "pause", lambda: pauses.append(None))
    file = exported(store, tmp_path / "long.json")
    assert counts(load(file, other)) == (1, 0, 0)
    assert len(pauses) >= 10
    other.with_connection(lambda db: db.execute("DELETE FROM messages WHERE id <> 'm0'"))
    pauses.clear()
    assert counts(load(file, other)) == (0, 1, 0)
    assert len(pauses) >= 9
    assert len(everything(other)["c"][1]) == 100


@pytest.mark.parametrize("interrupted_at", [0, 1, 5, 30])
def test_a_merge_that_is_interrupted_is_completed_by_the_next_start(
    store: ChatStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interrupted_at: int
) -> None:
    fill(store, 10)
    file = changed_later(store, exported(store, tmp_path / "chats.json"))
    steps: list[None] = []
    apply = merging._apply

    def begin(target: ChatStore) -> tuple[list[merging.Before], int]:
        def step() -> None:
            steps.append(None)
            if len(steps) > interrupted_at:
                raise KeyboardInterrupt

        monkeypatch.setattr(merging, "pause", step)
        return apply(target)

    monkeypatch.setattr(merging, "_apply", begin)
    with contextlib.suppress(KeyboardInterrupt):
        load(file, store)
    monkeypatch.undo()
    again, recovery = open_store(store.path)
    assert recovery is None
    found = everything(again)
    assert set(found) == {"new", *(f"c{number}" for number in range(10))}
    assert all(chat.leaf_id == f"late{id}" for id, (chat, _) in found.items() if id != "new")
    assert found["new"][0].folder_id == "new folder"
    assert [path for path in tmp_path.iterdir() if "import" in path.name] == []
    assert counts(load(file, again)) == (0, 0, 11)
    again.close()


def test_what_was_deleted_for_good_does_not_come_back_with_an_import(store: ChatStore, tmp_path: Path) -> None:
    """The chat comes back as in the file; its later messages, whose text is still in the store, do not."""
    fill(store, 2)
    file = exported(store, tmp_path / "chats.json")
    chat, _ = store.chat_row("c0") or pytest.fail("the chat is gone")
    store.save(replace(chat, leaf_id="secret"), [ChatMessage("c0", "b0", "user", "secret", "secret")])
    store.delete("c0")
    store.delete_for_good("c0")
    assert counts(load(file, store)) == (1, 0, 1)
    run_upkeep(store.path)
    assert [message.id for message in everything(store)["c0"][1]] == ["q0", "a0", "b0"]


def test_sqlite_is_never_left_locked(store: ChatStore, tmp_path: Path) -> None:
    fill(store)
    file = exported(store, tmp_path / "chats.json")
    db = sqlite3.connect(store.path, isolation_level=None)
    load(file, store)
    db.execute("BEGIN IMMEDIATE")
    assert db.in_transaction
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


def test_a_chat_from_elsewhere_names_no_file_that_a_click_opens() -> None:
    file = {
        "name": "a.pdf",
        "kind": "text",
        "size": 3,
        "text": "abc",
        "parts": [[0, 3]],
        "path": "/home/me/evil.desktop",
    }
    turn = {
        "id": "q",
        "parent_id": None,
        "role": "user",
        "content": "hi",
        "created_at": 1.0,
        "attachments": [file | {"pages": []}],
    }
    _, [message] = decode_chat({"id": "c", "title": "t", "created_at": 1.0, "updated_at": 2.0, "messages": [turn]}, 3.0)
    assert [each.path for each in message.attachments] == [""]


def test_undoing_an_import_keeps_what_the_user_did_since(store: ChatStore, tmp_path: Path) -> None:
    chat = Chat("Birds", id="birds", updated_at=10.0)
    question = ChatMessage("birds", None, "user", "Which?", "q", 10.0)
    store.save(chat, [question])
    store.save(replace(chat, id="trees"), [replace(question, chat_id="trees", id="t")])
    exported_file = exported(store, tmp_path / "chats.json")
    text = json.loads(exported_file.read_text())
    for entry in text["chats"]:
        entry |= {"updated_at": 20.0, "title": "From elsewhere"}
        entry["messages"].append(entry["messages"][0] | {"id": f"new {entry['id']}", "content": "new"})
    exported_file.write_text(json.dumps(text))
    imported = import_chats([Choice(Source(exported_file))], store.path, TransferProgress())
    assert set(imported.touched) == {"birds", "trees"}
    row = store.chat_row("birds")
    assert row
    store.change_chats(["birds"], {"title": "My name", "pinned_at": 30.0})
    store.delete("trees")
    undo_import(imported, store.path)
    row, deleted = store.chat_row("birds"), store.chat_row("trees")
    assert row
    assert deleted
    assert (row[0].title, row[0].pinned_at, row[0].updated_at) == ("My name", 30.0, 10.0)
    assert {each.id for each in store.messages(row[0]) if each.deleted_at is None} == {"q"}
    assert deleted[1] is not None
    assert deleted[0].title == "Birds"
