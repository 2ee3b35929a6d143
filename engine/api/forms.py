"""The form of an endpoint's answers: from a request's body to the engine's requests, and from events to JSON."""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from engine.api.errors import ApiError
from engine.api.fields import SamplingFields
from engine.api.jobs import Jobs
from engine.api.numbers import FINISH, timings, usage
from engine.api.written import Events, Written, trimmed
from engine.protocol.events import WRITTEN, Event, Finished
from engine.protocol.requests import Generate

B = TypeVar("B", bound=msgspec.Struct)
S = TypeVar("S", bound=SamplingFields)
encoder = msgspec.json.Encoder()


def sse_data(value: Any) -> bytes:
    """Return a server-sent event without a name."""
    return b"data: " + encoder.encode(value) + b"\n\n"


def sse_event(value: dict[str, Any]) -> bytes:
    """Return a server-sent event whose name is the value's `type`."""
    name: str = value["type"]
    return b"event: " + name.encode() + b"\n" + sse_data(value)


class AnswerForm(ABC, Generic[B]):
    """The answers to one HTTP request, one for each of `requests`; `index` is that of the answer being told.

    Subclasses say which requests the engine gets, and how a whole answer and the pieces of a stream look. `prefix`:
    begin of the answer's id. `waiting`: piece of a stream that tells that it still waits. `plain`: whether reasoning
    and its marks are part of the text. `model`: the model's name. `store`: whether chats are kept on disk unless the
    request says otherwise.
    """

    prefix: ClassVar[str] = ""
    waiting: ClassVar[bytes] = b": waiting\n\n"  # a comment, which keeps the connection alive
    plain: ClassVar[bool] = False
    index = 0

    def __init__(self, body: B, model: str, store: bool) -> None:
        self.body, self.model, self.store = body, model, store
        self.id, self.created = f"{self.prefix}{uuid.uuid4().hex}", int(time.time())
        self.requests: Sequence[Generate] = ()
        self.answers: list[Written] = []

    @abstractmethod
    def requests_of(self, default: Generate) -> list[Generate]:
        """Return the engine's requests; `default` has what the client leaves open. Raises ApiError."""

    async def ask(self, jobs: Jobs) -> None:
        """Ask the engine what the form must know beforehand. Raises ApiError."""

    @abstractmethod
    def whole(self) -> Any:
        """Return the JSON of the complete answers."""

    def begin(self) -> Iterator[bytes]:
        """Yield the pieces of a stream that stand before an answer."""
        yield from ()

    @abstractmethod
    def pieces(self, event: Event) -> Iterator[bytes]:
        """Yield the pieces of a stream for an event."""

    def end(self) -> Iterator[bytes]:
        """Yield the pieces of a stream after those of all answers."""
        yield from ()

    def error(self, error: ApiError) -> bytes:
        """Return the piece that ends a stream with an error."""
        return sse_data(error.as_openai)

    @property
    def written(self) -> Written:
        """The answer being told."""
        return self.answers[self.index]

    async def gather(self, events: Events) -> Any:
        """Return the JSON of the complete answers."""
        self.answers = [Written(self.plain) for _ in self.requests]
        async for index, event in events if self.plain else trimmed(events):
            if event is not None:
                self.answers[index].add(event)
        return self.whole()

    async def stream(self, events: Events) -> AsyncIterator[bytes]:
        """Yield the answers in pieces."""
        self.answers = [Written(self.plain) for _ in self.requests]
        for piece in self.begin():
            yield piece
        async for index, event in events if self.plain else trimmed(events):
            if index > self.index:
                self.index = index
                for piece in self.begin():
                    yield piece
            if event is None:
                yield self.waiting
                continue
            self.written.add(event)
            for piece in self.pieces(event):
                yield piece
        for piece in self.end():
            yield piece


class OpenAIForm(AnswerForm[S]):
    """OpenAI's form of choices; `kind` names it, `chunk_kind` the pieces of a stream."""

    kind: ClassVar[str]
    chunk_kind: ClassVar[str]

    def choices(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the JSON of complete answers."""
        last = timings(self.answers[-1].finished.statistics)
        return {**self._head(self.kind), "choices": choices, **self.usage(), "timings": last}

    def chunk(self, choice: dict[str, Any], end: Finished | None) -> bytes:
        """Return a piece of a stream; `end`: of the last piece of an answer."""
        more: dict[str, Any] = {"timings": timings(end.statistics)} if end else {}
        if self.body.with_usage:
            more["usage"] = None
        return sse_data({**self._head(self.chunk_kind), "choices": [choice], **more})

    def end(self) -> Iterator[bytes]:
        if self.body.with_usage:
            yield sse_data({**self._head(self.chunk_kind), "choices": [], **self.usage()})
        yield b"data: [DONE]\n\n"

    def finish_reason(self, end: Finished | None) -> str | None:
        """Return why an answer has ended; None while it goes on."""
        if end is None:
            return None
        return "tool_calls" if self.written.calls else FINISH[end.statistics.stop_reason]

    def usage(self) -> dict[str, Any]:
        """Return the numbers of tokens of all answers."""
        return {"usage": usage([written.finished.statistics for written in self.answers])}

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id, "object": kind, "created": self.created, "model": self.model,
            "system_fingerprint": "chickadee",
        }  # fmt: skip


class TextForm(AnswerForm[S]):
    """Form of texts that are continued as they are, in which a piece of a stream looks like a whole answer."""

    plain = True

    @abstractmethod
    def answer(self, text: str, end: Finished | None) -> dict[str, Any]:
        """Return an answer, or its next piece; `end`: None for a piece that is not the last."""

    @abstractmethod
    def chunk(self, choice: dict[str, Any], end: Finished | None) -> bytes:
        """Return a piece of a stream."""

    def start(self) -> str:
        """Begin to tell an answer, and return what stands before it."""
        return ""

    def whole_answers(self) -> Iterator[dict[str, Any]]:
        """Yield the complete answers."""
        for index, written in enumerate(self.answers):
            self.index = index
            yield self.answer(self.start() + written.text, written.finished)

    def begin(self) -> Iterator[bytes]:
        if before := self.start():
            yield self.chunk(self.answer(before, None), None)

    def pieces(self, event: Event) -> Iterator[bytes]:
        if isinstance(event, (*WRITTEN, Finished)):
            text, end = ("", event) if isinstance(event, Finished) else (event.text, None)
            yield self.chunk(self.answer(text, end), end)
