"""Requests of other programs to the window's engine, which come by the local API: answered while no chat waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from app.events import Event
from common.sentences import Sentence
from engine.protocol.events import ENDS, Failed, PrefillProgress
from engine.protocol.events import Event as EngineEvent
from engine.protocol.requests import Cancel, Embed, Generate, Request

Heard = Callable[[EngineEvent], object]
Post = Callable[[Request], int]  # sends a request to the engine and returns the id that it got


class Guests:
    """Requests of one other program, the API's front, by the ids that it gave them.

    Those that take long wait here, one runs at a time, and chats go first: a request that is being read is stopped for
    a chat and begins again afterwards, an answer that is being written is paused by the engine. `post` sends a request
    to the engine, and `heard` gets the events, with the program's ids. `changed` is emitted when the first one begins
    or the last ends.
    """

    def __init__(self, post: Post) -> None:
        self.heard: Heard = lambda _event: None
        self.changed: Event[()] = Event()
        self._post = post
        self._waiting: deque[Generate | Embed] = deque()
        self._running: tuple[int, Generate | Embed] | None = None  # with the engine's id
        self._reading = False  # nothing of the running one's answer is written yet
        self._gives_way = False  # the running one was stopped for a chat, and begins again afterwards
        self._questions: dict[int, int] = {}  # the program's ids by the engine's

    @property
    def busy(self) -> bool:
        """Whether one runs."""
        return self._running is not None

    @property
    def in_the_way(self) -> bool:
        """Whether one runs that the engine does not pause for a chat."""
        if self._running is None:
            return False
        return self._reading or self._gives_way or isinstance(self._running[1], Embed)

    @property
    def waiting(self) -> bool:
        return bool(self._waiting)

    def take(self, request: Request, ready: bool) -> None:
        """Take a request of the program; `ready`: whether the engine can answer questions now."""
        if isinstance(request, Generate | Embed):
            self._waiting.append(request)
        elif isinstance(request, Cancel):
            self._cancel(request.request)
        elif ready:
            self._questions[self._post(request)] = request.id
        else:
            self.heard(Failed(request.id, Sentence.of("no_model.loaded")))

    def start_next(self) -> bool:
        """Send the request that waits longest; return False if none waits."""
        if not self._waiting:
            return False
        request = self._waiting.popleft()
        if isinstance(request, Generate):
            request = replace(request, background=True)
        self._running, self._reading, self._gives_way = (self._post(request), request), True, False
        self.changed.emit()
        return True

    def give_way(self) -> None:
        """Stop the running request for a chat, if nothing of its answer is written yet; it begins again afterwards."""
        if self._running and self._reading and not self._gives_way:
            self._gives_way = True
            self._post(Cancel(0, self._running[0]))

    def stop(self) -> None:
        """Stop the running request, because its model is unloaded."""
        if self._running:
            self._post(Cancel(0, self._running[0]))

    def takes(self, event: EngineEvent) -> bool:
        """Hand on an event of these requests; return False for one of others."""
        if self._running and event.id == self._running[0]:
            self._hear_answer(event, self._running[1])
            return True
        if event.id not in self._questions:
            return False
        self._say(event, self._questions.pop(event.id) if isinstance(event, ENDS) else self._questions[event.id])
        return True

    def fail(self, sentence: Sentence, waiting: bool) -> None:
        """End the running request and the questions with a sentence; with `waiting`, those that wait too."""
        failed = [self._running[1].id] if self._running else []
        failed += self._questions.values()
        if waiting:
            failed += [request.id for request in self._waiting]
            self._waiting.clear()
        was_busy, self._running, self._questions = self.busy, None, {}
        for id in failed:
            self.heard(Failed(id, sentence))
        if was_busy:
            self.changed.emit()

    def drop_all(self) -> None:
        """Forget everything, because the program has ended."""
        self.stop()
        self.heard = lambda _event: None
        self._waiting.clear()

    def _cancel(self, id: int) -> None:
        if self._running and self._running[1].id == id:
            self._gives_way = False
            self._post(Cancel(0, self._running[0]))
        elif found := next((request for request in self._waiting if request.id == id), None):
            self._waiting.remove(found)
            self.heard(Failed(id, Sentence.of("cancelled.request")))

    def _hear_answer(self, event: EngineEvent, request: Generate | Embed) -> None:
        ends = isinstance(event, ENDS)
        if self._gives_way and not _is_failure(event):  # what came since it was stopped is written again
            if ends:
                self._waiting.appendleft(request)
        else:
            self._reading &= isinstance(event, PrefillProgress)
            self._say(event, request.id)
        if ends:
            self._running = None
            self.changed.emit()

    def _say(self, event: EngineEvent, id: int) -> None:
        self.heard(replace(event, id=id))


def _is_failure(event: EngineEvent) -> bool:
    """Return whether an event says that a request has failed, and not because it was stopped."""
    return isinstance(event, Failed) and event.code != "cancelled"
