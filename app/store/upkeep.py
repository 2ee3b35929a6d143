"""Upkeep of the store in idle time: removes deleted data from the file and indexes the text of attached files.

All work is done in steps of some milliseconds on a connection of its own, so that other writers hardly wait. Upkeep
that was stopped continues the next time. Knows no windows; must not run in the window's thread.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from app.store.chat_store import DOOMED, KEEP_DELETED_SECONDS, forget_unsent
from app.store.database import failures, transaction
from app.store.migrations import open_migrated

PIECE = 20_000  # characters of a file in one entry of the index; takes some milliseconds
MOST_INDEXED = 1_000_000  # characters of one file: a thick novel
REMOVED = 20  # messages removed in one step
MERGED_PAGES = 64  # pages of the index merged in one step
SMALL = 1 << 20  # bytes of a store that SQLite copies in some milliseconds
GAP_SECONDS = 0.002  # between steps, for other writers
INDEXES = ("message_index", "attachment_index")


def run_upkeep(path: Path, wanted: Callable[[], bool] = lambda: True) -> None:
    """Do all pending upkeep of the store at `path` while `wanted` returns True. Raises Failure."""
    with failures(path), contextlib.closing(open_migrated(path)) as db:
        for _ in chain(remove_deleted(db), _forget_words(db), _index_files(db)):
            if not wanted():
                return
            time.sleep(GAP_SECONDS)
        if _is_mostly_free(db):
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")  # does not wait; the window's connection never checkpoints


def _is_mostly_free(db: sqlite3.Connection) -> bool:
    """Return whether a large file has little content. Only such a file is rewritten, which takes a few milliseconds.

    All writers wait for the rewriting.
    """
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return bool((pages - free) * size <= SMALL and free * size > SMALL)


def remove_deleted(db: sqlite3.Connection) -> Iterator[None]:
    """Remove chats that were deleted permanently or long ago, and messages deleted long ago, a few in each step."""
    pieces = (DOOMED_PIECES, TAKE_OUT, "DELETE FROM attachment_pieces WHERE number = ?")
    delete = "DELETE FROM messages WHERE number = ?"
    for find, *removals in (pieces, (DOOMED_MESSAGES, delete), (OLD_MESSAGES, delete)):
        while True:
            with transaction(db):
                numbers = db.execute(find, {"old": time.time() - KEEP_DELETED_SECONDS}).fetchall()
                for removal in removals:
                    db.executemany(removal, numbers)
            if not numbers:
                break
            yield
    forget_unsent(db)  # or they would be the drafts of new chats
    db.execute(f"DELETE FROM chats WHERE deleted_at = {DOOMED}")


def _index_files(db: sqlite3.Connection) -> Iterator[None]:
    """Index one piece of a file in each step."""
    while (file := db.execute(UNCUT).fetchone()) is not None:
        message_id, position, length = file
        starts = range(0, min(length, MOST_INDEXED), PIECE) or (0,)
        with transaction(db):
            db.executemany(
                "INSERT INTO attachment_pieces (message_id, position, start, length) VALUES (?, ?, ?, ?)",
                [(message_id, position, start, PIECE) for start in starts],
            )
        yield
    while (piece := db.execute(UNREAD).fetchone()) is not None:
        with transaction(db):
            db.execute(TAKE_IN, piece)
            db.execute("UPDATE attachment_pieces SET indexed = 1 WHERE number = ?", piece)
        yield


def _forget_words(db: sqlite3.Connection) -> Iterator[None]:
    """Merge the indexes step by step: words of deleted text stay in older parts of an index until that is done."""
    (wanted,) = db.execute("SELECT coalesce(max(deletions), 0) FROM unmerged").fetchone()
    if not wanted:
        return
    for index in INDEXES:
        pages = -MERGED_PAGES  # negative the first time: merges all parts, even a few
        changes = -2
        while db.total_changes - changes >= 2:  # https://sqlite.org/fts5.html#the_merge_command
            changes = db.total_changes
            with transaction(db):
                db.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('merge', ?)", (pages,))
            pages = MERGED_PAGES
            yield
    (busy, *_) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if not busy:  # otherwise the words may still be in the write-ahead log
        db.execute("DELETE FROM unmerged WHERE deletions = ?", (wanted,))  # stays if more was deleted meanwhile


DOOMED_MESSAGES = f"""SELECT messages.number FROM chats JOIN messages ON messages.chat_id = chats.id
    WHERE chats.deleted_at = {DOOMED} LIMIT {REMOVED}"""
DOOMED_PIECES = f"""SELECT p.number FROM chats JOIN messages ON messages.chat_id = chats.id
    JOIN attachment_pieces AS p ON p.message_id = messages.id WHERE chats.deleted_at = {DOOMED} LIMIT 1"""
OLD_MESSAGES = f"SELECT number FROM messages WHERE deleted_at > 0 AND deleted_at < :old LIMIT {REMOVED}"
WORDS = """p.number, spaced(a.name || char(10) || substr(a.text, p.start + 1, p.length)) FROM attachment_pieces AS p
    JOIN attachments AS a ON a.message_id = p.message_id AND a.position = p.position WHERE p.number = ?"""
TAKE_IN = f"INSERT INTO attachment_index (rowid, words) SELECT {WORDS}"
TAKE_OUT = f"""INSERT INTO attachment_index (attachment_index, rowid, words)
    SELECT 'delete', {WORDS} AND p.indexed = 1"""
UNCUT = """SELECT message_id, position, length(text) FROM attachments AS a WHERE text != '' AND NOT EXISTS
    (SELECT 1 FROM attachment_pieces AS p WHERE p.message_id = a.message_id AND p.position = a.position) LIMIT 1"""
UNREAD = "SELECT number FROM attachment_pieces WHERE indexed = 0 LIMIT 1"
