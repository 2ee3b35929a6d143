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
from engine.api.numbers import timings, total
from engine.api.written import Events, Written, trimmed
from engine.protocol.events import Event, Finished, Logprobs, Statistics, TokenLogprob
from engine.protocol.requests import Generate

B = TypeVar("B", bound=msgspec.Struct)
S = TypeVar("S", bound=SamplingFields)
encoder = msgspec.json.Encoder()
DONE = b"data: [DONE]\n\n"  # ends OpenAI's streams


def sse_data(value: Any) -> bytes:
    """Return a server-sent event without a name."""
    return b"data: " + encoder.encode(value) + b"\n\n"


def sse_event(value: dict[str, Any]) -> bytes:
    """Return a server-sent event whose name is the value's `type`."""
    name: str = value["type"]
    return b"event: " + name.encode() + b"\n" + sse_data(value)


class AnswerForm(ABC, Generic[B]):
    """The answers to one HTTP request; each of its prompts has one.

    Subclasses say which requests the engine gets, and how a whole answer and the pieces of a stream look. `reads`:
    schema of the body. `prefix`: begin of the answer's id. `waiting`: piece of a stream that tells that it still waits.
    `trims`: whether blank lines around reasoning are left out.
    """

    reads: ClassVar[type[msgspec.Struct]]
    prefix: ClassVar[str] = ""
    waiting: ClassVar[bytes] = b": waiting\n\n"  # a comment, which keeps the connection alive
    trims: ClassVar[bool] = True

    def __init__(self, body: B, model: str, store: bool) -> None:
        self.body, self.model, self.store = body, model, store
        self.id, self.created = f"{self.prefix}{uuid.uuid4().hex}", int(time.time())
        self.requests: Sequence[Generate] = ()
        self.index = 0
        self._logprobs: list[TokenLogprob] = []
        self.ends: list[Statistics] = []

    @abstractmethod
    def requests_of(self, default: Generate) -> list[Generate]:
        """Return the engine's requests; `default` has what the client leaves open. Raises ApiError."""

    async def ask(self, jobs: Jobs) -> None:
        """Ask the engine what the form must know beforehand. Raises ApiError."""

    @abstractmethod
    def whole(self, answers: list[Written]) -> Any:
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

    async def gather(self, events: Events) -> Any:
        """Return the JSON of the complete answers."""
        answers = [Written() for _ in self.requests]
        async for index, event in self._read(events):
            if event is not None:
                answers[index].add(event)
        return self.whole(answers)

    async def stream(self, events: Events) -> AsyncIterator[bytes]:
        """Yield the answers in pieces."""
        for piece in self.begin():
            yield piece
        async for index, event in self._read(events):
            if index > self.index:
                self.index = index
                for piece in self.begin():
                    yield piece
            if event is None:
                yield self.waiting
            elif isinstance(event, Logprobs):
                self._logprobs += event.tokens
            else:
                for piece in self.pieces(event):
                    yield piece
        for piece in self.end():
            yield piece

    async def _read(self, events: Events) -> Events:
        async for index, event in trimmed(events) if self.trims else events:
            if isinstance(event, Finished):
                self.ends.append(event.statistics)
            yield index, event

    def take_logprobs(self) -> list[TokenLogprob]:
        """Return the probabilities that no piece of the stream has told yet; they count as told now."""
        logprobs, self._logprobs = self._logprobs, []
        return logprobs


class OpenAIForm(AnswerForm[S]):
    """OpenAI's form of choices; `kind` names it, `chunk_kind` the pieces of a stream."""

    kind: ClassVar[str]
    chunk_kind: ClassVar[str]

    def choices(self, choices: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the JSON of complete answers."""
        return {**self._head(self.kind), "choices": choices, **self.usage(), "timings": timings(self.ends[-1])}

    def chunk(self, choice: dict[str, Any], **more: Any) -> bytes:
        """Return a piece of a stream."""
        if self.body.with_usage:
            more["usage"] = None
        return sse_data({**self._head(self.chunk_kind), "choices": [choice], **more})

    def end(self) -> Iterator[bytes]:
        """Yield the numbers of tokens, if they are wanted, and the end of the stream."""
        if self.body.with_usage:
            yield sse_data({**self._head(self.chunk_kind), "choices": [], **self.usage()})
        yield DONE

    def usage(self) -> dict[str, Any]:
        """Return the numbers of tokens of all answers."""
        return {"usage": total(self.ends)}

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self.id, "object": kind, "created": self.created, "model": self.model,
            "system_fingerprint": "chickadee",
        }  # fmt: skip
