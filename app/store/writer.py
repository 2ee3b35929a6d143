"""Writes to the store in order: short ones at once, long ones in a thread, and behind these whatever comes meanwhile.

A file of three million characters takes SQLite longer than a frame. Two connections that write at the same time would
wait for each other, so that there is one order for all. Knows no windows.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
from collections import deque
from collections.abc import Callable
from pathlib import Path
from queue import Queue
from threading import Thread

from app.bugs import BUG
from app.store.database import Place, failures, open_database
from app.store.migrations import know_spaced
from common.failures import Failure

log = logging.getLogger(__name__)
Work = Callable[[sqlite3.Connection], object]
Done = Callable[[Failure | None], object]
Tell = Callable[[Callable[[], object]], object]


class Writer:
    """Until `use_thread`, and after `close`, every write is done at once. `db` is the connection for short ones."""

    def __init__(self, place: Place, path: Path, db: sqlite3.Connection) -> None:
        self._place, self._path, self._db = place, path, db
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
        with contextlib.closing(open_database(self._path)) as db:
            know_spaced(db)
            work(db)

    def _outcome(self, work: Callable[[], object]) -> Failure | None:
        """A bug in `work` is logged and told as one: the thread must go on, for everything waits for it."""
        try:
            self._place.check()
            with failures(self._path):
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
