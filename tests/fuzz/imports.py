"""Fuzzes imported chats: our own JSON and other programs' files, with changed values, bytes and compression.

They are imported, or a sentence says why not and the store is unchanged.
"""

from __future__ import annotations

import functools
import io
import json
import shutil
import zipfile
from pathlib import Path
from random import Random
from typing import Any

from tests.app.store.readers import sample_files as samples
from tests.fuzz.harness import Broken, Limits, Recipe, make_folder
from tests.fuzz.values import apply_byte_edits, byte_edits, changed_json, possible_name
from tests.fuzz.worker import Worker

LIMITS = Limits(seconds=30, memory=1 << 30)
TIMES = {"created_at": 1.0, "updated_at": 2.0}
FILE = {"name": "notes.txt", "kind": "text", "size": 5, "text": "notes", "parts": [[0, 5]], "pages": [0], "sent": [0]}
TURN = {"id": "q0", "parent_id": None, "role": "user", "content": "q 🐦", "created_at": 2.0, "stop_reason": "end",
"problem": "",
        "detail": "", "model": "", "statistics": "", "sources": "", "thought_seconds": None,
        "attachments": [FILE]}  # fmt: skip
ANSWER = TURN | {"id": "a0", "parent_id": "q0", "role": "assistant", "content": "first", "model": "m",
"statistics": "{}",
                 "thought_seconds": 1.5, "attachments": []}  # fmt: skip
OURS = {
    "format": "chickadee-chats",
    "version": 1,
    "exported_at": "2026-01-01T00:00:00+00:00",
    "folders": [{"name": "Work", "id": "folder", "created_at": 1.0, "folded": False}],
    "chats": [
        TIMES | {"title": "chat", "id": "c0", "leaf_id": "a0", "forget_turns": 1,
        "options": '{"persona":"","values":{}}',
                 "chosen": '{"q0":"a0"}', "pinned_at": 5.0, "folder_id": "folder", "messages": [TURN, ANSWER]},
        TIMES | {"title": "another", "id": "c9", "messages": [TURN | {"id": "z"}]},
    ],
}  # fmt: skip
NODES = {
    "top": {"id": "top", "message": None, "parent": None, "children": ["u"]},
    "u": {"id": "u", "parent": "top", "children": ["a"], "message": {
        "id": "u", "author": {"role": "user"}, "create_time": 10.0, "recipient": "all", "metadata": {},
        "content": {"content_type": "multimodal_text", "parts": ["Hello", {"content_type": "image_asset_pointer"}]}}},
    "a": {"id": "a", "parent": "u", "children": [], "message": {
        "id": "a", "author": {"role": "assistant"}, "create_time": 11.0, "status": "finished_successfully",
        "recipient": "all",
        "metadata": {"model_slug": "gpt", "finish_details": {"type": "stop"}},
        "content": {"content_type": "text", "parts": ["Hi there"]}}},
}  # fmt: skip
THEIRS = [
    {
        "title": "t",
        "create_time": 9.0,
        "update_time": 12.0,
        "conversation_id": "k",
        "current_node": "a",
        "mapping": NODES,
    }
]
EXPORTS = (
    THEIRS, [samples.claude()], [samples.open_webui()], samples.llama_cpp(), [samples.llama_cpp()], samples.lm_studio(),
)  # fmt: skip
DEEP = (
    "[" * 90_000,
    '{"a":' * 90_000,
    '{"format":"chickadee-chats","version":1,"chats":[' + "[" * 5_000,
    '[{"mapping":' * 3_000,
)
LONG = (
    '"' + "a" * 3_000_000,
    "[" + "1," * 500_000 + "1]",
    '["' + "\\u0041" * 300_000 + '"]',
    "[" + "9" * 100_000 + "]",
    "[1e99999]",
)


def recipe(dice: Random) -> dict[str, Any]:
    value: Any = OURS if dice.random() < 0.4 else dice.choice(EXPORTS)
    for _ in range(dice.choice((0, 1, 1, 2, 5))):
        value = changed_json(dice, value)
    text = dice.choice((*DEEP, *LONG)) if dice.random() < 0.05 else None
    return {
        "value": None if text else value,
        "text": text,
        "edits": byte_edits(dice) if dice.random() < 0.3 else [],
        "zip": dice.choice(("", "", "conversations.json", "export/conversations.json", "chats.json", "../../x.json",
        "two", "bomb")),
        "zip_edits": byte_edits(dice) if dice.random() < 0.3 else [],
        "gpt4all": dice.randint(1, 12) if dice.random() < 0.15 else 0,
        "name": dice.choice(("chats.json", "export.zip", "x", "日本\udcff.json", "n" * 200)),
    }  # fmt: skip


def write_file(recipe: Recipe, folder: Path) -> Path:
    """Write the file to import and return its path."""
    edits: Any = recipe["edits"]
    raw = str(recipe["text"]).encode() if recipe["text"] else json.dumps(recipe["value"]).encode()
    if recipe.get("gpt4all"):
        raw = samples.gpt4all(int(str(recipe["gpt4all"])), tool=True)
    raw = apply_byte_edits(raw, edits)
    if recipe["zip"]:
        again: Any = recipe["zip_edits"]
        raw = apply_byte_edits(_bomb() if recipe["zip"] == "bomb" else _packed(raw, str(recipe["zip"])), again)
    path = folder / possible_name(recipe["name"])
    path.write_bytes(raw)
    return path


def _packed(raw: bytes, how: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        if how == "two":
            archive.writestr("a.json", raw)
            archive.writestr("b.json", raw)
        else:
            archive.writestr(how, raw)
    return buffer.getvalue()


@functools.cache
def _bomb() -> bytes:
    """Return a small archive that decompresses to 90 MiB."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("conversations.json", b"[" + b" " * (90 << 20) + b"]")
    return buffer.getvalue()


def run_case(recipe: Recipe, folder: Path) -> str:
    """Import into a store that holds a few chats. Runs in the worker. Raises Broken."""
    from app.store.chat_store import ChatStore
    from app.store.exchange import JsonExporter
    from app.store.formats import markdown_of
    from app.store.importing import Choice, import_chats
    from app.store.readers.places import Source
    from app.store.transfer import TransferProgress
    from common.failures import Failure

    path = folder / "library.sqlite3"
    store = ChatStore(path)
    before = _everything(store)
    file = write_file(recipe, make_folder(folder, "file"))
    try:
        import_chats([Choice(Source(file))], path, TransferProgress())
    except Failure as failure:
        if _everything(store) != before:
            raise Broken("a failed import has changed the store", str(failure)) from failure
        return str(failure)
    else:
        for chat in store.chats():
            markdown_of(chat, store.messages(chat))
        JsonExporter().export(path, None, folder / "again.json", TransferProgress())
        import_chats([Choice(Source(folder / "again.json"))], path, TransferProgress())
        return ""
    finally:
        store.close()
        shutil.rmtree(folder / "file")
        if len(before) > 200:
            for each in folder.glob("library.sqlite3*"):
                each.unlink()


def _everything(store: Any) -> list[Any]:
    return [(chat, store.messages(chat)) for chat in store.chats()]


class Imports:
    """Runner of the cases of imported chats."""

    name = "imports"
    recipe = staticmethod(recipe)

    def __init__(self, folder: Path) -> None:
        self._worker = Worker("imports", make_folder(folder, "store"), folder, LIMITS)

    @property
    def peak(self) -> int:
        return self._worker.peak

    def run(self, recipe: Recipe) -> str:
        return self._worker.run_case(recipe)

    def close(self) -> None:
        self._worker.close()
