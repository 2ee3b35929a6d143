"""A lock that any number of threads share, or one has alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class SharedLock:
    """A lock for something that many threads may use at once, and that one thread may end when nobody uses it."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._users = 0

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Use it together with others; waits while a thread has it alone."""
        with self._changed:
            self._users += 1
        try:
            yield
        finally:
            with self._changed:
                self._users -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody uses it, and have it alone."""
        with self._changed:
            self._changed.wait_for(lambda: not self._users)
            yield
