"""Export and import: nothing is lost or doubled, ChatGPT's export is understood, a bad file changes nothing."""

from __future__ import annotations

import io
import json
import random
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.attachments.attachment import Attachment
from app.chats.chat import Chat, ChatMessage, Folder
from app.library import json_stream
from app.library.chat_markdown import file_name, markdown_of
from app.library.chatgpt import chat_of
from app.library.exporting import export_json, export_markdown
from app.library.importing import import_chats
from app.library.json_stream import JsonStream, NotJson
from app.library.library import Library
from app.library.merging import Imported
from app.library.progress import Progress, Stopped
from app.library.upkeep import keep_up
from models.failures import Failure

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)

FIELDS = ["title", "create_time", "update_time", "id", "current_node"]


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    library = Library(tmp_path / "library.sqlite3")
    yield library
    library.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Library]:
    (tmp_path / "other").mkdir()
    library = Library(tmp_path / "other" / "library.sqlite3")
    yield library
    library.close()


def fill(library: Library, chats: int = 3) -> None:
    library.save_folder(Folder("Work", id="folder"))
    for number in range(chats):
        chat = Chat(
            f"chat {number}", f"c{number}", 1.0, 10.0 + number, f"b{number}", 2, pinned_at=5.0 if number == 1 else None,
            folder_id="folder" if number == 0 else None,
        )  # fmt: skip
        file = Attachment("notes.txt", "text", 5, "notes", ((0, 5),), (), (0,))
        question = ChatMessage(chat.id, None, "user", "q 🐦 答案\n", f"q{number}", 2.0, "end", attachments=(file,))
        first = ChatMessage(chat.id, question.id, "assistant", "first", f"a{number}", 3.0, "end", model="m")
        second = replace(first, id=f"b{number}", content="second", statistics="{}", thought_seconds=1.5)
        library.save(chat, [question, first, second])


def everything(library: Library) -> dict[str, tuple[Chat, list[ChatMessage]]]:
    return {chat.id: (chat, library.messages(chat)) for chat in library.chats()}


def exported(library: Library, path: Path, ids: list[str] | None = None) -> Path:
    export_json(library.path, ids, path, Progress())
    return path


def load(path: Path, library: Library) -> Imported:
    return import_chats(path, library.path, Progress())


def counts(imported: Imported) -> tuple[int, int, int]:
    return imported.added, imported.changed, imported.same


def test_what_is_exported_comes_back_whole_and_once(library: Library, other: Library, tmp_path: Path) -> None:
    fill(library)
    file = exported(library, tmp_path / "chats.json")
    assert counts(load(file, other)) == (3, 0, 0)
    assert everything(other) == everything(library)
    assert [folder.id for folder in other.folders()] == ["folder"]
    assert counts(load(file, other)) == (0, 0, 3)
    assert everything(other) == everything(library)
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_bytes())["version"] == 1


def test_only_what_was_chosen_is_exported(library: Library, other: Library, tmp_path: Path) -> None:
    fill(library)
    library.delete("c2")
    assert counts(load(exported(library, tmp_path / "one.json", ["c1"]), other)) == (1, 0, 0)
    assert other.folders() == []
    assert counts(load(exported(library, tmp_path / "all.json"), other)) == (1, 0, 1)


def test_a_merge_loses_nothing_and_the_later_change_wins(library: Library, other: Library, tmp_path: Path) -> None:
    fill(library)
    old = exported(library, tmp_path / "old.json")
    load(old, other)
    mine = ChatMessage("c0", "b0", "user", "only here", "mine", 20.0)
    library.save(replace(everything(library)["c0"][0], title="newer", updated_at=20.0, leaf_id="mine"), [mine])
    theirs = ChatMessage("c0", "b0", "user", "only there", "theirs", 15.0)
    other.save(replace(everything(other)["c0"][0], title="older", updated_at=15.0, leaf_id="theirs"), [theirs])
    new = exported(library, tmp_path / "new.json")
    imported = load(new, other)
    assert (counts(imported), imported.touched) == ((0, 1, 2), ("c0",))
    chat, messages = everything(other)["c0"]
    assert (chat.title, chat.leaf_id) == ("newer", "mine")
    assert {message.id for message in messages} == {"q0", "a0", "b0", "mine", "theirs"}
    assert counts(load(old, other)) == (0, 0, 3)
    assert everything(other)["c0"][0].title == "newer"


def test_a_deleted_chat_comes_back(library: Library, tmp_path: Path) -> None:
    fill(library)
    file = exported(library, tmp_path / "chats.json")
    library.delete("c0", "c1")
    library.delete_for_good("c1")
    keep_up(library.path)
    assert counts(load(file, library)) == (1, 1, 1)
    assert {"c0", "c1", "c2"} == set(everything(library))


def test_ids_of_another_chats_messages_are_not_taken_away(library: Library, tmp_path: Path) -> None:
    fill(library, 1)
    chat = {"id": "stranger", "title": "s", "leaf_id": "b0", "created_at": 1, "updated_at": 1}
    turns = [
        {"id": "q0", "parent_id": None, "role": "user", "content": "other"},
        {"id": "b0", "parent_id": "q0", "role": "assistant", "content": "words"},
    ]
    file = tmp_path / "f.json"
    file.write_text(json.dumps({"format": "chickadee-chats", "version": 1, "chats": [chat | {"messages": turns}]}))
    for expected in ((1, 0, 0), (0, 0, 1)):
        assert counts(load(file, library)) == expected
    assert [message.content for message in everything(library)["c0"][1]] == ["q 🐦 答案\n", "first", "second"]
    question, answer = everything(library)["stranger"][1]
    assert answer.parent_id == question.id


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


def test_chatgpts_tree_becomes_ours() -> None:
    found = chat_of(
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
        ),
        0.0,
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
    assert chat_of(raw, 0.0) is None


@given(st.dictionaries(st.sampled_from(FIELDS), JSON), JSON, JSON)
def test_fields_of_any_kind_are_understood_or_passed_over(facts: dict[str, Any], author: Any, content: Any) -> None:
    message = {"author": author, "content": content, "create_time": content, "metadata": author, "status": author}
    good = node("u", "odd", text="hello")
    odd = {"message": message, "parent": author, "children": content}
    found = chat_of({"mapping": {"odd": odd, "u": good}} | facts, 1.0)
    assert found is not None
    assert "hello" in [each.content for each in found[1]]
    assert found[0].title


def test_chatgpts_export_with_its_zip_file(library: Library, tmp_path: Path) -> None:
    talks = [conversation(node("u", "root"), node("a", "u", "assistant"), conversation_id=str(n)) for n in range(5)]
    plain, packed = tmp_path / "conversations.json", tmp_path / "export.zip"
    plain.write_text(json.dumps(talks))
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", "{}")
        archive.writestr("chat.html", "<html>")
        archive.writestr("folder/conversations.json", json.dumps(talks))
    assert counts(load(packed, library)) == (5, 0, 0)
    before = everything(library)
    assert counts(load(plain, library)) == (0, 0, 5)
    assert everything(library) == before


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
        (text("{}"), "no chats that Chickadee knows"),
        (text('{"a": [1, 2], "mapping": {}}'), "no chats that Chickadee knows"),
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
        (text(HEAD.replace("1", "2") + GOOD + "]}"), "newer Chickadee"),
        (bad_zip, "damaged"),
        (zip_without, "no chats that Chickadee knows"),
        (Path.mkdir, "cannot be read"),
        (lambda path: None, "cannot be read"),
    ],
)  # fmt: skip
def test_a_bad_file_is_told_and_changes_nothing(
    library: Library, tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    fill(library)
    before = everything(library)
    path = tmp_path / "f.json"
    make(path)
    with pytest.raises(Failure) as caught:
        load(path, library)
    assert words in str(caught.value)
    assert everything(library) == before
    assert library._db.execute("SELECT count(*) FROM chats").fetchone() == (3,)


def test_strange_values_are_taken_in_a_usable_form(library: Library, tmp_path: Path) -> None:
    turn = {"id": "m", "parent_id": "nowhere", "role": "user", "content": "a\ud83d\0", "created_at": 1e300}
    chat = {"id": "x", "title": " \n ", "created_at": float("nan"), "updated_at": -5, "leaf_id": "gone",
            "folder_id": "no such folder", "forget_turns": -3, "messages": [turn], "unknown": [1]}  # fmt: skip
    path = tmp_path / "f.json"
    path.write_text(json.dumps({"format": "chickadee-chats", "version": 1, "chats": [chat]}))
    assert counts(load(path, library)) == (1, 0, 0)
    (found,) = library.chats()
    assert (found.title, found.updated_at, found.folder_id, found.forget_turns) == ("?", 0.0, None, 0)
    assert library.messages(found)[0].content == "a?\0"
    assert "9999" in markdown_of(found, library.messages(found))


def test_stopping_and_being_killed_leave_nothing(library: Library, other: Library, tmp_path: Path) -> None:
    fill(library, 50)
    file = exported(library, tmp_path / "chats.json")
    progress = Progress()
    tell = progress.tell

    def stop_in_the_middle(share: float, chats: int) -> None:
        tell(share, chats)
        if chats == 20:
            progress.stop()

    progress.tell = stop_in_the_middle  # type: ignore[method-assign]
    with pytest.raises(Stopped):
        import_chats(file, other.path, progress)
    assert other._db.execute("SELECT count(*) FROM chats").fetchone() == (0,)
    other.save(Chat("half", "half"))
    other._db.execute("UPDATE chats SET deleted_at = -1")
    assert other.chats() == []
    assert other.deleted_chats() == []
    Library(other.path).close()
    assert other._db.execute("SELECT count(*) FROM chats").fetchone() == (0,)
    with pytest.raises(Stopped):
        export_json(library.path, None, tmp_path / "stopped.json", progress)
    assert not list(tmp_path.glob("stopped*"))


def test_the_window_may_write_while_chats_come_in(library: Library, other: Library, tmp_path: Path) -> None:
    fill(library, 30)
    file = exported(library, tmp_path / "chats.json")
    progress = Progress()
    tell = progress.tell

    def write_too(share: float, chats: int) -> None:
        tell(share, chats)
        other.save(Chat("mine", f"mine{chats}"))

    progress.tell = write_too  # type: ignore[method-assign]
    import_chats(file, other.path, progress)
    assert len(other.chats()) == 60


def test_markdown_is_the_shown_branch(library: Library, tmp_path: Path) -> None:
    fill(library)
    path = tmp_path / "one.md"
    assert export_markdown(library.path, ["c0"], path, Progress()) == 1
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# chat 0"
    assert [line for line in lines if line.startswith("## ")][1].startswith("## m · 1970-01-01")
    assert "second" in lines
    assert "first" not in lines
    assert "*Attached: notes.txt*" in lines
    assert export_markdown(library.path, None, tmp_path / "many.md", Progress()) == 3
    assert export_markdown(library.path, None, tmp_path / "many.md", Progress()) == 3
    assert {file.name for file in (tmp_path / "many 2").iterdir()} == {"chat 0.md", "chat 1.md", "chat 2.md"}


@pytest.mark.parametrize(
    ("title", "name"),
    [("a/b\\c: d?", "a b c d"), ("..", "chat"), ("CON", "_CON"), ("nul.txt", "_nul.txt"), ("x" * 99, "x" * 80),
     ("a\nb", "a b")],
)  # fmt: skip
def test_names_of_files(title: str, name: str) -> None:
    assert file_name(title) == name


def test_a_place_that_cannot_be_written_is_told(library: Library, tmp_path: Path) -> None:
    fill(library)
    for write in (export_json, export_markdown):
        with pytest.raises(Failure, match="could not be written"):
            write(library.path, None, tmp_path / "no such folder" / "x.json", Progress())


@given(st.lists(JSON) | st.dictionaries(st.text(), JSON), st.integers(1, 64), st.booleans())
def test_the_stream_reads_what_json_reads(value: Any, chunk: int, pretty: bool) -> None:
    data = json.dumps(value, indent=1 if pretty else None, ensure_ascii=pretty).encode()
    expected: list[tuple[str, Any]] = []
    for key, each in value.items() if isinstance(value, dict) else [("", value)]:
        expected += [(key, element) for element in each] if isinstance(each, list) else [(key, each)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_stream, "CHUNK", chunk)
        assert list(JsonStream(io.BytesIO(data)).elements()) == expected
        with pytest.raises(NotJson):
            list(JsonStream(io.BytesIO(data[:-1])).elements())


@pytest.mark.parametrize("seed", range(30))
def test_a_broken_stream_is_told(seed: int) -> None:
    dice = random.Random(seed)
    data = bytearray(json.dumps([{"a": [1, 'x\\"y', None], "b": {"c": 1.5}}] * 20).encode())
    for _ in range(3):
        data[dice.randrange(len(data))] = dice.randrange(256)
    ours: Any
    try:
        ours = [value for _, value in JsonStream(io.BytesIO(bytes(data))).elements()]
    except NotJson:
        ours = None
    try:
        theirs = json.loads(bytes(data))
    except ValueError:
        theirs = None
    assert ours == theirs


def test_an_entry_too_large_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "CHUNK", 100)
    monkeypatch.setattr(json_stream, "LONGEST", 1000)
    with pytest.raises(NotJson, match="too large"):
        list(JsonStream(io.BytesIO(b'["' + b"x" * 5000 + b'"]')).elements())


def test_sqlite_is_never_left_locked(library: Library, tmp_path: Path) -> None:
    fill(library)
    file = exported(library, tmp_path / "chats.json")
    db = sqlite3.connect(library.path, isolation_level=None)
    load(file, library)
    db.execute("BEGIN IMMEDIATE")
    db.close()
