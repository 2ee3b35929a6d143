"""What the store keeps of projects: files as they were read, facts, and folders that are deleted and come back."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.attachments.attachment import Attachment
from app.attachments.stamp import Stamp
from app.store.chat import Chat, Folder
from app.store.chat_store import ChatStore
from app.store.project_store import Fact, ProjectFile, ProjectStore

WORK = Folder("Work", "work", 1.0, options='{"persona":""}', collections="one\ntwo", model="Qwen", model_path="/q.gguf")


def file(name: str, text: str = "Words.") -> ProjectFile:
    return ProjectFile("work", Attachment(name, "text", len(text), text), f"/somewhere/{name}", Stamp(5, 6, "digest"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "library.sqlite3"


@pytest.fixture
def store(path):
    store = ChatStore(path)
    store.save_folder(WORK)
    yield store
    store.close()


def test_files_and_facts_are_there_after_a_restart(store, path):
    files, fact, other = [file("a.txt"), file("b.txt")], Fact("Likes tea."), Fact("Builds a boat.", "work")
    projects = ProjectStore(store)
    projects.save_files(files)
    projects.save_fact(fact)
    projects.save_fact(other)
    again = ChatStore(path)
    assert again.folders() == [WORK]
    assert ProjectStore(again).files("work") == files
    assert ProjectStore(again).facts() == [fact, other]
    again.close()


def test_a_file_that_is_read_again_keeps_its_place(store):
    projects, files = ProjectStore(store), [file("a.txt"), file("b.txt")]
    projects.save_files(files)
    newer = replace(files[0], attachment=replace(files[0].attachment, text="Other words."), stamp=Stamp(7, 8, "new"))
    projects.save_files([newer])
    assert projects.files("work") == [newer, files[1]]
    projects.delete_files([newer.id])
    assert projects.files("work") == [files[1]]


def test_a_deleted_folder_comes_back_with_its_files_until_the_next_start(store):
    projects = ProjectStore(store)
    projects.save_files([file("a.txt")])
    projects.save_fact(Fact("Builds a boat.", "work"))
    store.delete_folder("work")
    assert store.folders() == []
    assert projects.facts() == []
    store.save_folder(WORK)
    assert [each.attachment.name for each in projects.files("work")] == ["a.txt"]
    assert len(projects.facts()) == 1
    store.delete_folder("work")
    store.forget_folders()
    store.save_folder(WORK)
    assert projects.files("work") == []
    assert projects.facts() == []


def test_chats_stay_when_their_folder_is_forgotten(store):
    store.save(Chat("One", "one", folder_id="work"))
    store.delete_folder("work")
    store.forget_folders()
    assert [chat.folder_id for chat in store.chats()] == [None]


def test_a_forgotten_fact_is_in_no_page_of_the_file(store, path):
    projects, fact = ProjectStore(store), Fact("Keeps seventeen hedgehogs.")
    projects.save_fact(fact)
    projects.save_fact(replace(fact, text="Keeps eighteen hedgehogs."))
    projects.delete_fact(fact.id)
    store.with_connection(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    assert b"hedgehogs" not in path.read_bytes()
    assert projects.facts() == []


def test_a_damaged_file_is_left_out(store):
    projects = ProjectStore(store)
    projects.save_files([file("a.txt"), file("b.txt")])
    with store.writing() as db:
        db.execute("UPDATE project_files SET attachment = '{' WHERE number = 1")
    assert [each.attachment.name for each in projects.files("work")] == ["b.txt"]
