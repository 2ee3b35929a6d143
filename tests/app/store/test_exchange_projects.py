"""Export and import of projects: one file has all of it, and nothing of the computer that it comes from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from app.attachments.attachment import Attachment
from app.attachments.stamp import Stamp
from app.store.chat import Chat, ChatMessage, Folder
from app.store.chat_store import ChatStore
from app.store.exchange import JsonExporter
from app.store.project_store import MOST_FILES, Fact, ProjectFile, ProjectStore
from app.store.transfer import TransferProgress
from common.failures import Failure
from tests.app.store.moved_chats import load

OPTIONS = '{"persona":"","values":{"answer.system_prompt":"Speak of boats."}}'
BOATS = Folder("Boats", "boats", 1.0, False, OPTIONS, "one\ntwo", "Qwen", "/home/me/qwen.gguf")


@pytest.fixture
def filled(store: ChatStore) -> ChatStore:
    """Return a store with a project of two files and one chat, and another chat."""
    store.save_folder(BOATS)
    files = [Attachment(name, "text", 6, f"{name}!", path="/home/me/secret") for name in ("a.txt", "b.txt")]
    projects = ProjectStore(store)
    projects.save_files([ProjectFile("boats", each, f"/home/me/{each.name}", Stamp(1, 2, "d")) for each in files])
    projects.save_fact(Fact("Sails at night.", "boats"))
    for id, folder in (("inside", "boats"), ("outside", None)):
        store.save(Chat(id, id, folder_id=folder), [ChatMessage(id, None, "user", "Hello", stop_reason="end")])
    return store


def export(store: ChatStore, path: Path, ids: list[str] | None, project: str = "") -> Path:
    JsonExporter(project).export(store.path, ids, path, TransferProgress())
    return path


def changed(path: Path, **values: Any) -> Path:
    """Return a copy of an exported file in which the only folder has other values."""
    whole = json.loads(path.read_bytes())
    whole["folders"][0] |= values
    copy = path.with_name("changed.json")
    copy.write_text(json.dumps(whole))
    return copy


def test_a_project_comes_back_with_its_files_and_chats(filled: ChatStore, other: ChatStore, tmp_path: Path) -> None:
    file = export(filled, tmp_path / "boats.json", ["inside"], "boats")
    imported = load(file, other)
    assert (imported.added, imported.folders) == (("inside",), ("boats",))
    assert other.folders() == [Folder("Boats", "boats", 1.0, False, OPTIONS, "", "Qwen")]
    files = ProjectStore(other).files("boats")
    assert [(each.attachment.name, each.attachment.text) for each in files] == [
        ("a.txt", "a.txt!"),
        ("b.txt", "b.txt!"),
    ]
    assert [chat.folder_id for chat in other.chats()] == ["boats"]
    load(file, other)
    assert len(ProjectStore(other).files("boats")) == 2


def test_the_file_names_nothing_of_the_computer_and_no_fact(filled: ChatStore, tmp_path: Path) -> None:
    for ids, project in ((["inside"], "boats"), (None, "")):
        text = export(filled, tmp_path / "boats.json", ids, project).read_text()
        assert "a.txt!" in text
        assert "/home/me" not in text
        assert "Sails" not in text
        assert "one\\ntwo" not in text


def test_a_single_chat_takes_nothing_of_its_project_along(filled: ChatStore, tmp_path: Path) -> None:
    text = export(filled, tmp_path / "chat.json", ["inside"]).read_text()
    assert '"Boats"' in text
    assert "a.txt" not in text
    assert "Speak of boats" not in text


def test_a_strangers_file_has_no_paths_here(filled: ChatStore, other: ChatStore, tmp_path: Path) -> None:
    file = export(filled, tmp_path / "boats.json", [], "boats")
    entry = json.loads(file.read_bytes())["folders"][0]
    files = [each | {"path": "/etc/passwd", "name": "a\u202etxt.exe"} for each in entry["files"]]
    load(changed(file, files=files, model_path="/etc/passwd", collections="two"), other)
    (folder,) = other.folders()
    assert (folder.model_path, folder.collections) == ("", "")
    for each in ProjectStore(other).files("boats"):
        assert (each.path, each.attachment.path, each.attachment.name) == ("", "", "atxt.exe")


def test_a_project_with_too_much_is_refused_whole(filled: ChatStore, other: ChatStore, tmp_path: Path) -> None:
    file = export(filled, tmp_path / "boats.json", ["inside"], "boats")
    entry = json.loads(file.read_bytes())["folders"][0]
    for files in (entry["files"] * MOST_FILES, [entry["files"][0] | {"text": ""}], "files", [3]):
        with pytest.raises(Failure):
            load(changed(file, files=files), other)
        assert (other.folders(), other.chats()) == ([], [])


def test_a_folder_that_is_here_stays_as_it_is(filled: ChatStore, tmp_path: Path) -> None:
    file = export(filled, tmp_path / "boats.json", ["inside"], "boats")
    load(changed(file, name="Ships", files=[]), filled)
    assert filled.folders() == [BOATS]
    assert len(ProjectStore(filled).files("boats")) == 2


def test_a_deleted_project_is_imported_anew(filled: ChatStore, tmp_path: Path) -> None:
    file = export(filled, tmp_path / "boats.json", ["inside"], "boats")
    filled.delete_folder("boats")
    load(changed(file, name="Ships"), filled)
    assert [folder.name for folder in filled.folders()] == ["Ships"]
    assert [each.path for each in ProjectStore(filled).files("boats")] == ["", ""]
