"""Who may ask the API, and what a connection may hold: with a real server, and an application that reads its body."""

from __future__ import annotations

import asyncio
import json
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


def serving(
    talk: Callable[[Callable[[], Awaitable[Streams]]], Awaitable[None]], guard: Guard | None = None
) -> list[bytes]:
    """Run `talk` with a function that connects to a server; return what each connection got when the server ended."""
    guarded = guard or Guard(app, lambda: Access("k"))

    async def run() -> list[bytes]:
        bugs: list[dict[str, object]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, bug: bugs.append(bug))
        with socket.create_server(("127.0.0.1", 0)) as listening:
            config = uvicorn.Config(
                guarded, http=ImpatientH11, ws="none", lifespan="off", log_config=None, timeout_keep_alive=60,
                timeout_graceful_shutdown=1,
            )  # fmt: skip
            server = uvicorn.Server(config)
            running = asyncio.ensure_future(server.serve([listening]))
            made: list[Streams] = []

            async def connect() -> Streams:
                made.append(await asyncio.open_connection("127.0.0.1", listening.getsockname()[1]))
                return made[-1]

            try:
                await asyncio.wait_for(talk(connect), 60)
                server.should_exit = True
                await running
                assert bugs == []
                return [await asyncio.wait_for(reader.read(), 60) for reader, _ in made]
            finally:
                server.should_exit = True
                for _, writer in made:
                    writer.close()
                await running

    return asyncio.run(run())


async def response(reader: asyncio.StreamReader) -> bytes:
    """Return the head and the body of the next response."""
    head = await reader.readuntil(b"\r\n\r\n")
    lengths = (line for line in head.lower().splitlines() if line.startswith(b"content-length: "))
    return head + await reader.readexactly(int(next(lengths, b"length: 0").rpartition(b" ")[2]))


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
        reader, writer = await connect()
        writer.write(REQUEST + b"x-api-key: k\r\nContent-Length: 1\r\n\r\na" + REQUEST)  # begun before the answer
        assert b"1 bytes" in await response(reader)
        assert await reader.read() == b""

    serving(talk)


def test_headers_in_pieces_end_the_wait_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "HEADER_SECONDS", 1.0)

    async def talk(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        for wait in (1.2, 0):
            for piece in (
                b"POST / HT",
                b"TP/1.1\r\nHost: localhost\r\n",
                b"x-api-key: k\r\nContent-Length: 1\r\n\r\na",
            ):
                writer.write(piece)
                await asyncio.sleep(0.02)  # so that the server reads the pieces one by one
            assert b"1 bytes" in await response(reader)
            await asyncio.sleep(wait)

    serving(talk)


def test_a_request_without_an_answer_is_told_that_the_api_was_turned_off() -> None:
    """An answer that has begun is only cut off: a second head would be read as part of it."""
    waiting: list[str] = []

    async def never(scope: Scope, receive: Receive, send: Send) -> None:
        waiting.append(scope["path"])
        if scope["path"] == "/begun":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"9")]})
            await send({"type": "http.response.body", "body": b"half", "more_body": True})
        await asyncio.Event().wait()

    async def talk(connect: Callable[[], Awaitable[Streams]]) -> None:
        reader, writer = await connect()
        writer.write(request(path="/begun"))
        await reader.readuntil(b"half")
        reader, writer = await connect()
        writer.write(request("Origin: http://localhost"))
        reader, writer = await connect()
        writer.write(request(path="/v1/messages"))
        while len(waiting) < 3:
            await asyncio.sleep(0.01)

    begun, refused, other = serving(talk, Guard(never, Access))
    assert begun == b""
    assert refused.startswith(b"HTTP/1.1 503 ")
    assert b"access-control-allow-origin: http://localhost\r\n" in refused
    assert json.loads(refused.split(b"\r\n\r\n")[1])["error"]["code"] == "turned_off"
    assert json.loads(other.split(b"\r\n\r\n")[1])["type"] == "error"


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


def answers(requests: list[bytes], guard: Guard | None = None) -> list[bytes]:
    """Return the response to each request, sent over a connection of its own."""
    received: list[bytes] = []

    async def talk(connect: Callable[[], Awaitable[Streams]]) -> None:
        for request in requests:
            reader, writer = await connect()
            writer.write(request)
            received.append(await asyncio.wait_for(response(reader), 10))

    serving(talk, guard)
    return received


def request(*headers: str, host: str = "localhost", path: str = "/", method: str = "POST") -> bytes:
    lines = (f"{method} {path} HTTP/1.1", f"Host: {host}", "Content-Length: 0", *headers, "", "")
    return "\r\n".join(lines).encode()


def statuses(requests: list[bytes], guard: Guard | None = None) -> list[int]:
    return [int(answer.split(b" ", 2)[1]) for answer in answers(requests, guard)]


def test_only_the_whole_key_opens() -> None:
    guard = Guard(app, lambda: Access("secret"))
    wrong = ["", "s", "secre", "secrets", "Secret", "SECRET", "ecret", "secretsecret", "x"]
    refused = [request(f"x-api-key: {key}") for key in wrong]
    refused += [request(f"Authorization: Bearer {key}") for key in wrong]
    refused += [request(), request("Authorization: Basic secret"), request("Authorization: secret")]
    assert statuses(refused, guard) == [401] * len(refused)
    right = ["x-api-key: secret", "Authorization: Bearer secret", "authorization: bearer  secret "]
    assert statuses([request(header) for header in right], guard) == [200] * 3


def test_what_needs_no_key_is_the_health_and_the_question_of_a_browser() -> None:
    paths = ["/", "/v1/models", "/healthy", "/health/", "/v1/health", "/health"]
    assert statuses([request(path=path) for path in paths]) == [401] * 5 + [200]
    page = "Origin: http://localhost:3000"
    asking = [page, "Access-Control-Request-Method: POST", "Access-Control-Request-Headers: x-api-key"]
    answered = answers([request(*asking, method="OPTIONS"), request(page, "x-api-key: k")])
    assert answered[0].startswith(b"HTTP/1.1 204 ")
    may, plain = ({line for line in each.split(b"\r\n") if line.startswith((b"access", b"vary"))} for each in answered)
    assert plain == {b"access-control-allow-origin: http://localhost:3000", b"vary: Origin"}
    assert may - plain == {
        b"access-control-allow-methods: GET, POST, OPTIONS",
        b"access-control-allow-headers: x-api-key",
        b"access-control-allow-private-network: true",
        b"access-control-max-age: 600",
    }


def test_pages_of_other_computers_are_refused() -> None:
    key = "x-api-key: k"
    foreign = [
        "https://evil.example",
        "http://localhost.evil.example",
        "http://127.0.0.1.evil.example",
        "null",
        "http://[",
    ]
    local = [
        "http://localhost",
        "https://localhost:8080",
        "http://127.0.0.1:3000",
        "http://[::1]",
        "http://app.localhost",
    ]
    refused = answers([request(key, f"Origin: {origin}") for origin in foreign])
    assert [answer.split(b" ", 2)[1] for answer in refused] == [b"403"] * len(foreign)
    assert not any(b"access-control-allow" in answer.lower() for answer in refused)
    for origin, answer in zip(local, answers([request(key, f"Origin: {origin}") for origin in local]), strict=True):
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert f"access-control-allow-origin: {origin}".encode() in answer
    # A form or an image of a page is sent without an Origin.
    sites = ["cross-site", "same-site", "same-origin", "none"]
    assert statuses([request(key, f"Sec-Fetch-Site: {site}") for site in sites]) == [403, 200, 200, 200]


def test_the_host_must_name_this_computer_unless_others_may_call() -> None:
    hosts = [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.1",
        "[2001:db8::1]",
        "",
        "localhost",
        "127.0.0.1:80",
        "[::1]:9",
        "LocalHost.:80",
        "127.8.9.1",
    ]
    sent = [request("x-api-key: k", host=host) for host in hosts]
    assert statuses(sent) == [403] * 5 + [200] * 5
    assert statuses(sent[:4], Guard(app, lambda: Access("k", any_host=True))) == [200] * 4


def test_a_body_that_takes_too_long_is_refused_and_its_connection_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "BODY_SECONDS", 0.3)

    async def talk(connect: Callable[[], Awaitable[Streams]]) -> None:
        for begun in (b"Content-Length: 9\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"):
            reader, writer = await connect()
            writer.write(REQUEST + b"x-api-key: k\r\n" + begun)
            assert b" 408 " in await asyncio.wait_for(response(reader), 10)
            assert await asyncio.wait_for(reader.read(), 10) == b""

    serving(talk)


def test_a_body_in_chunks_has_the_limit_of_one_with_a_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "MOST_BODY", 1000)

    def chunked(size: int) -> bytes:
        pieces = b"".join(b"64\r\n" + b"a" * 100 + b"\r\n" for _ in range(size // 100))
        return REQUEST + b"x-api-key: k\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"

    def whole(size: int) -> bytes:
        return REQUEST + b"x-api-key: k\r\nContent-Length: %d\r\n\r\n" % size + b"a" * size

    assert statuses([chunked(1000), chunked(1100), whole(1000), whole(1001)]) == [200, 413, 200, 413]


def test_a_refusal_says_what_is_wrong_in_words_and_as_a_code() -> None:
    key, other_page = "x-api-key: k", "Origin: http://evil.example"
    sent = {
        ("headers_too_large", "up to 32 kB"): request(key, f"X-Long: {'a' * 33_000}"),
        ("bad_headers", "both Content-Length and Transfer-Encoding"): request(key, "Transfer-Encoding: chunked"),
        ("bad_host", "must name this computer"): request(key, host="evil.example"),
        ("bad_origin", "http://localhost"): request(key, other_page),
        ("invalid_api_key", "needs a key"): request(),
        ("invalid_api_key", "not the one"): request("x-api-key: wrong"),
        ("request_too_large", "up to 32 MB"): request(key).replace(b"Length: 0", b"Length: 33554433"),
    }
    for (code, words), answer in zip(sent, answers(list(sent.values())), strict=True):
        error = json.loads(answer.split(b"\r\n\r\n")[1])["error"]
        assert error["code"] == code
        assert words in error["message"]
    anthropic = answers([request(path="/v1/messages")])[0]
    assert json.loads(anthropic.split(b"\r\n\r\n")[1])["error"]["type"] == "authentication_error"


def test_headers_have_a_limit_together() -> None:
    many = [f"X-{n}: {'a' * 1000}" for n in range(33)]
    assert statuses([request("x-api-key: k", *many[:30]), request("x-api-key: k", *many)]) == [200, 431]
