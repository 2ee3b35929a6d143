"""Who may ask the API, and what a connection may hold: with a real server, and an application that reads its body."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from common.failures import Failure
from engine.api import security
from engine.api.errors import ApiError
from engine.api.respond import error_response
from engine.api.security import Access, Guard, ImpatientH11, check_key

REQUEST = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the number of bytes in the body."""
    try:
        answer = PlainTextResponse(f"{len(await Request(scope, receive).body())} bytes")
    except ApiError as error:
        answer = error_response(error, "/")  # type: ignore[assignment]
    await answer(scope, receive, send)


def serving(talk: Callable[[Callable[[], Awaitable[Streams]]], Awaitable[None]], guard: Guard | None = None) -> None:
    """Run `talk` with a function that connects to a server."""
    guarded = guard or Guard(app, lambda: Access("k"))

    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as listening:
            config = uvicorn.Config(guarded, http=ImpatientH11, ws="none", lifespan="off", log_config=None)
            server = uvicorn.Server(config)
            running = asyncio.ensure_future(server.serve([listening]))
            made: list[Streams] = []

            async def connect() -> Streams:
                made.append(await asyncio.open_connection("127.0.0.1", listening.getsockname()[1]))
                return made[-1]

            try:
                await asyncio.wait_for(talk(connect), 60)
            finally:
                for _, writer in made:
                    writer.close()
                server.should_exit = True
                await running

    asyncio.run(run())


async def response(reader: asyncio.StreamReader) -> bytes:
    """Return the head and the body of the next response."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in head.lower().splitlines() if line.startswith(b"content-length: "))
    return head + await reader.readexactly(int(length.rpartition(b" ")[2]))


def test_the_headers_of_each_request_of_a_connection_must_arrive_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "HEADER_SECONDS", 0.3)

    async def talk(connect: Callable[[], Awaitable[Streams]]) -> None:
        for before in (0, 1, 2):
            reader, writer = await connect()
            for _ in range(before):
                writer.write(REQUEST + b"x-api-key: k\r\nContent-Length: 1\r\n\r\na")
                assert b"1 bytes" in await response(reader)
                await asyncio.sleep(0.4)  # a connection may be idle for longer than headers may take
            writer.write(REQUEST)
            assert await reader.read() == b""

    serving(talk)


def test_large_bodies_are_bounded_together_and_small_ones_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "MOST_HELD", 240_000)
    guard = Guard(app, lambda: Access("k"))

    def request(length: int, sent: int) -> bytes:
        return REQUEST + b"x-api-key: k\r\nContent-Length: %d\r\n\r\n" % length + b"a" * sent

    async def talk(connect: Callable[[], Awaitable[Streams]]) -> None:
        held = [await connect() for _ in range(2)]
        for _, writer in held:
            writer.write(request(100_001, 100_000))
        while guard.held < 200_000:
            await asyncio.sleep(0.01)
        reader, writer = await connect()
        for length, expected in ((60_000, b"60000 bytes"), (70_000, b" 503 ")):
            writer.write(request(length, length))
            assert expected in (answer := await response(reader))
        assert b"connection: close" in answer.lower()
        for reader, writer in held:
            writer.write(b"a")
            assert b"100001 bytes" in await response(reader)
        writer.write(request(230_000, 230_000))  # what ended is no longer counted
        assert b"230000 bytes" in await response(reader)

    serving(talk, guard)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (b"x-api-key: k\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n", b" 400 "),
        (b"x-api-key: wrong\r\nContent-Length: 10\r\n", b" 401 "),
        (b"x-api-key: k\r\nContent-Length: 999999999\r\n", b" 413 "),
    ],
)
def test_a_refused_request_whose_body_was_not_read_ends_its_connection(headers: bytes, status: bytes) -> None:
    """What is left of the body must not be read as another request, nor keep the connection for ever."""

    async def talk(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        writer.write(REQUEST + headers + b"\r\n1")
        answer = await response(reader)
        assert status in answer
        assert b"connection: close" in answer.lower()
        assert await reader.read() == b""

    serving(talk)


@pytest.mark.parametrize("key", ["schlüssel", "a\n", " a", "a b", "a\r\nb"])
def test_a_key_that_no_client_can_send_is_refused(key: str) -> None:
    with pytest.raises(Failure, match="line breaks"):
        check_key(key)
    check_key("sk-Ab_1~!")
