"""The same chat comes from every program, from where that program keeps it or from its export."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from app.dialogs.import_dialog import hint_words
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.store.importing import Choice, import_chats, preview, undo_import
from app.store.readers import sources
from app.store.readers.neutral import PROGRAMS
from app.store.readers.places import Source, candidates, found_sources
from app.store.transfer import TransferProgress
from app.store.tree import Tree
from common.failures import Failure
from tests.app.store.moved_chats import counts, everything, load
from tests.app.store.readers import sample_files as samples

WITH_TREE = ("lm-studio", "open-webui", "llama.cpp", "claude")
ENDLESS = (
    "CREATE VIEW chat AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    " SELECT i AS id, '' AS title, '' AS chat, 0 AS created_at, 0 AS updated_at FROM n"
)
THINKING = f"<think>\n{samples.THOUGHT}\n</think>\n\n{samples.ANSWER}"


def check(program: str, chat: Chat, messages: list[ChatMessage]) -> None:
    """Check that this is the samples' chat."""
    assert chat.title == "Birds 🐦"
    assert abs(chat.created_at - samples.SECONDS) < 60 or program == "lm-studio"
    branch = Tree(messages, chat.leaf_id, {}).branch()
    question, answer, follow_up = branch
    assert [each.role for each in branch] == ["user", "assistant", "user"]
    assert question.content.endswith(samples.QUESTION)
    assert ("notes.txt" in question.content) == (program == "gpt4all")  # which does not store the text
    files = [(file.name, file.text) for file in question.attachments]
    assert files == ([("notes.txt", "my notes")] if program in ("llama.cpp", "claude") else [])
    assert answer.content == THINKING
    assert follow_up.content.endswith(samples.FOLLOW_UP)
    assert bool(answer.model) == (program != "claude")
    assert len(messages) == (4 if program in WITH_TREE else 3)
    if program in WITH_TREE:
        (other,) = [each for each in messages if each not in branch]
        assert (other.content, other.parent_id) == (samples.OTHER, question.id)


def test_chats_are_found_where_programs_keep_them(home: Path, store: ChatStore) -> None:
    samples.write_all(home)
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    found = found_sources()
    assert [source.program for source in found] == ["gpt4all", "jan", "lm-studio", "open-webui", "ollama"]
    for source in found:
        shown = preview(source, TransferProgress())
        assert (shown.program, len(shown.chats), shown.problems) == (source.program, 1, ())
        imported = import_chats([Choice(source)], store.path, TransferProgress())
        (chat_id,) = imported.added
        assert shown.chats[0].id == chat_id
        check(str(source.program), *everything(store)[chat_id])
        assert shown.chats[0].messages == len(everything(store)[chat_id][1])
    again = import_chats([Choice(source) for source in found], store.path, TransferProgress())
    assert counts(again) == (0, 0, 5)
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_chats_come_from_exports(store: ChatStore, tmp_path: Path) -> None:
    files = {
        "claude": samples.write_zip(tmp_path / "claude.zip", [samples.claude()]),
        "llama.cpp": samples.write_json(tmp_path / "one.json", samples.llama_cpp()),
        "open-webui": samples.write_json(tmp_path / "export.json", [samples.open_webui()]),
        "lm-studio": samples.write_json(tmp_path / "1.conversation.json", samples.lm_studio()),
        "ollama": samples.write_ollama(tmp_path / "db.sqlite"),
        "gpt4all": tmp_path / "x.chat",
    }
    files["gpt4all"].write_bytes(samples.gpt4all())
    for program, path in files.items():
        assert preview(Source(path), TransferProgress()).program == program
        (chat_id,) = load(path, store).added
        check(program, *everything(store)[chat_id])
    several = samples.write_json(tmp_path / "several.json", [samples.llama_cpp()])
    assert counts(load(several, store)) == (0, 0, 1)
    database = samples.write_open_webui(tmp_path / "webui.db")
    assert counts(load(database, store)) == (0, 0, 1)


def test_a_running_programs_last_changes_come_too(store: ChatStore, tmp_path: Path) -> None:
    path = samples.write_ollama(tmp_path / "db.sqlite")
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    with db:
        db.execute("INSERT INTO chats (id, title, created_at) VALUES ('new', 'New', '2025-06-15 17:00:00')")
        db.execute("INSERT INTO messages (chat_id, role, content) VALUES ('new', 'user', 'Now')")
    files = sorted(path.parent.iterdir())
    assert counts(load(path, store)) == (2, 0, 0)
    assert sorted(path.parent.iterdir()) == files
    db.close()


def test_only_checked_chats_come_and_undo_gives_changed_ones_back(store: ChatStore, tmp_path: Path) -> None:
    entries = [samples.open_webui() | {"id": str(number)} for number in range(3)]
    source = Source(samples.write_json(tmp_path / "export.json", entries))
    first = preview(source, TransferProgress()).chats[0].id
    imported = import_chats([Choice(source, frozenset([first]))], store.path, TransferProgress())
    assert (imported.added, list(everything(store))) == ((first,), [first])
    before = everything(store)
    longer = samples.open_webui() | {"id": "0", "title": "Longer", "updated_at": samples.SECONDS + 99}
    longer["chat"]["history"]["messages"]["a9"] = {
        "id": "a9", "parentId": "u2", "role": "assistant", "content": "Seeds.", "timestamp": samples.SECONDS + 50,
    }  # fmt: skip
    longer["chat"]["history"]["messages"]["u2"]["content"] = "In spring?"
    longer["chat"]["history"]["currentId"] = "a9"
    changed = load(samples.write_json(tmp_path / "later.json", [longer]), store)
    assert changed.touched == (first,)
    chat, messages = everything(store)[first]
    assert (chat.title, len(messages), messages[-1].content) == ("Longer", 5, "Seeds.")
    assert "In spring?" in [each.content for each in messages]
    undo_import(changed, store.path)
    after = everything(store)
    assert after[first][0] == before[first][0]
    assert [each for each in after[first][1] if each.deleted_at is None] == before[first][1]


def test_one_bad_file_does_not_keep_the_others_out(home: Path, store: ChatStore) -> None:
    samples.write_all(home)
    folder = samples.gpt4all_folder(home)
    (folder / "gpt4all-bad.chat").write_bytes(samples.gpt4all()[:200])
    (folder / "gpt4all-new.chat").write_bytes(samples.gpt4all(13))
    (home / ".lmstudio/conversations/bad.conversation.json").write_text("[" * 5000)
    (home / ".lmstudio/conversations/list.conversation.json").write_text("[]")
    webui = home / ".open-webui/webui.db"
    webui.unlink()
    samples.write_open_webui(webui, [samples.open_webui(), samples.open_webui() | {"id": "x", "chat": [1]}])
    ollama = samples.ollama_database(home)
    ollama.write_bytes(ollama.read_bytes()[:5000])
    problems = []
    for source in found_sources():
        shown = preview(source, TransferProgress())
        problems += [str(problem) for problem in shown.problems]
        assert len(shown.chats) == (source.program != "ollama")
    assert problems == [
        "gpt4all-bad.chat is damaged, or of a version of GPT4All that Chickadee does not know. It was skipped.",
        "gpt4all-new.chat was written by a newer version of GPT4All than Chickadee knows. It was skipped. Update "
        "Chickadee.",
        "bad.conversation.json is damaged, or of a version of LM Studio that Chickadee does not know. It was skipped.",
        "list.conversation.json is damaged, or of a version of LM Studio that Chickadee does not know. It was skipped.",
        "Chat 2 in webui.db is damaged and was skipped.",
        "db.sqlite is damaged, or Ollama is writing in it. Close Ollama and try again.",
    ]
    ollama.unlink()
    assert counts(import_chats(map(Choice, found_sources()), store.path, TransferProgress())) == (4, 0, 0)


@pytest.mark.parametrize("make", ["view", "other", "huge"])
def test_a_hostile_database_is_refused(
    store: ChatStore, tmp_path: Path, make: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.db"
    if make == "huge":
        samples.write_ollama(path)
        monkeypatch.setattr(sources, "LONGEST", 10)
        monkeypatch.setattr("app.store.readers.database.LONGEST", 10)
    else:
        db = sqlite3.connect(path)
        db.execute(ENDLESS if make == "view" else "CREATE TABLE birds (name)")
        db.commit()
        db.close()
    with pytest.raises(Failure):
        load(path, store)
    assert everything(store) == {}


def test_a_chat_file_that_is_too_large_is_left_out(
    home: Path, store: ChatStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples.write_all(home)
    monkeypatch.setattr(sources, "LONGEST", 10)
    source = next(each for each in found_sources() if each.program == "jan")
    (problem,) = preview(source, TransferProgress()).problems
    assert str(problem).startswith("thread.json is too large")


def test_a_thread_of_jan_can_be_chosen(home: Path, store: ChatStore) -> None:
    samples.write_all(home)
    (path,) = home.rglob("thread.json")
    assert counts(load(path, store)) == (1, 0, 0)
    path.write_text(json.dumps([]))
    with pytest.raises(Failure, match="version of Jan"):
        load(path, store)


def test_every_program_that_keeps_chats_has_a_place_and_the_hint_names_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATA_DIR", str(home))
    samples.write_all(home)
    assert {program for program, _path in candidates()} == {name for name, facts in PROGRAMS.items() if facts.kept}
    assert hint_words() == (
        "Chickadee looks for chats of GPT4All, Jan, LM Studio, Open WebUI and Ollama. For an export of ChatGPT, "
        "Claude, Open WebUI or llama.cpp, choose the file. The originals stay unchanged."
    )
