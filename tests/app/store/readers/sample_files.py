"""Writes the files of other programs as they write them themselves, from their published formats.

`write_all(home)` fills a home folder with the same short chat in every program.
"""

from __future__ import annotations

import json
import sqlite3
import struct
import sys
import zipfile
from pathlib import Path
from typing import Any

QUESTION, ANSWER, OTHER, FOLLOW_UP = "What does a chickadee eat?", "Seeds and insects.", "Mostly insects.", "In winter?"
THOUGHT, SECONDS = "Small birds eat small things.", 1_750_000_000
# Where programs keep their data below a home folder.
DATA = {"win32": "AppData/Local", "darwin": "Library/Application Support"}.get(sys.platform, ".local/share")
ID = "6f1f6ab8-2a3b-4c3d-9e0a-0123456789ab"


# --- GPT4All: QDataStream ---------------------------------------------------------------------------------------------


def qstring(text: str | None) -> bytes:
    if text is None:
        return struct.pack(">I", 0xFFFFFFFF)
    raw = text.encode("utf-16-be")
    return struct.pack(">I", len(raw)) + raw


def qbytes(raw: bytes) -> bytes:
    return struct.pack(">I", len(raw)) + raw


def gpt4all(version: int = 12, messages: tuple[tuple[str, str], ...] = (), tool: bool = False) -> bytes:
    """Return a chat file of this version of the format."""
    turns = messages or (("Prompt: ", QUESTION), ("Response: ", ANSWER), ("Prompt: ", FOLLOW_UP))
    pieces = [struct.pack(">Ii", 0xF5D553CC, version), struct.pack(">q", SECONDS), qstring(ID), qstring("Birds 🐦")]
    pieces += [qstring(None), qstring("Llama-3.2.gguf")]
    if version >= 3:
        pieces += [struct.pack(">I", 1), qstring("My documents")]
    if version < 11:
        pieces.append(_gpt4all_state(version))
    pieces.append(struct.pack(">i", len(turns)))
    pieces += [_gpt4all_item(version, name, value, tool) for name, value in turns]
    return b"".join(pieces)


def _gpt4all_state(version: int) -> bytes:
    pieces = [struct.pack(">?", version < 8)] if version >= 6 else []
    pieces += [struct.pack(">ii", 1, 0)] if version >= 2 else []
    pieces += [qstring("state"), qstring(""), struct.pack(">I", 7)]
    if version < 8:
        pieces += [struct.pack(">I", 9)] if version < 4 else []
        pieces += [struct.pack(">I", 5)]
        pieces += [struct.pack(">I", 2048)] if version >= 7 else []
        pieces += [struct.pack(">Q", 3), bytes(12), struct.pack(">Q", 2), bytes(8), qbytes(b"cache")]
    return b"".join(pieces)


def _gpt4all_item(version: int, name: str, value: str, tool: bool) -> bytes:
    is_answer = name == "Response: "
    pieces = [struct.pack(">i", 4)] if version < 12 else []
    pieces += [qstring(name), qstring("" if version >= 12 and is_answer else value)]
    pieces += [qstring("the prompt")] if version < 10 else []
    pieces += [qstring(None), struct.pack(">????", False, False, False, False)]
    pieces += [struct.pack(">?", False)] if version >= 11 and is_answer else []
    if version >= 8:
        pieces += [struct.pack(">q", 1), *map(qstring, ("c", "/p/a.txt", "a.txt", "t", "a", "d", "text"))]
        pieces += [struct.pack(">iii", 1, 2, 3)]
    elif version >= 3:
        pieces += [qstring("1. In a.txt. [Context](context://1)"), struct.pack(">I", 1), qstring("text")]
    if version >= 10:
        files = [qbytes(b"file:///home/user/notes.txt"), qbytes(b"my notes")] if not is_answer else []
        pieces += [struct.pack(">q", len(files) // 2), *files]
    if version >= 12:
        parts = _gpt4all_parts(value, tool) if is_answer else []
        pieces += [struct.pack(">q", len(parts)), *parts]
    return b"".join(pieces)


def _gpt4all_parts(value: str, tool: bool) -> list[bytes]:
    nothing = struct.pack(">q", 0)
    parts = [qstring("Think: ") + qstring(THOUGHT) + struct.pack(">i", 2500) + nothing]
    if tool:
        call = [qstring("ToolCall: "), qstring("code"), qstring("javascript_interpret"), struct.pack(">q", 1)]
        call += [qstring("code"), struct.pack(">i", 0), struct.pack(">I?", 10, False), qstring("1 + 1")]
        call += [qstring("2"), struct.pack(">i", 0), qstring("")]
        parts.append(b"".join(call) + nothing)
    return [*parts, qstring("Text: ") + qstring(value) + nothing]


# --- JSON and SQLite --------------------------------------------------------------------------------------------------


def jan() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a thread and its messages."""

    def message(id: str, role: str, content: Any, at: int, **more: Any) -> dict[str, Any]:
        facts = {"id": id, "object": "thread.message", "thread_id": ID, "role": role, "content": content}
        return facts | {"status": "ready", "created_at": at, "completed_at": at, "metadata": {}} | more

    def words(text: str, kind: str = "text") -> dict[str, Any]:
        return {"type": kind, "text": {"value": text, "annotations": []}}

    thread = {
        "id": ID, "object": "thread", "title": "Birds 🐦", "created": SECONDS, "updated": SECONDS + 60,
        "assistants": [{"id": "jan", "model": {"id": "llama3.2", "engine": "llamacpp"}}], "metadata": {},
    }  # fmt: skip
    answer = [words(THOUGHT, "reasoning"), words(ANSWER)]
    return thread, [
        message("m0", "system", [words("You are a bird.")], SECONDS * 1000),
        message("m1", "user", [words(QUESTION)], SECONDS * 1000),
        message("m2", "assistant", answer, SECONDS * 1000 + 5000, metadata={"modelId": "qwen3"}),
        message("m3", "user", [words(FOLLOW_UP)], SECONDS * 1000 + 9000),
    ]


def lm_studio() -> dict[str, Any]:
    """Return a conversation whose first answer has two versions, the second of which is selected."""

    def step(text: str, **more: Any) -> dict[str, Any]:
        return {"type": "contentBlock", "content": [{"type": "text", "text": text}]} | more

    def answer(*steps: dict[str, Any]) -> dict[str, Any]:
        sender = {"senderName": "qwen/qwen3-4b"}
        return {"type": "multiStep", "role": "assistant", "senderInfo": sender, "steps": list(steps)}

    def question(text: str) -> dict[str, Any]:
        version = {"type": "singleStep", "role": "user", "content": [{"type": "text", "text": text}]}
        return {"versions": [version], "currentlySelected": 0}

    thinking = {"style": {"type": "thinking", "ended": True, "title": "Thought for 2.50 seconds"}}
    debug = {"type": "debugInfoBlock", "debugInfo": "nothing to see"}
    return {
        "name": "Birds 🐦", "pinned": False, "createdAt": SECONDS * 1000, "tokenCount": 40, "systemPrompt": "",
        "userLastMessagedAt": (SECONDS + 60) * 1000, "notes": [{"a": 1}],
        "messages": [
            question(QUESTION),
            {"versions": [answer(step(OTHER)), answer(step(THOUGHT, **thinking), step(ANSWER), debug)],
             "currentlySelected": 1},
            question(FOLLOW_UP),
        ],
    }  # fmt: skip


def open_webui() -> dict[str, Any]:
    """Return one entry of the export, a tree with two answers."""

    def message(id: str, parent: str | None, role: str, text: str, at: int) -> dict[str, Any]:
        facts: dict[str, Any] = {"id": id, "parentId": parent, "childrenIds": [], "role": role, "content": text}
        return facts | {"timestamp": SECONDS + at, "model": "llama3.2:latest", "done": True}

    reasoning = (
        '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n'
        f"&gt; {THOUGHT}\n</details>\n"
    )
    messages = [
        message("u1", None, "user", QUESTION, 0), message("a1", "u1", "assistant", reasoning + ANSWER, 5),
        message("a2", "u1", "assistant", OTHER, 7), message("u2", "a1", "user", FOLLOW_UP, 9),
    ]  # fmt: skip
    history = {"messages": {each["id"]: each for each in messages}, "currentId": "u2"}
    chat = {"title": "Birds 🐦", "models": ["llama3.2:latest"], "history": history, "messages": messages}
    times = {"created_at": SECONDS, "updated_at": SECONDS + 60}
    return {"id": ID, "user_id": "me", "title": "Birds 🐦", "chat": chat, "archived": False} | times


def write_open_webui(path: Path, entries: list[dict[str, Any]] | None = None) -> Path:
    """Write a `webui.db` with the columns of its table of chats."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    with db:
        db.execute(
            "CREATE TABLE chat (id VARCHAR(255) PRIMARY KEY, user_id VARCHAR(255), title TEXT, share_id TEXT,"
            " archived INTEGER, created_at BIGINT, updated_at BIGINT, chat JSON, pinned BOOLEAN, meta JSON)"
        )
        for each in entries or [open_webui()]:
            row = (each["id"], "me", each["title"], 0, each["created_at"], each["updated_at"], json.dumps(each["chat"]))
            db.execute(
                "INSERT INTO chat (id, user_id, title, archived, created_at, updated_at, chat)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                row,
            )
    db.close()
    return path


def write_ollama(path: Path) -> Path:
    """Write a `db.sqlite` with the tables of Ollama's app."""
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path)
    with db:
        db.execute("CREATE TABLE chats (id TEXT PRIMARY KEY, title TEXT, created_at TIMESTAMP, browser_state TEXT)")
        db.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, chat_id TEXT, role TEXT, content TEXT,"
            " thinking TEXT, stream BOOLEAN, model_name TEXT, created_at TIMESTAMP, updated_at TIMESTAMP,"
            " thinking_time_start TIMESTAMP, thinking_time_end TIMESTAMP, tool_result TEXT)"
        )
        day = "2025-06-15 17:0"
        db.execute("INSERT INTO chats (id, title, created_at) VALUES (?, 'Birds 🐦', ?)", (ID, f"{day}6:40+02:00"))
        turns = [
            ("user", QUESTION, "", None, None, "6:40.123456789+02:00"),
            ("assistant", ANSWER, THOUGHT, f"{day}6:41+02:00", f"{day}6:43.5+02:00", "6:45+02:00"),
            ("tool", "a result", "", None, None, "6:46+02:00"),
            ("user", FOLLOW_UP, "", None, None, "6:49+02:00"),
        ]
        for role, content, thinking, begun, ended, at in turns:
            db.execute(
                "INSERT INTO messages (chat_id, role, content, thinking, model_name, created_at, thinking_time_start,"
                " thinking_time_end) VALUES (?, ?, ?, ?, 'gpt-oss:20b', ?, ?, ?)",
                (ID, role, content, thinking, day + at, begun, ended),
            )
    db.close()
    return path


def llama_cpp() -> dict[str, Any]:
    """Return one entry of the web page's export, a tree with two answers."""

    def message(id: str, parent: str | None, role: str, text: str, at: int, **more: Any) -> dict[str, Any]:
        facts = {"id": id, "convId": ID, "type": "text", "timestamp": (SECONDS + at) * 1000, "role": role}
        return facts | {"content": text, "parent": parent, "children": []} | more

    notes = [{"type": "TEXT", "name": "notes.txt", "content": "my notes"}, {"type": "IMAGE", "name": "bird.png"}]
    return {
        "conv": {"id": ID, "name": "Birds 🐦", "lastModified": (SECONDS + 60) * 1000, "currNode": "u2"},
        "messages": [
            message("root", None, "system", "", 0, type="root"),
            message("u1", "root", "user", QUESTION, 1, extra=notes),
            message("a1", "u1", "assistant", ANSWER, 5, reasoningContent=THOUGHT, model="qwen3"),
            message("a2", "u1", "assistant", OTHER, 7),
            message("u2", "a1", "user", FOLLOW_UP, 9),
        ],
    }  # fmt: skip


def claude() -> dict[str, Any]:
    """Return one entry of the export, a tree with two answers."""

    def message(id: str, parent: str, sender: str, text: str, at: int, **more: Any) -> dict[str, Any]:
        facts: dict[str, Any] = {"uuid": id, "parent_message_uuid": parent, "sender": sender, "text": text}
        content = [{"type": "text", "text": text}]
        time = f"2025-06-15T15:06:{40 + at}.000000Z"
        facts |= {"content": content, "created_at": time, "updated_at": time, "attachments": [], "files": []}
        return facts | more

    top = "00000000-0000-4000-8000-000000000000"
    file = {"file_name": "notes.txt", "file_size": 8, "file_type": "txt", "extracted_content": "my notes"}
    thinking = [{"type": "thinking", "thinking": THOUGHT}, {"type": "tool_use"}, {"type": "text", "text": ANSWER}]
    return {
        "uuid": ID, "name": "Birds 🐦", "created_at": "2025-06-15T15:06:40.123456Z",
        "updated_at": "2025-06-15T15:07:40.000000Z", "account": {"uuid": "me"},
        "chat_messages": [
            message("u1", top, "human", QUESTION, 0, attachments=[file], files=[{"file_name": "bird.png"}]),
            message("a1", "u1", "assistant", ANSWER, 5, content=thinking),
            message("a2", "u1", "assistant", OTHER, 7),
            message("u2", "a1", "human", FOLLOW_UP, 9),
        ],
        "current_leaf_message_uuid": "u2",
    }  # fmt: skip


def write_zip(path: Path, entries: list[dict[str, Any]]) -> Path:
    """Write an export as Claude and ChatGPT send it."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", "[]")
        archive.writestr("conversations.json", json.dumps(entries))
        archive.writestr("projects.json", "[]")
    return path


def write_json(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_all(home: Path) -> None:
    """Write one chat of each program where it keeps its chats on this system."""
    path = gpt4all_folder(home) / f"gpt4all-{ID}.chat"
    path.parent.mkdir(parents=True)
    path.write_bytes(gpt4all())
    thread, messages = jan()
    folder = home / DATA / "Jan/data/threads" / ID
    write_json(folder / "thread.json", thread)
    (folder / "messages.jsonl").write_text("".join(json.dumps(each) + "\n" for each in messages), encoding="utf-8")
    write_json(home / ".lmstudio/conversations/work" / f"{SECONDS}.conversation.json", lm_studio())
    write_open_webui(home / ".open-webui/webui.db")
    write_ollama(ollama_database(home))


def gpt4all_folder(home: Path) -> Path:
    return home / DATA / "nomic.ai/GPT4All"


def ollama_database(home: Path) -> Path:
    return home / DATA / "Ollama/db.sqlite" if sys.platform in ("win32", "darwin") else home / ".ollama/db.sqlite"
