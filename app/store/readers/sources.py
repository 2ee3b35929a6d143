"""Reads the chats of a place where another program keeps them, or of a file that the user chose."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from app.store.chat import Folder
from app.store.json_stream import LONGEST
from app.store.readers import gpt4all, jan, lm_studio, ollama, open_webui
from app.store.readers.database import BEGINNING, opened, tables
from app.store.readers.json_file import Advance, ImportableChat, read_json
from app.store.readers.neutral import PROGRAMS, ImportedConversation, Program, chat_of, object_of
from app.store.readers.places import Source
from common.failures import Failure
from common.files import read_small

Item = Folder | ImportableChat | Failure
MOST_FILES = 100_000  # in one place


def read_source(source: Source, advance: Advance) -> Iterator[Item]:
    """Yield what is in the place; what cannot be read of a folder is a Failure among the chats.

    Raises Failure if nothing can be read. `advance` is told the share read, and may raise to end the reading.
    """
    if source.program in READERS:
        yield from READERS[source.program](source.path, advance)
    elif source.program is not None:
        yield from _database(source.path, advance, source.program)
    else:
        yield from _file(source.path, advance)


def _gpt4all(folder: Path, advance: Advance) -> Iterator[Item]:
    yield from _each(_files(folder, "gpt4all-*.chat"), advance, "gpt4all", _gpt4all_chat)


def _jan(folder: Path, advance: Advance) -> Iterator[Item]:
    yield from _each(_files(folder, "*/thread.json"), advance, "jan", _jan_chat)


def _lm_studio(folder: Path, advance: Advance) -> Iterator[Item]:
    yield from _each(_files(folder, "**/*.conversation.json"), advance, "lm-studio", _lm_studio_chat)


READERS: dict[Program | None, Callable[[Path, Advance], Iterator[Item]]] = {
    "gpt4all": _gpt4all,
    "jan": _jan,
    "lm-studio": _lm_studio,
}


def _files(folder: Path, pattern: str) -> list[Path]:
    paths = []
    try:
        for path in folder.glob(pattern):
            paths.append(path)
            if len(paths) == MOST_FILES:
                break
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("import.unreadable", str(error), name=folder.name, reason=reason) from error
    return sorted(paths)


def _each(
    paths: list[Path], advance: Advance, program: Program, read: Callable[[Path], ImportedConversation]
) -> Iterator[Item]:
    for number, path in enumerate(paths, 1):
        try:
            yield from _ours(_checked(path, program, read))
        except Failure as failure:
            yield failure
        advance(number / len(paths))


def _checked(path: Path, program: Program, read: Callable[[Path], ImportedConversation]) -> ImportedConversation:
    """Return the chat that `read` makes of the file; raise Failure if there is none."""
    try:
        conversation = read(path)
    except OSError as error:
        reason = error.strerror or str(error)
        raise Failure("import.unreadable", str(error), name=path.name, reason=reason) from error
    except gpt4all.NewerVersion as error:
        raise Failure("import.newer_program", str(error), name=path.name, program=PROGRAMS[program].name) from error
    except ValueError as error:
        raise Failure("import.not_a_chat", str(error), name=path.name, program=PROGRAMS[program].name) from error
    if conversation.created is None or conversation.updated is None:
        changed = path.stat().st_mtime
        conversation.updated = changed if conversation.updated is None else conversation.updated
        conversation.created = (
            min(changed, conversation.updated) if conversation.created is None else conversation.created
        )
    return conversation


def _gpt4all_chat(path: Path) -> ImportedConversation:
    return gpt4all.conversation_of(_bytes(path))


def _jan_chat(path: Path) -> ImportedConversation:
    messages = path.with_name("messages.jsonl")
    return jan.conversation_of(_bytes(path), _bytes(messages) if messages.exists() else b"", path.parent.name)


def _lm_studio_chat(path: Path) -> ImportedConversation:
    return lm_studio.conversation_of(object_of(_bytes(path)), path.name.removesuffix(".conversation.json"))


def _bytes(path: Path) -> bytes:
    raw = read_small(path, LONGEST + 1)
    if len(raw) > LONGEST:
        raise Failure("import.too_large", name=path.name)
    return raw


def _ours(conversation: ImportedConversation) -> Iterator[ImportableChat]:
    chat = chat_of(conversation, time.time())
    if chat is not None:
        yield ImportableChat(conversation.program, *chat)


def _file(path: Path, advance: Advance) -> Iterator[Item]:
    """Yield what is in a file of any program, which its beginning shows. Raises Failure with its mistake."""
    beginning = b""
    with contextlib.suppress(OSError):  # the reader below says so
        beginning = read_small(path, len(BEGINNING))
    if beginning == BEGINNING:
        yield from _database(path, advance)
    elif beginning.startswith(gpt4all.MAGIC.to_bytes(4)):
        yield from _ours(_checked(path, "gpt4all", _gpt4all_chat))
    elif path.name == "thread.json":
        yield from _ours(_checked(path, "jan", _jan_chat))
    else:
        yield from read_json(path, advance)


def _database(path: Path, advance: Advance, program: Program | None = None) -> Iterator[Item]:
    with opened(path, PROGRAMS[program].name if program else "") as db:
        names = tables(db)
        if "chat" in names:
            yield from _counted(map(open_webui.conversation_of, open_webui.rows(db)), _count(db, "chat"), path, advance)
        elif {"chats", "messages"} <= names:
            yield from _counted(ollama.conversations(db), _count(db, "chats"), path, advance)
        elif program is None:
            raise Failure("import.unknown", name=path.name)


def _count(db: sqlite3.Connection, table: str) -> int:
    return int(db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def _counted(conversations: Iterator[ImportedConversation], count: int, path: Path, advance: Advance) -> Iterator[Item]:
    number = 0
    while True:
        number += 1
        try:
            conversation = next(conversations)
        except StopIteration:
            return
        except ValueError as error:
            yield Failure("import.left_out", str(error), name=path.name, number=number)
        else:
            yield from _ours(conversation)
        advance(min(number / max(count, 1), 1.0))
