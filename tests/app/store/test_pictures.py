"""Pictures of chats in the store: private, deleted with their chat, counted, exported and imported."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest

from app.attachments.attachment import Attachment
from app.folders import Folders
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.store.exchange import MARKDOWN
from app.store.kept_files import kinds
from app.store.transfer import TransferProgress
from app.store.upkeep import run_upkeep
from common.failures import Failure
from engine.protocol.requests import Picture
from tests.app.store.moved_chats import counts, everything, exported, load
from tests.engine.runtime.vision_models import noise, picture_of


def stored(store: ChatStore, *pictures: Picture) -> Chat:
    chat = Chat("What is this?")
    files = tuple(
        Attachment(f"photo <{number}>.png", "picture", len(picture.data), "", picture=picture)
        for number, picture in enumerate(pictures)
    )
    question = ChatMessage(chat.id, None, "user", "What is this?", attachments=files)
    answer = ChatMessage(chat.id, question.id, "assistant", "A bird.", stop_reason="end")
    store.save(replace(chat, leaf_id=answer.id), [question, answer])
    return chat


def bytes_on_disk(store: ChatStore) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(store.path.parent.glob(f"{store.path.name}*")))


def test_a_picture_is_private_and_goes_with_its_chat(store: ChatStore) -> None:
    kept, secret = picture_of(noise(40, 30, seed=1)), picture_of(noise(60, 50, seed=2))
    stored(store, kept)
    chat = stored(store, secret)
    middle = secret.data[len(secret.data) // 2 :][:64]
    assert middle in bytes_on_disk(store)
    for file in store.path.parent.glob(f"{store.path.name}*"):
        assert file.stat().st_mode & 0o077 == 0
    store.delete(chat.id)
    store.delete_for_good(chat.id)
    run_upkeep(store.path)
    for at in range(0, len(secret.data) - 32, 1000):
        assert secret.data[at : at + 32] not in bytes_on_disk(store)
    assert kept.data[100:132] in bytes_on_disk(store)


def test_storage_counts_pictures(store: ChatStore, tmp_path: Path) -> None:
    stored(store, picture_of(noise(300, 300)))
    (chats,) = [kind for kind in kinds(Folders(store.path.parent, tmp_path), tmp_path) if kind.name == "chats"]
    assert sum(path.stat().st_size for path in chats.paths()) > 300 * 300 * 3  # noise cannot be compressed


def test_pictures_come_back_from_json(store: ChatStore, other: ChatStore, tmp_path: Path) -> None:
    pictures = picture_of(noise(40, 30)), picture_of(noise(20, 20, seed=3))
    stored(store, *pictures)
    file = exported(store, tmp_path / "chats.json")
    entry = json.loads(file.read_bytes())["chats"][0]["messages"][0]["attachments"][0]["picture"]
    assert base64.b64decode(entry["data"]) == pictures[0].data
    assert (entry["width"], entry["height"]) == (40, 30)
    assert counts(load(file, other)) == (1, 0, 0)
    assert everything(other) == everything(store)
    assert counts(load(file, other)) == (0, 0, 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"data": base64.b64encode(b"GIF89a").decode()},
        {"data": base64.b64encode(b"\x89PNG\r\n\x1a\n no picture").decode()},
        {"data": "no base64!"},
        {"data": "", "path": "/etc/hostname"},
        {"width": 0},
        {"height": 1 << 40},
        {"digest": "../x"},
    ],
)
def test_a_picture_that_is_not_ours_is_not_imported(
    store: ChatStore, other: ChatStore, tmp_path: Path, changes: dict[str, object]
) -> None:
    stored(store, picture_of(noise(40, 30)))
    file = exported(store, tmp_path / "chats.json")
    content = json.loads(file.read_bytes())
    content["chats"][0]["messages"][0]["attachments"][0]["picture"] |= changes
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(Failure, match="Entry 1"):
        load(file, other)


def test_markdown_has_its_pictures_beside_it(store: ChatStore, tmp_path: Path) -> None:
    pictures = picture_of(noise(40, 30)), picture_of(noise(20, 20, seed=3))
    chat = stored(store, *pictures)
    for folder in ("a chat files", "a chat files 2"):  # a folder that is there may be the user's own
        MARKDOWN.export(store.path, [chat.id], tmp_path / "a chat.md", TransferProgress())
        text = (tmp_path / "a chat.md").read_text(encoding="utf-8")
        assert rf"![photo \<0\>.png](<{folder}/1.png>)" in text
        assert [path.read_bytes() for path in sorted((tmp_path / folder).iterdir())] == [p.data for p in pictures]
