"""Responses of the API: JSON, errors, streams that end when the client hangs up, and bodies read into a schema."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engine.api.errors import ApiError, as_sentence
from engine.api.jobs import Run

T = TypeVar("T")
START_SECONDS = 5.0  # a stream that waits longer for its turn begins before it is known whether it can be answered
SEND_SECONDS = 120.0  # in which a client reads what was sent
FIELD = re.compile(r" - at `\$\.?(?P<path>[^`]+)`")
TYPE = re.compile(r"`([^`]+)`")
TYPES = {
    "int": "a whole number", "float": "a number with a fraction", "str": "a text", "bool": "true or false",
    "array": "a list", "object": "an object", "null": "null",
}  # fmt: skip


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, dict(headers or {}), "application/json")


def error_response(error: ApiError, path: str, headers: Mapping[str, str] | None = None) -> Response:
    more = {"www-authenticate": "Bearer"} if error.status == 401 else {}
    return json_response(error.body(path), error.status, {**(headers or {}), **more})


async def read_body(request: Request, kind: type[T]) -> T:
    """Return the request's JSON body; 2.0 is a whole number. Raises ApiError if it is no JSON, or not of this kind."""
    try:
        return msgspec.json.decode((await request.body()).decode(), type=kind, strict=False)  # kept parts stay UTF-8
    except msgspec.ValidationError as error:
        raise invalid_field(str(error)) from error
    except RecursionError as error:
        raise ApiError(400, "The body has too many lists and objects within each other.", "bad_json") from error
    except UnicodeDecodeError as error:
        sentence = f"The body must be a JSON object in utf-8: byte {error.start + 1} is not part of a character."
        raise ApiError(400, sentence, "bad_json") from error
    except msgspec.DecodeError as error:
        raise ApiError(400, as_sentence(f"The body must be a JSON object: {error}"), "bad_json") from error


def invalid_field(text: str) -> ApiError:
    """Return the error for what msgspec says of a body, with types in words and the field in front."""
    field, words = FIELD.search(text), TYPE.sub(in_words, FIELD.sub("", text))
    path = field and field["path"]
    return ApiError(400, f"{path}: {as_sentence(words)}" if path else as_sentence(words), "bad_value", path)


def in_words(types: re.Match[str]) -> str:
    """Return the types that msgspec names, or another name, in words."""
    return " or ".join(TYPES.get(each, f"“{each}”") for each in types[1].split(" | "))


async def while_connected(receive: Receive, work: Awaitable[T]) -> T:
    """Return the result of `work`, which is cancelled when the client hangs up. Raises ClientDisconnect then."""
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(hung_up(receive))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        await end(task, gone)


async def hung_up(receive: Receive) -> None:
    """Wait until the client hangs up."""
    while (await receive())["type"] != "http.disconnect":
        continue


async def end(*tasks: asyncio.Future[Any]) -> None:
    """Cancel the tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def whole_answer(request: Request, run: Run, work: Awaitable[Any]) -> Response:
    """Return the result of `work`, which gathers the run's events, as JSON; a client that hangs up ends the run."""
    try:
        return json_response(await while_connected(request.receive, work))
    finally:
        run.close()


class EventStream(Response):
    """Streamed answer of a run, as server-sent events; an error after the beginning is an event too."""

    media_type = "text/event-stream"

    def __init__(self, run: Run, chunks: AsyncIterator[bytes], error_chunk: Callable[[ApiError], bytes]) -> None:
        self.run, self.chunks, self.error_chunk = run, chunks, error_chunk
        self.init_headers({"cache-control": "no-store", "x-accel-buffering": "no"})

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Send the chunks until they end or the client hangs up. Raises ApiError if the run cannot begin."""
        try:
            with contextlib.suppress(ClientDisconnect):
                await while_connected(receive, self._send_all(send))
        finally:
            self.run.close()

    async def _send_all(self, send: Send) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(START_SECONDS):
                if error := await self.run.first_error():
                    raise error
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            async for chunk in self.chunks:
                await self._send(send, chunk)
        except ApiError as error:
            await self._send(send, self.error_chunk(error))
        await self._send(send, b"", last=True)

    async def _send(self, send: Send, chunk: bytes, last: bool = False) -> None:
        async with asyncio.timeout(SEND_SECONDS):
            await send({"type": "http.response.body", "body": chunk, "more_body": not last})
