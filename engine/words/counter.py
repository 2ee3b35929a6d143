"""Counts tokens in a thread of its own, so that neither an answer nor Cancel and Status wait for it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from engine.protocol import Count


class Counter:
    """`work` is called with one request after the other until `close`."""

    def __init__(self, work: Callable[[Count], None]) -> None:
        self._work = work
        self._waiting: queue.SimpleQueue[Count | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="counter")
        self._thread.start()

    def put(self, request: Count) -> None:
        self._waiting.put(request)

    def close(self) -> None:
        """Returns when what was asked for before is counted."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (request := self._waiting.get()) is not None:
            self._work(request)
