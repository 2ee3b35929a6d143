"""Reads JSON files with chats, alone or in a zip file: our own, and the exports of other programs, known by their form.

Knows the order of a file's members, but nothing of what is in a chat.
"""

from __future__ import annotations

import contextlib
import re
import time
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from app.store.chat import Chat, ChatMessage, Folder
from app.store.formats import FORMAT, VERSION, decode_chat, decode_folder
from app.store.json_stream import LONGEST, JsonStream, NotJson
from app.store.project_store import ProjectFile
from app.store.readers import chatgpt, claude, llama_cpp, lm_studio, open_webui
from app.store.readers.neutral import ImportedConversation, Program, chat_of
from common.failures import Failure

LARGEST = 8 << 30  # bytes of JSON; a zip file may claim any size
# ChatGPT splits a large export: conversations-000.json, conversations-001.json, …
_EXPORT_NAME = re.compile(r"conversations(-\d+)?\.json")
Advance = Callable[[float], object]


@dataclass(frozen=True, slots=True)
class ImportableChat:
    """A chat as it would be imported, and the program that it is from."""

    program: Program
    chat: Chat
    messages: list[ChatMessage]


@dataclass(frozen=True, slots=True)
class ImportableFolder:
    """A folder as it would be imported, and the files that its chats begin with."""

    folder: Folder
    files: list[ProjectFile]


def read_json(path: Path, advance: Advance) -> Iterator[ImportableFolder | ImportableChat]:
    """Yield the folders and chats of a file; raise Failure with its mistake. `advance` is told the share read."""
    with _opened(path) as parts:
        whole, before = sum(size for _, size in parts), 0
        for file, size in parts:
            with file() as opened:
                yield from _read(path, opened, before, whole, advance)
            before += size


def _read(
    path: Path, file: IO[bytes], before: int, whole: int, advance: Advance
) -> Iterator[ImportableFolder | ImportableChat]:
    stream, number, ours, now = JsonStream(file), 0, False, time.time()
    rest: dict[str, Any] = {}
    try:
        for key, raw in stream.elements():
            if key == "format" and raw == FORMAT:
                ours = True
            elif key == "version" and ours:
                _check_version(raw)
            elif key == "folders" and ours:
                yield ImportableFolder(*decode_folder(raw, now))
            elif (key == "chats" and ours) or key == "":
                number += 1
                yield from _entry(raw, ours, now)
                advance(min((before + stream.done) / whole, 1.0) if whole else 1.0)
            elif not ours:
                _gather(rest, key, raw)
                if stream.done > LONGEST:
                    raise _unknown(path)
        if not number and not ours:
            if not _is_known(rest):
                raise _unknown(path)
            number = 1
            name = path.name.removesuffix(".json").removesuffix(".conversation")
            yield from importable(_conversation(rest, name), now)
    except NotJson as error:
        raise Failure("import.damaged", str(error), name=path.name, at=error.at) from error
    except ValueError as error:
        raise Failure("import.entry", str(error), name=path.name, number=number) from error


def _check_version(raw: object) -> None:
    if not isinstance(raw, int) or raw > VERSION:
        raise Failure("import.newer")


def _gather(whole: dict[str, Any], key: str, raw: object) -> None:
    """Put a member of a file that is one object back into that object; only the list of messages stays whole."""
    if key == "messages":
        whole.setdefault(key, []).append(raw)
    else:
        whole[key] = raw


def _is_known(raw: dict[str, Any]) -> bool:
    return isinstance(raw.get("messages"), list) and ("conv" in raw or "createdAt" in raw)


def _conversation(raw: object, name: str = "") -> ImportedConversation:
    """Return a chat of the program that its members show; raise ValueError if no program has such ones."""
    if not isinstance(raw, dict):
        raise ValueError("it is no object")
    if "mapping" in raw:
        return chatgpt.conversation_of(raw)
    if "chat_messages" in raw:
        return claude.conversation_of(raw)
    if "conv" in raw:
        return llama_cpp.conversation_of(raw)
    if "chat" in raw:
        return open_webui.conversation_of(raw)
    if name:
        return lm_studio.conversation_of(raw, name)
    raise ValueError("no known program writes such entries")


def _entry(raw: object, ours: bool, now: float) -> Iterator[ImportableChat]:
    if ours:
        yield ImportableChat("chickadee", *decode_chat(raw, now))
    else:
        yield from importable(_conversation(raw), now)


def importable(conversation: ImportedConversation, now: float) -> Iterator[ImportableChat]:
    """Yield the conversation as a chat of ours, unless it has no messages."""
    chat = chat_of(conversation, now)
    if chat is not None:
        yield ImportableChat(conversation.program, *chat)


Opener = Callable[[], contextlib.AbstractContextManager[IO[bytes]]]


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[list[tuple[Opener, int]]]:
    """Yield ways to open the JSON file, or those inside a zip file, with their sizes in bytes."""
    try:
        if not zipfile.is_zipfile(path):
            yield [(lambda: path.open("rb"), path.stat().st_size)]
            return
        with zipfile.ZipFile(path) as archive:
            yield [(partial(archive.open, entry), entry.file_size) for entry in _entries(path, archive)]
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("import.unreadable", str(error), name=path.name, reason=reason) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        raise Failure("import.damaged_zip", str(error), name=path.name) from error


def _entries(path: Path, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the zip entries with the chats: those named as in the exports of ChatGPT and Claude, else the only one."""
    entries = [entry for entry in archive.infolist() if entry.filename.lower().endswith(".json")]
    named = [entry for entry in entries if _EXPORT_NAME.fullmatch(Path(entry.filename).name)]
    if not named and len(entries) != 1:
        raise _unknown(path)
    chosen = sorted(named, key=lambda entry: entry.filename) or entries
    if sum(entry.file_size for entry in chosen) > LARGEST:
        raise Failure("import.too_large", name=path.name)
    return chosen


def _unknown(path: Path) -> Failure:
    return Failure("import.unknown", name=path.name)
