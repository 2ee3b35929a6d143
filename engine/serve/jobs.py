"""The queue of requests, of which one runs at a time."""

from __future__ import annotations

import threading
from collections import deque

from engine.protocol.requests import Prepare, Request
from engine.stop import StopFlag


class Jobs:
    """The queue of requests, of which one runs at a time.

    Cancelling the running request sets the engine's stop flag; cancelling a waiting one is remembered until its turn.
    """

    def __init__(self, stop: StopFlag) -> None:
        self.stop = stop
        self._waiting: deque[Request] = deque()
        self._running: Request | None = None
        self._idle = False
        self._cancelled: set[int] = set()
        self._changed = threading.Condition()

    def put(self, request: Request) -> None:
        """Queue a request; stop idle work and cancel every running or waiting Prepare, because they give way to it."""
        with self._changed:
            if self._idle:
                self.stop.set()
            for job in (self._running, *self._waiting):
                if isinstance(job, Prepare):
                    self._cancel(job.id)
            self._waiting.append(request)
            self._changed.notify()

    def next_job(self, patience: float | None = None) -> Request | None:
        """Wait for the next request and return it; it counts as running until the next call.

        The stop flag is set if the request was cancelled while it waited, else cleared. Returns None after `patience`
        seconds without a request; the caller may then do idle work, which the next request will stop.
        """
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
        """Mark request `id` as finished: from now on it cannot be cancelled."""
        with self._changed:
            if self._running and self._running.id == id:
                self._running = None

    def cancel(self, id: int) -> bool:
        """Cancel request `id`; return False if it is neither running nor waiting."""
        with self._changed:
            return self._cancel(id)

    def cancel_all(self) -> None:
        """Cancel the running request and all waiting ones."""
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
