"""Reads the chats of a place where another program keeps them, or of a file that the user chose."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from app.store.json_stream import LONGEST
from app.store.readers import gpt4all, jan, lm_studio, ollama, open_webui
from app.store.readers.database import BEGINNING, opened, tables
from app.store.readers.json_file import Advance, ImportableChat, ImportableFolder, importable, read_json
from app.store.readers.neutral import PROGRAMS, ImportedConversation, Program, object_of
from app.store.readers.places import Source
from common.failures import Failure, system_failures
from common.files import read_small

Item = ImportableFolder | ImportableChat | Failure
MOST_FILES = 100_000  # in one place


def read_source(source: Source, advance: Advance) -> Iterator[Item]:
    """Yield what is in the place; what cannot be read of a folder is a Failure among the chats.

    Raises Failure if nothing can be read. `advance` is told the share read, and may raise to end the reading.
    """
    if source.program is None:
        yield from _file(source.path, advance)
    elif source.program in FOLDERS:
        yield from _each(source.path, advance, source.program, *FOLDERS[source.program])
    else:
        yield from _database(source.path, advance, source.program)


def _each(
    folder: Path, advance: Advance, program: Program, pattern: str, read: Callable[[Path], ImportedConversation]
) -> Iterator[Item]:
    with system_failures("import.unreadable", name=folder.name):
        paths = sorted(islice(folder.glob(pattern), MOST_FILES))
    for number, path in enumerate(paths, 1):
        try:
            yield from importable(_checked(path, program, read), time.time())
        except Failure as failure:
            yield failure
        advance(number / len(paths))


def _checked(path: Path, program: Program, read: Callable[[Path], ImportedConversation]) -> ImportedConversation:
    """Return the chat that `read` makes of the file; raise Failure if there is none."""
    try:
        with system_failures("import.unreadable", name=path.name):
            conversation, changed = read(path), path.stat().st_mtime
    except gpt4all.NewerVersion as error:
        raise Failure("import.newer_program", str(error), name=path.name, program=PROGRAMS[program].name) from error
    except ValueError as error:
        raise Failure("import.not_a_chat", str(error), name=path.name, program=PROGRAMS[program].name) from error
    if conversation.updated is None:
        conversation.updated = changed
    if conversation.created is None:
        conversation.created = min(changed, conversation.updated)
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


FOLDERS: dict[Program, tuple[str, Callable[[Path], ImportedConversation]]] = {
    "gpt4all": ("gpt4all-*.chat", _gpt4all_chat),
    "jan": ("*/thread.json", _jan_chat),
    "lm-studio": ("**/*.conversation.json", _lm_studio_chat),
}


def _file(path: Path, advance: Advance) -> Iterator[Item]:
    """Yield what is in a file of any program, which its beginning shows. Raises Failure with its mistake."""
    beginning = b""
    with contextlib.suppress(OSError):  # the reader below says so
        beginning = read_small(path, len(BEGINNING))
    if beginning == BEGINNING:
        yield from _database(path, advance)
    elif beginning.startswith(gpt4all.MAGIC.to_bytes(4)):
        yield from importable(_checked(path, "gpt4all", _gpt4all_chat), time.time())
    elif path.name == "thread.json":
        yield from importable(_checked(path, "jan", _jan_chat), time.time())
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
            yield from importable(conversation, time.time())
        advance(min(number / max(count, 1), 1.0))
