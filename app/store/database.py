"""Opening and writing of the store's file, and a sentence for each way in which SQLite can fail."""

from __future__ import annotations

import contextlib
import logging
import os
import sqlite3
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from threading import RLock, Thread

from app.bugs import BUG
from common.failures import Failure

log = logging.getLogger(__name__)
WAIT_SECONDS = 0.2  # we are the only writer, so a lock is a backup program's: wait briefly, never freeze the window
KNOWN = {
    "disk_full.chats": ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"),  # the latter: no room for the log's index
    "store_damaged.file": ("SQLITE_CORRUPT", "SQLITE_NOTADB"),
    "store_locked.file": ("SQLITE_BUSY", "SQLITE_LOCKED"),
    "store_readonly.file": ("SQLITE_READONLY",),
}
TURN = RLock()  # held by the thread whose write transaction is under way
Work = Callable[[sqlite3.Connection], object]
Done = Callable[[Failure | None], object]
Connect = Callable[[], contextlib.AbstractContextManager[sqlite3.Connection]]
Dispatch = Callable[[Callable[[], object]], object]


def open_database(path: Path) -> sqlite3.Connection:
    """Return a connection for reading and writing; a missing file is created, private to the user.

    Raises OSError and sqlite3.Error, which `failures` turns into sentences for the user.
    """
    # An existing file is never opened and closed beside SQLite: on POSIX that would drop the locks of all connections
    # of this process, and another program that closes the file would then delete the write-ahead log in use.
    if not path.exists():
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    db = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        # A killed process loses nothing; only a power failure can lose the last commits, and never the file.
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA secure_delete = ON")  # permanently deleted data is overwritten
    except BaseException:
        db.close()
        raise
    return db


class FileIdentity:
    """The identity of an open file, which shows whether the file was moved or deleted meanwhile.

    SQLite itself would keep writing into the lost file.
    """

    def __init__(self, path: Path) -> None:
        self.path, self._was = path, self._identity(path)

    def check(self) -> None:
        """Raise Failure if the file at `path` is another one than at the start."""
        if self._identity(self.path) != self._was:
            raise Failure("store_gone.file", path=self.path)

    @staticmethod
    def _identity(path: Path) -> tuple[int, int] | None:
        try:
            status = path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Return a read-only connection; it sees committed data and can be interrupted from another thread."""
    db = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    db.execute("PRAGMA query_only = ON")
    return db


def beside(path: Path, end: str) -> Path:
    """Return the path of a companion file of the store: its log, a part of a rebuilt store, or a mark."""
    return path.with_name(path.name + end)


def damage_mark(path: Path) -> Path:
    """Return the path of the mark that damage was met in a store, so that the next start reads the whole file."""
    return beside(path, ".damaged")


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Commit all of the block's writes, or none of them if it raises.

    Threads take turns. With SQLite's lock alone, a thread that waits looks now and then whether the file is free, and
    the window would hardly ever find it free beside an import, which writes one chat after the other.
    """
    with TURN:
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:  # after some errors, such as a full disk, SQLite has rolled back already
                db.execute("ROLLBACK")
            raise


@contextlib.contextmanager
def failures(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and the system in the block into a Failure that the user can read.

    Damage is also marked beside the store, for the next start.
    """
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
        failure = failure_of(path, error)
        if failure.code == "store_damaged":
            with contextlib.suppress(OSError):
                damage_mark(path).touch(mode=0o600)
        raise failure from error


def failure_of(path: Path, error: sqlite3.Error | UnicodeDecodeError | OSError) -> Failure:
    if isinstance(error, UnicodeDecodeError):  # SQLite's message contains a piece of the damaged file
        return Failure("store_damaged.file", str(error), path=path)
    name = getattr(error, "sqlite_errorname", "") or ""
    known = next((id for id, names in KNOWN.items() if name.startswith(names)), None)
    if known:
        return Failure(known, str(error), path=path)
    reason = getattr(error, "strerror", "") or str(error)
    return Failure("store.unwritable", str(error), path=path, reason=reason)


class Writer:
    """A queue of writes: short ones are done at once, long ones in a thread, and later ones wait for those.

    A file of three million characters takes SQLite longer than a frame, and two connections that write at the same time
    would block each other. Until `use_thread` and after `close`, every write is done at once. `db` is the connection
    for short writes, `connect` makes one for the thread.
    """

    def __init__(
        self, file_identity: FileIdentity, db: sqlite3.Connection, connect: Callable[[], sqlite3.Connection]
    ) -> None:
        self._file_identity, self._db, self._connect = file_identity, db, connect
        self._dispatch: Dispatch | None = None
        self._queue: Queue[tuple[Work, Done] | None] = Queue()
        self._finished: deque[tuple[Done, Failure | None]] = deque()
        self._unfinished = 0
        self._thread: Thread | None = None

    def use_thread(self, dispatch: Dispatch) -> None:
        """Do long writes in a thread from now on; `dispatch` calls a function in the thread that requests the writes.

        Short writes no longer checkpoint SQLite's log, which waits for the disk: app.store.upkeep does that.
        """
        self._dispatch = dispatch
        self._db.execute("PRAGMA wal_autocheckpoint = 0")

    def write(self, work: Work, done: Done, long: bool = False) -> None:
        """Do `work`, then call `done` with the Failure or None: before this returns, or later."""
        if self._dispatch is None or not (long or self._unfinished):
            done(self._outcome(work, lambda: contextlib.nullcontext(self._db)))
            return
        if self._thread is None:
            self._thread = Thread(target=self._run, args=(self._dispatch,), daemon=True)
            self._thread.start()
        self._unfinished += 1
        self._queue.put((work, done))

    def wait(self) -> None:
        """Wait until no write is under way; their `done` callbacks are called later."""
        self._queue.join()

    def close(self) -> None:
        """Do all pending writes and end the thread."""
        self._dispatch = None
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            thread.join()
            self._deliver()

    def _run(self, dispatch: Dispatch) -> None:
        while (job := self._queue.get()) is not None:
            work, done = job
            outcome = self._outcome(work, lambda: contextlib.closing(self._connect()))
            self._finished.append((done, outcome))
            self._queue.task_done()
            dispatch(self._deliver)
        self._queue.task_done()

    def _outcome(self, work: Work, connect: Connect) -> Failure | None:
        """Do `work` and return its Failure; a bug is logged and returned as one, because the thread must not end."""
        try:
            self._file_identity.check()
            with failures(self._file_identity.path), connect() as db:
                work(db)
        except Failure as failure:
            return failure
        except Exception as error:
            log.exception("bug in a write")
            return Failure(BUG, repr(error))
        return None

    def _deliver(self) -> None:
        while self._finished:
            done, failure = self._finished.popleft()
            self._unfinished -= 1
            done(failure)
