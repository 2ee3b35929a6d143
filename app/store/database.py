"""How every part opens the store's file, and the sentence for each way in which SQLite can fail."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from common.failures import Failure

WAIT_SECONDS = 0.2  # one writer per data folder, so a lock is someone's backup: wait briefly, never freeze the window


def open_database(path: Path) -> sqlite3.Connection:
    """A connection for reading and writing; the file is created, private to the user, when there is none.

    Raises OSError and sqlite3.Error: `failures` turns them into what the user reads.
    """
    # Never opened and closed beside SQLite where it is open: on POSIX that would drop the locks of all this process's
    # connections, and another program that then closes the file would take the write-ahead log away under them.
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    db = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        # Survives the end of the process; only the end of the power can lose the last commits, never the file.
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA secure_delete = ON")  # what is deleted for good is overwritten, not just let go
    except BaseException:
        db.close()
        raise
    return db


class Place:
    """Notices that the file at `path` was moved or deleted while it is open: SQLite would go on writing to nowhere."""

    def __init__(self, path: Path) -> None:
        self._path, self._was = path, self._identity(path)

    def check(self) -> None:
        """Raises Failure."""
        if self._identity(self._path) != self._was:
            raise Failure("store_gone.file", path=self._path)

    @staticmethod
    def _identity(path: Path) -> tuple[int, int] | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A second connection that cannot write; it sees what is committed, and may be interrupted from another thread."""
    db = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA query_only = ON")
    return db


def beside(path: Path, end: str) -> Path:
    """The file that goes with the store's: its write-ahead log, a part of a rebuilt one, a mark."""
    return path.with_name(path.name + end)


def damage_mark(path: Path) -> Path:
    """Stands beside a store in which something damaged was met: the next start looks through all of it."""
    return beside(path, ".damaged")


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All of the block's writes or none."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # SQLite has rolled back by itself after some errors, e.g. a full disk
            db.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def failures(path: Path) -> Iterator[None]:
    """SQLite's errors (disk full, file gone, file damaged, locked) become a Failure the user can read."""
    try:
        yield
    except sqlite3.Error as error:
        failure = failure_of(path, error)
        if failure.code == "store_damaged":
            with contextlib.suppress(OSError):
                damage_mark(path).touch(mode=0o600)
        raise failure from error
    except OSError as error:
        raise _cannot_store(path, error.strerror or str(error), error) from error


def failure_of(path: Path, error: sqlite3.Error) -> Failure:
    name = getattr(error, "sqlite_errorname", "") or ""
    known = next((id for id, names in KNOWN.items() if name.startswith(names)), None)
    return Failure(known, str(error), path=path) if known else _cannot_store(path, str(error), error)


def _cannot_store(path: Path, reason: str, error: Exception) -> Failure:
    return Failure("store.unwritable", str(error), path=path, reason=reason)


KNOWN = {
    "disk_full.chats": ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"),  # or its index of the log has no room
    "store_damaged.file": ("SQLITE_CORRUPT", "SQLITE_NOTADB"),
    "store_locked.file": ("SQLITE_BUSY", "SQLITE_LOCKED"),
    "store_readonly.file": ("SQLITE_READONLY",),
}
