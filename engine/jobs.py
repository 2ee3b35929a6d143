"""The queue between the thread that reads requests and the one that does them; knows which request may stop which."""

from __future__ import annotations

import threading
from collections import deque

from engine.protocol import Prepare, Request
from engine.stop import StopFlag


class Jobs:
    """One job runs at a time. Stopping a request sets the engine's flag if it runs, or remembers it if it waits."""

    def __init__(self, stop: StopFlag) -> None:
        self.stop = stop
        self._waiting: deque[Request] = deque()
        self._running: Request | None = None
        self._idle = False
        self._cancelled: set[int] = set()
        self._changed = threading.Condition()

    def put(self, request: Request) -> None:
        """Queue a request. What is done in idle time, and a running or waiting Prepare, give way to it."""
        with self._changed:
            if self._idle:
                self.stop.set()
            for job in (self._running, *self._waiting):
                if isinstance(job, Prepare):
                    self._cancel(job.id)
            self._waiting.append(request)
            self._changed.notify()

    def take(self, patience: float | None = None) -> Request | None:
        """Wait for the next request; it counts as running until the next call. The flag is set if it was cancelled.

        None after `patience` seconds without one: there is time for something that the next request will stop."""
        with self._changed:
            self._running, self._idle = None, False
            if not self._changed.wait_for(lambda: self._waiting, patience):
                self._idle = True
                self.stop.clear()
                return None
            job = self._running = self._waiting.popleft()
            self.stop.clear()
            if job.id in self._cancelled:
                self._cancelled.discard(job.id)
                self.stop.set()
            return job

    def finish(self, id: int) -> None:
        """Request `id` has nothing more to do: from now on it cannot be stopped."""
        with self._changed:
            if self._running and self._running.id == id:
                self._running = None

    def cancel(self, id: int) -> bool:
        """Stop request `id`; False if it is neither running nor waiting."""
        with self._changed:
            return self._cancel(id)

    def cancel_all(self) -> None:
        with self._changed:
            for job in (self._running, *self._waiting):
                if job:
                    self._cancel(job.id)

    def _cancel(self, id: int) -> bool:
        if self._running and self._running.id == id:
            self.stop.set()
            return True
        if any(job.id == id for job in self._waiting):
            self._cancelled.add(id)
            return True
        return False
