"""How every part opens the store's file and writes to it, and the sentence for each way in which SQLite can fail."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from threading import Thread

from app.bugs import BUG
from common.failures import Failure

log = logging.getLogger(__name__)
WAIT_SECONDS = 0.2  # one writer per data folder, so a lock is someone's backup: wait briefly, never freeze the window
KNOWN = {
    "disk_full.chats": ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"),  # or its index of the log has no room
    "store_damaged.file": ("SQLITE_CORRUPT", "SQLITE_NOTADB"),
    "store_locked.file": ("SQLITE_BUSY", "SQLITE_LOCKED"),
    "store_readonly.file": ("SQLITE_READONLY",),
}
Work = Callable[[sqlite3.Connection], object]
Done = Callable[[Failure | None], object]
Tell = Callable[[Callable[[], object]], object]


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
        self.path, self._was = path, self._identity(path)

    def check(self) -> None:
        """Raises Failure."""
        if self._identity(self.path) != self._was:
            raise Failure("store_gone.file", path=self.path)

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
    except UnicodeDecodeError as error:  # what SQLite says of the damage has a piece of the damaged file in it
        with contextlib.suppress(OSError):
            damage_mark(path).touch(mode=0o600)
        raise Failure("store_damaged.file", str(error), path=path) from error
    except OSError as error:
        raise _cannot_store(path, error.strerror or str(error), error) from error


def failure_of(path: Path, error: sqlite3.Error) -> Failure:
    name = getattr(error, "sqlite_errorname", "") or ""
    known = next((id for id, names in KNOWN.items() if name.startswith(names)), None)
    return Failure(known, str(error), path=path) if known else _cannot_store(path, str(error), error)


def _cannot_store(path: Path, reason: str, error: Exception) -> Failure:
    return Failure("store.unwritable", str(error), path=path, reason=reason)


class Writer:
    """Writes in order: short ones at once, long ones in a thread, and behind these whatever comes meanwhile.

    A file of three million characters takes SQLite longer than a frame. Two connections that write at the same time
    would wait for each other, so that there is one order for all. Until `use_thread`, and after `close`, every write
    is done at once. `db` is the connection for short ones, `connect` makes one for the thread."""

    def __init__(self, place: Place, db: sqlite3.Connection, connect: Callable[[], sqlite3.Connection]) -> None:
        self._place, self._db, self._connect = place, db, connect
        self._tell: Tell | None = None
        self._queue: Queue[tuple[Work, Done] | None] = Queue()
        self._ended: deque[tuple[Done, Failure | None]] = deque()
        self._under_way = 0
        self._thread: Thread | None = None

    def use_thread(self, tell: Tell) -> None:
        """From now on long writes have a thread; `tell` has a function called in the thread that asks for writes.

        Short ones no longer move SQLite's log into the file, which waits for the disk: app.store.upkeep does."""
        self._tell = tell
        self._db.execute("PRAGMA wal_autocheckpoint = 0")

    def write(self, work: Work, done: Done, long: bool = False) -> None:
        """Do `work`, then tell `done` why it could not be done, or None: before this returns, or later."""
        if self._tell is None or not (long or self._under_way):
            done(self._outcome(lambda: work(self._db)))
            return
        if self._thread is None:
            self._thread = Thread(target=self._run, args=(self._tell,), daemon=True)
            self._thread.start()
        self._under_way += 1
        self._queue.put((work, done))

    def settle(self) -> None:
        """Wait until nothing is being written; who asked for it hears that later."""
        self._queue.join()

    def close(self) -> None:
        """Do what is still to be done."""
        self._tell = None
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join()
            self._deliver()

    def _run(self, tell: Tell) -> None:
        while (job := self._queue.get()) is not None:
            work, done = job
            self._ended.append((done, self._outcome(lambda work=work: self._apart(work))))  # type: ignore[misc]
            self._queue.task_done()
            tell(self._deliver)
        self._queue.task_done()

    def _apart(self, work: Work) -> None:
        with contextlib.closing(self._connect()) as db:
            work(db)

    def _outcome(self, work: Callable[[], object]) -> Failure | None:
        """A bug in `work` is logged and told as one: the thread must go on, for everything waits for it."""
        try:
            self._place.check()
            with failures(self._place.path):
                work()
        except Failure as failure:
            return failure
        except Exception as error:
            log.exception("bug in a write")
            return Failure(BUG, repr(error))
        return None

    def _deliver(self) -> None:
        while self._ended:
            done, failure = self._ended.popleft()
            self._under_way -= 1
            done(failure)
