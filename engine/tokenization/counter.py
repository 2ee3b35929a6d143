"""Counts tokens in a thread of its own, so that neither an answer nor Cancel and Status wait for it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable

from engine.protocol import Count
from engine.stop import Stopped


def counted(pieces: Iterable[int], stopped: Callable[[], bool]) -> int:
    """The sum of what pieces of a text come to. Raises Stopped between two of them when `stopped` says so."""
    total = 0
    for tokens in pieces:
        if stopped():
            raise Stopped
        total += tokens
    return total


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
