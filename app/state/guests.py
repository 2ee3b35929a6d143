"""Requests of other programs to the window's engine, which come by the local API: answered while no chat waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Literal

from app.events import Event
from common.sentences import Sentence
from engine.client import EngineClient, Heard
from engine.protocol.events import ENDS, Failed, PrefillProgress
from engine.protocol.events import Event as EngineEvent
from engine.protocol.requests import Cancel, Embed, Generate, Request

CANCELLED = Sentence.of("cancelled.request")


class Guests:
    """Requests of one other program, the API's front, by the ids that it gave them.

    Those that take long wait here, one runs at a time, and chats go first: a request that is being read is stopped for
    a chat and begins again afterwards, an answer that is being written is paused by the engine. `heard` gets the
    events, with the program's ids, and `done` is called whenever one has ended. `changed` is emitted when the first one
    begins or the last ends.
    """

    def __init__(self, client: EngineClient, done: Callable[[], object]) -> None:
        self.heard: Heard = lambda _event: None
        self.changed: Event[()] = Event()
        self._client, self._done = client, done
        self._waiting: deque[Generate | Embed] = deque()
        self._running: Generate | Embed | None = None
        self._id = 0  # the running one's at the engine
        # `reading` until something of the running one's answer is written; `yielding` while it is stopped for a chat
        self._phase: Literal["reading", "writing", "yielding"] = "writing"

    @property
    def busy(self) -> bool:
        """Whether one runs."""
        return self._running is not None

    @property
    def in_the_way(self) -> bool:
        """Whether one runs that the engine does not pause for a chat."""
        return self.busy and (self._phase != "writing" or isinstance(self._running, Embed))

    @property
    def waiting(self) -> bool:
        return bool(self._waiting)

    def take(self, request: Request) -> None:
        """Take a request of the program."""
        if isinstance(request, Generate | Embed):
            self._waiting.append(request)
        elif isinstance(request, Cancel):
            self._cancel(request.request)
        else:
            id = request.id
            self._client.submit(request, lambda event: self.heard(replace(event, id=id)))

    def start_next(self) -> None:
        """Send the request that waits longest."""
        request = self._running = self._waiting.popleft()
        self._phase = "reading"
        sent = replace(request, background=True) if isinstance(request, Generate) else request
        self._id = self._client.submit(sent, partial(self._hear_answer, request))
        self.changed.emit()

    def give_way(self) -> None:
        """Stop the running request for a chat, if nothing of its answer is written yet; it begins again afterwards."""
        if self.busy and self._phase == "reading":
            self._phase = "yielding"
            self._client.cancel(self._id)

    def fail_waiting(self, sentence: Sentence) -> None:
        """End the requests that wait with a sentence."""
        waiting, self._waiting = self._waiting, deque()
        for request in waiting:
            self.heard(Failed(request.id, sentence))

    def drop_all(self) -> None:
        """Forget everything, because the program has ended."""
        self.heard = lambda _event: None
        self._waiting.clear()
        self._stop()

    def _cancel(self, id: int) -> None:
        if self._running and self._running.id == id:
            self._stop()
        elif waiting := next((request for request in self._waiting if request.id == id), None):
            self._waiting.remove(waiting)
            self.heard(Failed(id, CANCELLED))

    def _stop(self) -> None:
        """Stop the running request for good."""
        self._phase = "reading" if self._phase == "yielding" else self._phase
        self._client.cancel(self._id)

    def _hear_answer(self, request: Generate | Embed, event: EngineEvent) -> None:
        ends = isinstance(event, ENDS)
        failed = isinstance(event, Failed) and event.code != "cancelled"
        if self._phase == "yielding" and not failed:  # what came since it was stopped is written again
            if ends:
                self._waiting.appendleft(request)
        else:
            if not isinstance(event, PrefillProgress):
                self._phase = "writing"
            self.heard(replace(event, id=request.id))
        if ends:
            self._running, self._id = None, 0
            self.changed.emit()
            self._done()
