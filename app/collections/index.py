"""The index of all collections in one SQLite file: files, passages' words and vectors, and the compressed texts.

All of it can be computed again from the user's files. Only the indexing process writes; the file is private (0600).
Words are in two FTS5 indexes without content and positions (`detail = none`), which takes an eighth of the text where
positions would take a quarter: `words` has each word of a passage, `repeated` those that occur more than once. BM25
needs no more (`ranking.py`), and FTS5's own would need the positions.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from app.attachments.kinds import AttachmentKind
from app.collections import INDEX_NAME
from app.collections.passages import Passage
from app.collections.texts import DamagedBlock, blocks_of, unpack
from app.collections.words import indexed_words

VERSION = 3  # of the schema and of everything that decides how a text becomes passages, words and codes
WAIT_SECONDS = 10.0
READING = "reading"  # in place of a reason for a refusal: a mark that stays if the process dies over the file
PARTS = ("", "-wal", "-shm")  # what SQLite appends to the name of the index for its own files
SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
CREATE TABLE files (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, modified INTEGER NOT NULL,
    kind TEXT NOT NULL, refused TEXT NOT NULL DEFAULT '', details TEXT NOT NULL DEFAULT '',
    characters INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE passages (
    file_id INTEGER PRIMARY KEY, first INTEGER NOT NULL, count INTEGER NOT NULL, lengths BLOB NOT NULL,
    codes BLOB NOT NULL) STRICT;
CREATE TABLE texts (file_id INTEGER NOT NULL, first INTEGER NOT NULL, block BLOB NOT NULL) STRICT;
CREATE UNIQUE INDEX texts_in_order ON texts (file_id, first);
CREATE VIRTUAL TABLE words USING fts5(text, content = '', columnsize = 0, detail = none, tokenize = 'porter unicode61');
CREATE VIRTUAL TABLE repeated USING fts5(
    text, content = '', columnsize = 0, detail = none, tokenize = 'porter unicode61');
"""


@dataclass(frozen=True, slots=True)
class FileEntry:
    """An entry of the index about a file: `modified` in nanoseconds, and why it could not be read ("" if it was)."""

    path: str
    size: int
    modified: int
    kind: AttachmentKind = "text"
    refused: str = ""
    details: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """An indexed file: `size` in bytes, and how many characters its text has."""

    path: str
    size: int
    kind: AttachmentKind
    characters: int


def open_index(folder: Path, writes: bool = False) -> sqlite3.Connection:
    """Return a connection to the index in `folder`; if it `writes`, an index of another version is made anew.

    Raises sqlite3.Error and OSError.
    """
    if writes and version_of(folder) not in (VERSION, 0):
        remove_index(folder)
    path = folder / INDEX_NAME
    if writes and not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    db = _connect(path)
    try:
        if writes:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = NORMAL")  # a power failure may lose the last commits, never the file
            db.execute("PRAGMA secure_delete = ON")  # forgotten texts are overwritten
            _create(db)
        else:
            db.execute("PRAGMA query_only = ON")
    except BaseException:
        db.close()
        raise
    return db


def remove_index(folder: Path) -> None:
    """Delete the index, which is made anew from the user's files. Raises OSError while another process reads it."""
    for part in PARTS:
        (folder / (INDEX_NAME + part)).unlink(missing_ok=True)


def is_damaged(error: Exception) -> bool:
    """Return whether the error says that the index's file is damaged, rather than locked or full."""
    code: int = getattr(error, "sqlite_errorcode", 0)  # errors of Python's own module have none
    return isinstance(error, DamagedBlock) or code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def version_of(folder: Path) -> int:
    """Return the version of the index in `folder`; 0 if there is none yet. Raises sqlite3.Error."""
    if identity_of(folder) is None:
        return 0
    with contextlib.closing(_connect(folder / INDEX_NAME)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def identity_of(folder: Path) -> tuple[int, int] | None:
    """Return what tells the index's file from one that replaces it; None without a file."""
    try:
        status = (folder / INDEX_NAME).stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
    db.execute("PRAGMA temp_store = MEMORY")
    return db


def _create(db: sqlite3.Connection) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version == VERSION:
        return
    with transaction(db):
        for statement in SCHEMA.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {VERSION}")


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Commit all of the block's writes, or none of them if it raises."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


# --- writing ----------------------------------------------------------------------------------------------------------


def put_file(
    db: sqlite3.Connection,
    entry: FileEntry,
    text: str,
    passages: Sequence[Passage],
    indexed: Sequence[IndexedPassage],
) -> None:
    """Store a file with its passages, in place of what was known of it; `indexed` has the words of each passage."""
    forget_file(db, entry.path)
    file_id = put_entry(db, entry, len(text))
    first = _next_passage(db, len(indexed))
    blocks = ((file_id, number, block) for number, block in blocks_of(text, passages))
    db.executemany("INSERT INTO texts VALUES (?, ?, ?)", blocks)
    lengths = np.array([min(passage.n_words, 65_535) for passage in indexed], np.uint16)
    codes = b"".join(passage.code for passage in indexed)
    db.execute("INSERT INTO passages VALUES (?, ?, ?, ?, ?)", (file_id, first, len(indexed), lengths.tobytes(), codes))
    for table, rows in (
        ("words", ((at, p.words) for at, p in enumerate(indexed, first))),
        ("repeated", ((at, p.repeated) for at, p in enumerate(indexed, first) if p.repeated)),
    ):
        db.executemany(f"INSERT INTO {table} (rowid, text) VALUES (?, ?)", rows)


@dataclass(frozen=True, slots=True)
class IndexedPassage:
    """A passage as it is stored: its words, those that occur more than once, their number, and its code."""

    words: str
    repeated: str
    n_words: int
    code: bytes


def words_of(text: str, heading: str, name: str) -> Counter[str]:
    """Count the words of a passage with this text, as the index has them.

    The heading and the file's name count as text of the passage, because they say what it is about.
    """
    return indexed_words(f"{name} {heading} {text}")


def entries_of(words: Counter[str]) -> tuple[str, str]:
    """Return what the indexes `words` and `repeated` have of a passage with these words."""
    return " ".join(words), " ".join(word for word, count in words.items() if count > 1)


def put_entry(db: sqlite3.Connection, entry: FileEntry, characters: int = 0) -> int:
    """Store what is known of a file without its text, and return its id."""
    details = msgspec.json.encode(entry.details).decode() if entry.details else ""
    row = (entry.path, entry.size, entry.modified, entry.kind, entry.refused, details, characters)
    cursor = db.execute(
        """INSERT INTO files (path, size, modified, kind, refused, details, characters) VALUES (?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (path) DO UPDATE SET size = excluded.size, modified = excluded.modified, kind = excluded.kind,
            refused = excluded.refused, details = excluded.details, characters = excluded.characters
        RETURNING id""",
        row,
    )
    return int(cursor.fetchone()[0])


def forget_file(db: sqlite3.Connection, path: str) -> None:
    """Remove a file and all its words; the indexes' older parts have the words until `merge_words` has run."""
    row = db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
    if row is None:
        return
    place = db.execute("SELECT first FROM passages WHERE file_id = ?", row).fetchone()
    if place is not None:
        for at, (passage, text) in enumerate(read_passages(db, row[0]), place[0]):
            words, repeated = entries_of(words_of(text, passage.heading, Path(path).stem))
            db.execute("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", (at, words))
            if repeated:
                db.execute("INSERT INTO repeated (repeated, rowid, text) VALUES ('delete', ?, ?)", (at, repeated))
        _count(db, "forgotten", 1)
    for table in ("passages", "texts"):
        db.execute(f"DELETE FROM {table} WHERE file_id = ?", row)
    db.execute("DELETE FROM files WHERE id = ?", row)


def merge_words(db: sqlite3.Connection, pages: int = 200) -> Iterator[None]:
    """Merge the word indexes step by step, after which nothing is left of the words of forgotten files."""
    forgotten = fact(db, "forgotten")
    if forgotten == fact(db, "merged"):
        return
    for index in ("words", "repeated"):
        step, before = -pages, -2
        while db.total_changes - before >= 2:  # https://sqlite.org/fts5.html#the_merge_command
            before = db.total_changes
            db.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (step,))
            step = pages
            yield
    _set(db, "merged", forgotten)


def fact(db: sqlite3.Connection, name: str) -> int:
    row = db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


def _set(db: sqlite3.Connection, name: str, value: int) -> None:
    db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def _count(db: sqlite3.Connection, name: str, by: int) -> None:
    _set(db, name, fact(db, name) + by)


def _next_passage(db: sqlite3.Connection, count: int) -> int:
    """Return the number of the first of `count` new passages; a number is never used again."""
    first = fact(db, "next") + 1
    _count(db, "next", count)
    return first


# --- reading ----------------------------------------------------------------------------------------------------------


def known_files(db: sqlite3.Connection) -> dict[str, tuple[int, int, str]]:
    """Return the size, time of change and reason for a refusal of all files, by their paths."""
    rows = db.execute("SELECT path, size, modified, refused FROM files")
    return {path: (size, modified, refused) for path, size, modified, refused in rows}


def is_below(path: str, folder: str) -> bool:
    """Return whether the file at `path` lies in `folder` or below it."""
    return path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def read_file(db: sqlite3.Connection, file_id: int) -> StoredFile | None:
    """Return what is known of an indexed file; None if it was forgotten."""
    row = db.execute("SELECT path, size, kind, characters FROM files WHERE id = ?", (file_id,)).fetchone()
    return StoredFile(*row) if row else None


def read_passages(db: sqlite3.Connection, file_id: int) -> Iterator[tuple[Passage, str]]:
    """Yield the passages of a file in order, each with its text and the blanks around it."""
    for (block,) in db.execute("SELECT block FROM texts WHERE file_id = ? ORDER BY first", (file_id,)):
        yield from unpack(block)


def read_passage(db: sqlite3.Connection, file_id: int, index: int) -> tuple[Passage, str] | None:
    """Return passage `index` of a file with its text and the blanks around it; None if it was forgotten."""
    row = db.execute(
        "SELECT first, block FROM texts WHERE file_id = ? AND first <= ? ORDER BY first DESC LIMIT 1",
        (file_id, index),
    ).fetchone()
    passages = unpack(row[1])[index - row[0] :] if row else ()
    return passages[0] if passages else None


def refused_below(db: sqlite3.Connection, folders: Iterable[str]) -> list[tuple[str, str, dict[str, str]]]:
    """Return (path, reason, details) of the files below the folders that could not be read."""
    rows = db.execute("SELECT path, refused, details FROM files WHERE refused <> '' ORDER BY path").fetchall()
    folders = tuple(folders)
    return [
        (path, refused, msgspec.json.decode(details) if details else {})
        for path, refused, details in rows
        if any(is_below(path, folder) for folder in folders)
    ]
