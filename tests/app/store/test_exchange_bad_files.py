"""A bad file is explained to the user and changes nothing."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from app.store.chat_store import ChatStore
from app.store.formats import markdown_of
from common.failures import Failure
from tests.app.store.moved_chats import counts, everything, fill, load


def nothing(path: Path) -> None:
    path.write_bytes(b"")


def text(content: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_text(content, encoding="utf-8")

    return make


def bad_zip(path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[" + ",".join(["1"] * 50_000) + "]")
    data = bytearray(buffer.getvalue())
    data[60:70] = bytes(10)
    path.write_bytes(data)


def zip_without(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.json", "[]")
        archive.writestr("b.json", "[]")


TIMES = '"created_at": 1, "updated_at": 2'
GOOD = '{"id": "new", "title": "t", "messages": [], ' + TIMES + "}"
GOD = '{"id": "m", "parent_id": null, "role": "god", "content": ""}'
HEAD = '{"format": "chickadee-chats", "version": 1, "chats": ['


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (nothing, "damaged at byte 0"),
        (text("no json"), "damaged at byte 0"),
        (text("{}"), "no chats that Chickadee can read"),
        (text('{"a": [1, 2], "mapping": {}}'), "no chats that Chickadee can read"),
        (text('[{"mapping": 7}]'), "Entry 1 in f.json cannot be read"),
        (text("[7]"), "Entry 1"),
        (text(HEAD + GOOD + ', {"id": 7}]}'), "Entry 2"),
        (text(HEAD + GOOD + ', {"title": "no id"}]}'), "Entry 2"),
        (text(HEAD + GOOD + ', {"id": "x", ' + TIMES + ', "messages": [' + GOD + "]}]}"), "Entry 2"),
        (text(HEAD + GOOD + ', {"id": "x", "created_at": "yesterday", "updated_at": 1}]}'), "Entry 2"),
        (text(HEAD + GOOD + ', {"id": "x"}]}'), "Entry 2"),
        (text(HEAD + GOOD), "damaged at byte"),
        (text(HEAD + GOOD + "]} x"), "damaged at byte"),
        (text(HEAD + GOOD + ", " + "[" * 5000), "damaged at byte"),
        (text(HEAD.replace("1", "2") + GOOD + "]}"), "newer version of Chickadee"),
        (bad_zip, "damaged"),
        (zip_without, "no chats that Chickadee can read"),
        (Path.mkdir, "cannot be read"),
        (lambda path: None, "cannot be read"),
    ],
)  # fmt: skip
def test_a_bad_file_is_told_and_changes_nothing(
    store: ChatStore, tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    fill(store)
    before = everything(store)
    path = tmp_path / "f.json"
    make(path)
    with pytest.raises(Failure) as caught:
        load(path, store)
    assert words in str(caught.value)
    assert everything(store) == before
    assert store._db.execute("SELECT count(*) FROM chats").fetchone() == (3,)


def test_strange_values_are_taken_in_a_usable_form(store: ChatStore, tmp_path: Path) -> None:
    turn = {"id": "m", "parent_id": "nowhere", "role": "user", "content": "a\ud83d\0", "created_at": 1e300}
    chat = {"id": "x", "title": " \n ", "created_at": float("nan"), "updated_at": -5, "leaf_id": "gone",
            "folder_id": "no such folder", "forget_turns": -3, "messages": [turn], "unknown": [1]}  # fmt: skip
    path = tmp_path / "f.json"
    path.write_text(json.dumps({"format": "chickadee-chats", "version": 1, "chats": [chat]}))
    assert counts(load(path, store)) == (1, 0, 0)
    (found,) = store.chats()
    assert (found.title, found.updated_at, found.folder_id, found.forget_turns) == ("?", 0.0, None, 0)
    assert store.messages(found)[0].content == "a?\0"
    assert "2999" in markdown_of(found, store.messages(found))[0]
