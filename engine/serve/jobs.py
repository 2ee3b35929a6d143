"""The queues of requests: jobs, of which one runs at a time, and counts of tokens, which run beside them."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from common.failures import Failure
from common.sentences import Sentence
from engine.protocol.events import Event, Failed
from engine.protocol.requests import Count, Detokenize, Forget, Generate, Prepare, Request, Title, Tokenize
from engine.stop import StopFlag

log = logging.getLogger("engine.serve")
CountRequest = Count | Tokenize | Detokenize


class JobQueue:
    """The queue of requests, of which one runs at a time.

    Cancelling the running request sets the engine's stop flag; cancelling a waiting one is remembered until its turn.
    An answer in the background may be paused for another one.
    """

    def __init__(self, stop: StopFlag) -> None:
        self.stop = stop
        self._waiting: deque[Request] = deque()
        self._running: Request | None = None
        self._paused: Request | None = None
        self._idle = False
        self._cancelled: set[int] = set()
        self._changed = threading.Condition()

    def put(self, request: Request) -> None:
        """Queue a request; stop idle work, and cancel every running or waiting Prepare and Title: they give way to it.

        A Title stops idle work alone.
        """
        with self._changed:
            if self._idle:
                self.stop.set()
            for job in (self._running, *self._waiting):
                if isinstance(job, Prepare | Title) and not isinstance(request, Title):
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
            self._set_stop_for(job.id)
            return job

    def urgent_waits(self) -> bool:
        """Return whether an answer waits for which the running one is to be paused, with nothing long before it."""
        with self._changed:
            if not (isinstance(self._running, Generate) and self._running.background):
                return False
            following = next((job for job in self._waiting if not isinstance(job, Forget | Prepare | Title)), None)
            return isinstance(following, Generate) and not following.background

    def pause_for_next(self) -> Request:
        """Pause the running request and return the next one, as `next_job` does; `resume` must follow."""
        with self._changed:
            assert self._running
            if self.stop.is_set():
                self._cancelled.add(self._running.id)
            self._paused = self._running
            self._running = self._waiting.popleft()
            self._set_stop_for(self._running.id)
            return self._running

    def resume(self) -> None:
        """Let the paused request run again."""
        with self._changed:
            self._running, self._paused = self._paused, None
            if self._running:
                self._set_stop_for(self._running.id)

    def _set_stop_for(self, id: int) -> None:
        """Set the stop flag if the request was cancelled before, else clear it."""
        self.stop.clear()
        if id in self._cancelled:
            self._cancelled.discard(id)
            self.stop.set()

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
        """Cancel the running request, a paused one, and all waiting ones."""
        with self._changed:
            for job in (self._running, self._paused, *self._waiting):
                if job:
                    self._cancel(job.id)

    def _cancel(self, id: int) -> bool:
        if self._running and self._running.id == id:
            self.stop.set()
            return True
        if any(job.id == id for job in (self._paused, *self._waiting) if job):
            self._cancelled.add(id)
            return True
        return False


LONG_TEXT = 1 << 16  # characters: 0.1 s


def size_of(request: CountRequest) -> int:
    """Return about how many characters a request is about."""
    match request:
        case Count():
            return sum(map(len, request.texts)) + sum(len(message.content) for message in request.messages)
        case Tokenize():
            return len(request.text)
        case Detokenize():
            return len(request.tokens)


class Counters:
    """Two threads that count tokens, one request after the other: what takes a moment does not wait for a book.

    A book takes a second. So neither an answer nor Cancel and Status wait for a count.
    """

    def __init__(self, count: Callable[[CountRequest], Event], send: Callable[[Event], None]) -> None:
        self._count, self._send = count, send
        self._short, self._long = (ThreadPoolExecutor(1, thread_name_prefix="counter") for _ in range(2))

    def put(self, request: CountRequest) -> None:
        """Queue a request."""
        (self._long if size_of(request) > LONG_TEXT else self._short).submit(self._run, request)

    def close(self) -> None:
        """Count the requests that are already queued, then end the threads."""
        self._short.shutdown()
        self._long.shutdown()

    def _run(self, request: CountRequest) -> None:
        try:
            self._send(self._answer(request))
        except BrokenPipeError:  # the window is gone, and so will be our input
            self._short.shutdown(wait=False, cancel_futures=True)
            self._long.shutdown(wait=False, cancel_futures=True)

    def _answer(self, request: CountRequest) -> Event:
        try:
            return self._count(request)
        except Failure as failure:
            return Failed(request.id, failure.sentence, failure.detail)
        except Exception as error:
            log.exception("bug while counting")
            return Failed(request.id, Sentence.of("internal.counting"), repr(error))
