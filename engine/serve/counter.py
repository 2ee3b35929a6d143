"""Counting tokens in a thread of its own: a book takes a second, and nobody waits for it."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
from collections.abc import Callable

from common.failures import Failure
from common.sentences import Sentence
from engine.protocol.events import Event, Failed
from engine.protocol.requests import Count, Detokenize, Tokenize

log = logging.getLogger("engine.serve")
CountRequest = Count | Tokenize | Detokenize


class Counter:
    """A thread that answers one request about tokens after the other until `close`.

    So neither an answer nor Cancel and Status wait for a count.
    """

    def __init__(self, count: Callable[[CountRequest], Event], send: Callable[[Event], None]) -> None:
        self._count, self._send = count, send
        self._waiting: queue.SimpleQueue[CountRequest | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="counter")
        self._thread.start()

    def put(self, request: CountRequest) -> None:
        """Queue a request."""
        self._waiting.put(request)

    def close(self) -> None:
        """Count the requests that are already queued, then end the thread."""
        self._waiting.put(None)
        self._thread.join()

    def _run(self) -> None:
        with contextlib.suppress(BrokenPipeError):  # the window is gone, and so will be our input
            while (request := self._waiting.get()) is not None:
                self._send(self._answer(request))

    def _answer(self, request: CountRequest) -> Event:
        try:
            return self._count(request)
        except Failure as failure:
            return Failed(request.id, failure.sentence, failure.detail)
        except Exception as error:
            log.exception("bug while counting")
            return Failed(request.id, Sentence.of("internal.counting"), repr(error))
