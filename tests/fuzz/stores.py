"""Fuzzes the file with the user's chats: flipped, torn, cut, emptied, another file's log or another file altogether.

It opens, or a sentence says why not; all words of the user's that were on the disk before are still there afterwards.
"""

from __future__ import annotations

import contextlib
import gc
import shutil
import sqlite3
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.harness import Broken, Limits, Recipe, make_folder
from tests.fuzz.values import apply_byte_edits, byte_edits
from tests.fuzz.worker import Worker

LIMITS = Limits(seconds=30, memory=1 << 30)
CHATS, TURNS = 12, 6
MARKS = [f"mark-{chat}-{turn}-" for chat in range(CHATS) for turn in range(TURNS)]
SQL = (
    "DROP TABLE messages", "DROP TABLE chats", "DROP TABLE attachments", "DROP TABLE message_index",
    "DROP TABLE unsent",
    "DELETE FROM chats", "ALTER TABLE chats RENAME COLUMN title TO name", "DROP INDEX messages_of_chat",
    "DROP TRIGGER message_added",
    "PRAGMA user_version = 0", "PRAGMA user_version = 1", "PRAGMA user_version = 5", "PRAGMA user_version = 9999",
    "PRAGMA user_version = -1", "PRAGMA application_id = 7", "CREATE TABLE extra (x)",
    "UPDATE messages SET parent_id = id",
    "UPDATE messages SET chat_id = 'nowhere'", "UPDATE chats SET leaf_id = 'nowhere'",
    "UPDATE chats SET options = '[', chosen = '{'",
    "UPDATE messages SET statistics = 'x', sources = '}'",
    "UPDATE attachments SET parts = '[[9, 1]]', pages = '[', sent = '[7]'",
    "UPDATE attachments SET kind = 'strange', size = -1", "UPDATE chats SET created_at = 1e300, updated_at = -1e300",
    "VACUUM",
    "UPDATE chats SET title = x'ff00'", "UPDATE messages SET role = 'god'",
    "UPDATE messages SET stop_reason = 'strange'",
    "PRAGMA journal_mode = DELETE", "PRAGMA page_size = 512; VACUUM", "PRAGMA encoding = 'UTF-16le'",
    "UPDATE chats SET id = ''",
    "CREATE TRIGGER t AFTER INSERT ON chats BEGIN SELECT raise(ABORT, 'no'); END",
    "CREATE VIEW v AS SELECT * FROM nothing",
    "UPDATE messages SET number = number + 9223372036854770000", "DELETE FROM messages WHERE number % 2",
    "UPDATE messages SET content = ''",
)  # fmt: skip


def recipe(dice: Random) -> dict[str, Any]:
    """Draw a recipe; with `closed` the log file is empty, otherwise a killed program has left its last words there."""
    kinds = (
        "bytes",
        "bytes",
        "bytes",
        "pages",
        "pages",
        "header",
        "header",
        "sql",
        "sql",
        "sql",
        "log",
        "log",
        "cut",
        "whole",
        "beside",
    )
    return {
        "closed": dice.random() < 0.5,
        "damage": [_damage(dice, dice.choice(kinds)) for _ in range(dice.choice((1, 1, 1, 2)))],
    }


def _damage(dice: Random, kind: str) -> list[Any]:
    what: Any = {
        "bytes": lambda: byte_edits(dice),
        "pages": lambda: [dice.choice(("zero", "swap", "noise", "copy")), dice.random(), dice.random()],
        "header": lambda: [dice.randrange(100), dice.choice((0, 1, 2, 4, 255, dice.randrange(256)))],
        "sql": lambda: dice.choice(SQL),
        "log": lambda: dice.choice((["other"], ["text"], ["empty"], ["only"], ["edited", byte_edits(dice)])),
        "cut": lambda: dice.choice((0, 1, 99, 100, 4096, 4095, dice.random())),
        "whole": lambda: dice.choice(("empty", "text", "folder", "other", "huge", "zeros")),
        "beside": lambda: dice.choice((".damaged", ".part", ".rebuilt", "-shm", "-journal")),
    }[kind]()
    return [kind, what]


def run_case(recipe: Recipe, folder: Path) -> str:
    """Damage a store and open it twice. Runs in the worker. Raises Broken."""
    from app.store.recovery import open_store
    from common.failures import Failure

    gc.collect()  # a reading that failed holds its connection until then, and Windows keeps files that are open
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / "library.sqlite3"
    shutil.copytree(_bases(folder.parent) / ("closed" if recipe["closed"] else "open"), folder, dirs_exist_ok=True)
    damages: Any = recipe["damage"]
    for kind, what in damages:
        _do_damage(path, kind, what)
    before, words = _files(folder), _words(folder)
    try:
        store, recovery = open_store(path)
    except Failure as failure:
        _check_kept(path, before, words)
        return str(failure)
    _use(store)
    _check_kept(path, before, words)
    if recovery is not None:
        assert recovery.damaged.exists(), "the damaged file is gone"
        store, again = open_store(path)
        store.close()
        assert again is None, "what was recovered is damaged again"
    return str(recovery or "")


def _use(store: Any) -> None:
    """Use the store as a window does; sentences about damage on the way are accepted."""
    from app.store.message_search import Search
    from app.store.upkeep import run_upkeep
    from common.failures import Failure

    with contextlib.suppress(Failure):
        for chat in [*store.chats(), *(chat for chat, _ in store.deleted_chats())]:
            store.messages(chat)
    search = Search(store.path)
    for work in (
        store.folders,
        store.recent_models,
        lambda: search.search("mark"),
        lambda: run_upkeep(store.path),
        store.close,
    ):
        with contextlib.suppress(Failure):
            work()
    search.close()


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.stat().st_size < 1 << 28
    }


def _words(folder: Path) -> set[str]:
    """Return the marks of messages that can be found in the files, however damaged these are."""
    whole = b"\0".join(_files(folder).values())
    return {mark for mark in MARKS if mark.encode() in whole}


def _check_kept(path: Path, before: dict[str, bytes], words: set[str]) -> None:
    """Raise Broken if something of the user's is no longer on the disk."""
    after = _files(path.parent)
    lost = words - _words(path.parent)
    if lost:
        raise Broken(
            f"{len(lost)} of {len(words)} messages are on the disk no more: {sorted(lost)[:3]}",
            f"{sorted(before)} {sorted(after)}",
        )
    main = before.get(path.name, b"")
    if main and not main.startswith(b"SQLite format 3") and main not in after.values():
        raise Broken("a file that was no store is gone", f"{sorted(before)} {sorted(after)}")


def _do_damage(path: Path, kind: str, what: Any) -> None:
    wal = path.with_name(path.name + "-wal")
    if kind == "whole":
        _replace(path, what)
        return
    raw = path.read_bytes() if path.is_file() else b""
    if kind == "bytes":
        path.is_file() and path.write_bytes(apply_byte_edits(raw, what))
    elif kind == "pages" and len(raw) > 8192:
        path.write_bytes(_torn(raw, *what))
    elif kind == "header" and raw:
        path.write_bytes(raw[: what[0]] + bytes([what[1]]) + raw[what[0] + 1 :])
    elif kind == "cut" and raw:
        path.write_bytes(raw[: what if isinstance(what, int) else int(what * len(raw))])
    elif kind == "sql":
        with contextlib.suppress(sqlite3.Error), contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.executescript(what)
    elif kind == "log":
        _replace_log(path, wal, *what)
    elif kind == "beside":
        path.with_name(path.name + what).write_bytes(raw[: len(raw) // 2])


def _torn(raw: bytes, how: str, one: float, other: float) -> bytes:
    size = 4096
    pages = [raw[at : at + size] for at in range(0, len(raw), size)]
    a, b = int(one * len(pages)), int(other * len(pages))
    if how == "swap":
        pages[a], pages[b] = pages[b], pages[a]
    else:
        pages[a] = {"zero": bytes(size), "noise": Random(one).randbytes(size), "copy": pages[b]}[how]
    return b"".join(pages)


def _replace(path: Path, what: str) -> None:
    if path.is_dir():  # an earlier damage has made it a folder
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    if what == "folder":
        path.mkdir()
        (path / "mine.txt").write_text("mine")
    elif what == "other":
        with contextlib.closing(sqlite3.connect(path)) as db:
            db.executescript("CREATE TABLE photos (name); INSERT INTO photos VALUES ('mine'); PRAGMA user_version = 3")
    elif what == "huge":
        with path.open("wb") as file:
            file.truncate(1 << 28)
    else:
        path.write_bytes(
            {"empty": b"", "text": b"Dear diary, these are my own words. " * 300, "zeros": bytes(40_960)}[what]
        )


def _replace_log(path: Path, wal: Path, how: str, *what: Any) -> None:
    if how == "other":
        other = _bases(path.parent.parent) / "other" / "library.sqlite3-wal"
        wal.write_bytes(other.read_bytes())
    elif how == "edited":
        wal.write_bytes(apply_byte_edits(wal.read_bytes() if wal.exists() else b"", *what))
    elif how == "only":
        if path.is_file():  # unless an earlier damage has made it a folder
            path.unlink()
    else:
        wal.write_bytes(b"" if how == "empty" else b"This is no log. " * 600)


def _bases(home: Path) -> Path:
    """Return the folder of the stores to damage, making them once.

    One was closed, one was left by a killed program, and one is unrelated.
    """
    bases = home / "bases"
    if not bases.exists():
        for name, words in (("open", "mark"), ("other", "other")):
            _fill(make_folder(bases, "making") / "library.sqlite3", words, bases / name)
            if name == "open":
                shutil.copytree(bases / "making", bases / "closed")
            shutil.rmtree(bases / "making")
    return bases


def _fill(path: Path, word: str, left: Path) -> None:
    """Make a store at `path`, copy it to `left` while it is open, and close it."""
    from app.attachments.attachment import Attachment
    from app.store.chat import Chat, ChatMessage, Folder
    from app.store.recovery import open_store

    store, _ = open_store(path)
    store.save_folder(Folder("Work", id="folder"))
    for number in range(CHATS):
        chat = Chat(f"chat {number}", id=f"{word}{number}", folder_id="folder" if number % 3 == 0 else None)
        above, turns = None, []
        for turn in range(TURNS):
            file = Attachment("notes.txt", "text", 5, "notes " * 50, ((0, 300),), (), None)
            said = f"{word}-{number}-{turn}- 答案 " + "words " * (700 if turn == 4 else 5)
            turns.append(ChatMessage(chat.id, above, "assistant" if turn % 2 else "user", said,
            f"{word}m{number}-{turn}",
                                     attachments=(file,) if turn == 0 else ()))  # fmt: skip
            above = turns[-1].id
        store.save(chat, turns)
    store.remember_model(Path("a model"))
    store.delete(f"{word}0")
    shutil.copytree(path.parent, left)
    store.close()


class Stores:
    """Runner of the cases of the chat store."""

    name = "stores"
    recipe = staticmethod(recipe)

    def __init__(self, folder: Path) -> None:
        self._worker = Worker("stores", folder / "store", folder, LIMITS)

    @property
    def peak(self) -> int:
        return self._worker.peak

    def run(self, recipe: Recipe) -> str:
        return self._worker.run_case(recipe)

    def close(self) -> None:
        self._worker.close()


__all__ = ["Stores", "recipe", "run_case"]
