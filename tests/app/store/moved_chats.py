"""Helpers that export and import chats and compare the result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.attachments.attachment import Attachment
from app.store.chat import Chat, ChatMessage, Folder
from app.store.chat_store import ChatStore
from app.store.exchange import JsonExporter
from app.store.importing import Choice, import_chats
from app.store.merging import Imported
from app.store.readers.places import Source
from app.store.transfer import TransferProgress


def fill(store: ChatStore, chats: int = 3) -> None:
    store.save_folder(Folder("Work", id="folder"))
    for number in range(chats):
        chat = Chat(
            f"chat {number}", f"c{number}", 1.0, 10.0 + number, f"b{number}", 2, pinned_at=5.0 if number == 1 else None,
            folder_id="folder" if number == 0 else None,
        )  # fmt: skip
        file = Attachment("notes.txt", "text", 5, "notes", ((0, 5),), (), (0,))
        question = ChatMessage(chat.id, None, "user", "q 🐦 答案\n", f"q{number}", 2.0, "end", attachments=(file,))
        first = ChatMessage(chat.id, question.id, "assistant", "first", f"a{number}", 3.0, "end", model="m")
        second = replace(first, id=f"b{number}", content="second", statistics="{}", thought_seconds=1.5)
        store.save(chat, [question, first, second])


def everything(store: ChatStore) -> dict[str, tuple[Chat, list[ChatMessage]]]:
    return {chat.id: (chat, store.messages(chat)) for chat in store.chats()}


def exported(store: ChatStore, path: Path, ids: list[str] | None = None) -> Path:
    JsonExporter().export(store.path, ids, path, TransferProgress())
    return path


def load(path: Path, store: ChatStore) -> Imported:
    return import_chats([Choice(Source(path))], store.path, TransferProgress())


def counts(imported: Imported) -> tuple[int, int, int]:
    return len(imported.added), len(imported.changed), imported.same
