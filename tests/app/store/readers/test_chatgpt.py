"""ChatGPT's export is understood, whatever is in its fields."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.store.readers.chatgpt import conversation_of
from app.store.readers.neutral import chat_of
from tests.app.store.any_json import JSON
from tests.app.store.moved_chats import counts, everything, load

FIELDS = ["title", "create_time", "update_time", "id", "current_node"]


def node(id: str, parent: str | None, role: str = "user", text: Any = "words", **more: Any) -> dict[str, Any]:
    content = text if isinstance(text, dict) else {"content_type": "text", "parts": [text]}
    message = {"id": id, "author": {"role": role}, "create_time": 100.0, "content": content} | more
    return {"id": id, "message": message, "parent": parent, "children": []}


def conversation(*nodes: dict[str, Any], current: str = "", **more: Any) -> dict[str, Any]:
    root: dict[str, Any] = {"id": "root", "message": None, "parent": None, "children": []}
    mapping = {each["id"]: each for each in (root, *nodes)}
    facts = {
        "title": "A talk",
        "create_time": 50.0,
        "update_time": 200.0,
        "conversation_id": "conv",
        "mapping": mapping,
    }
    return facts | {"current_node": current or nodes[-1]["id"]} | more


def read(raw: dict[str, Any]) -> tuple[Chat, list[ChatMessage]] | None:
    return chat_of(conversation_of(raw), 1.0)


def test_chatgpts_tree_becomes_ours() -> None:
    found = read(
        conversation(
            node("sys", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
            node("u1", "sys", text="Draw a bird"),
            node("call", "u1", "assistant", {"content_type": "code", "text": "draw()"}, recipient="python"),
            node("tool", "call", "tool", "done"),
            node("a1", "tool", "assistant", "Here it is", metadata={"model_slug": "gpt-x"}),
            node("u2", "root", text={"content_type": "multimodal_text", "parts": [
                {"content_type": "image_asset_pointer"}, "What is this?", None, 7]}, create_time=101.0),
            node("a2", "u2", "assistant", "A \ud83d bird", status="in_progress"),
            current="tool",
        )
    )  # fmt: skip
    assert found is not None
    chat, messages = found
    u1, a1, u2, a2 = messages
    assert [(m.role, m.content) for m in messages] == [
        ("user", "Draw a bird"), ("assistant", "Here it is"),
        ("user", "[image]\n\nWhat is this?"), ("assistant", "A ? bird"),
    ]  # fmt: skip
    assert (u1.parent_id, a1.parent_id, u2.parent_id, a2.parent_id) == (None, u1.id, None, u2.id)
    assert (a1.model, a1.stop_reason, a2.stop_reason) == ("gpt-x", "end", "cancelled")
    assert (chat.title, chat.created_at, chat.updated_at, chat.leaf_id) == ("A talk", 50.0, 200.0, u1.id)


@pytest.mark.parametrize(
    "raw",
    [
        {"mapping": {}},
        {"mapping": {"a": None, "b": 7}},
        conversation(node("a", "a")),
        conversation(node("a", "b"), node("b", "a")),
        conversation(node("a", "root", "tool")),
        conversation(node("a", "root", text={"content_type": "text", "parts": "no list"})),
        conversation({"id": "a", "message": {"author": None, "content": None}, "parent": "root"}),
    ],
)
def test_where_nobody_says_anything_there_is_no_chat(raw: dict[str, Any]) -> None:
    assert read(raw) is None


@given(st.dictionaries(st.sampled_from(FIELDS), JSON), JSON, JSON)
def test_fields_of_any_kind_are_understood_or_passed_over(facts: dict[str, Any], author: Any, content: Any) -> None:
    message = {"author": author, "content": content, "create_time": content, "metadata": author, "status": author}
    good = node("u", "odd", text="hello")
    odd = {"message": message, "parent": author, "children": content}
    found = read({"mapping": {"odd": odd, "u": good}} | facts)
    assert found is not None
    assert "hello" in [each.content for each in found[1]]
    assert found[0].title


def test_chatgpts_export_with_its_zip_file(store: ChatStore, tmp_path: Path) -> None:
    talks = [conversation(node("u", "root"), node("a", "u", "assistant"), conversation_id=str(n)) for n in range(5)]
    plain, packed = tmp_path / "conversations.json", tmp_path / "export.zip"
    plain.write_text(json.dumps(talks))
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", "{}")
        archive.writestr("chat.html", "<html>")
        archive.writestr("folder/conversations.json", json.dumps(talks))
    assert counts(load(packed, store)) == (5, 0, 0)
    before = everything(store)
    assert counts(load(plain, store)) == (0, 0, 5)
    assert everything(store) == before


def test_a_large_export_is_split(store: ChatStore, tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("export_manifest.json", "{}")
        for part in range(2):
            talk = conversation(node("u", "root"), conversation_id=str(part))
            archive.writestr(f"conversations-00{part}.json", json.dumps([talk]))
    assert counts(load(path, store)) == (2, 0, 0)
