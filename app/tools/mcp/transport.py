"""The two ways to an MCP server, within limits: a program's stdin and stdout, or an address. `mcp` speaks over both.

`mcp` has transports of its own. The one for programs keeps a line of any length, starts the program with rights and
a session of its own, out of reach of whoever ends this process's group; so this module has another.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, cast

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, ErrorData, JSONRPCError, JSONRPCRequest, jsonrpc_message_adapter

from app.tools.mcp.limits import MOST_LINE, MOST_LOG_LINE, MOST_LOG_LINES, MOST_OUTPUT, MOST_WRONG
from app.tools.mcp.messages import Start
from common.confinement.parentage import end_with_parent
from common.failures import Failure

Item = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Item], MemoryObjectSendStream[SessionMessage]]
Say = Callable[[str], object]
PIECE = 1 << 16
MARK = 100  # first bytes of a line, which say whether it is meant as a message
END_SECONDS = 0.3  # for a server to end by itself
HTTP_SECONDS = 300.0  # without a byte; the time limit of a call is the caller's
# What a server may ask of its client, and why this one refuses. None of it is announced, but servers try.
REFUSED = {
    "sampling/createMessage": "Sampling is refused: this client never lets a server ask the user's model.",
    "elicitation/create": "Elicitation is refused: this client never lets a server ask the user.",
    "roots/list": "This client has no roots: the server's rights say which folders it may use.",
}


class Allowance:
    """The bytes that a server may still send before our next request; Failure once they are used up."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        self._left = MOST_OUTPUT

    def spend(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise Failure("tool_server.endless", most=MOST_OUTPUT)


@asynccontextmanager
async def program_streams(start: Start, say: Say, allowance: Allowance) -> AsyncIterator[Streams]:
    """Start the program and yield the streams to it; it ends with the block. Raises Failure and OSError."""
    program = shutil.which(start.command[0], path=start.environment.get("PATH", ""))
    if program is None:
        raise Failure("tool_server.not_found", command=start.command[0])
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        program, *start.command[1:], stdin=pipe, stdout=pipe, stderr=pipe,
        cwd=start.home, env=start.environment, limit=PIECE, preexec_fn=end_with_parent(),
    )  # fmt: skip
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    to_session, from_server = anyio.create_memory_object_stream[Item](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(_end, process, stdin, (stdout, stderr))
        for stream in (to_session, from_server, to_server, from_session):
            await stack.enter_async_context(stream)
        tasks = await stack.enter_async_context(anyio.create_task_group())
        tasks.start_soon(_read_messages, stdout, to_session, say, allowance)
        tasks.start_soon(_write_messages, stdin, from_session, allowance)
        tasks.start_soon(_read_log, stderr, say)
        yield from_server, to_server
        tasks.cancel_scope.cancel()


async def _end(
    process: asyncio.subprocess.Process, stdin: asyncio.StreamWriter, outputs: tuple[asyncio.StreamReader, ...]
) -> None:
    """Ask the server to end by closing its stdin, then kill it; its children die with this process's group."""
    stdin.close()
    with anyio.CancelScope(shield=True), suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):
            await asyncio.gather(*map(_drain, outputs))
    if process.returncode is None:
        process.kill()
    with anyio.CancelScope(shield=True), suppress(TimeoutError):
        async with asyncio.timeout(END_SECONDS):  # a child of the server may still hold its pipes
            await asyncio.gather(*map(_drain, outputs))
            await process.wait()


async def _drain(output: asyncio.StreamReader) -> None:
    """Read what still comes: a server that waits for us to read would not end."""
    while await output.read(PIECE):
        continue


async def _read_messages(
    stdout: asyncio.StreamReader, session: MemoryObjectSendStream[Item], say: Say, allowance: Allowance
) -> None:
    """Pass the server's messages on until its stdout ends. Raises Failure for what breaks a limit."""
    wrong = 0
    async with session:
        async for line in _lines(stdout, allowance):
            try:
                message = jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValueError:
                wrong += 1
                if b'"jsonrpc"' in line[:MARK]:  # somebody waits for it, and would in vain
                    raise Failure("tool_server.not_understood", reason="JSON-RPC") from None
                say(line.decode("utf-8", "replace"))
                if wrong > MOST_WRONG:
                    raise Failure("tool_server.no_mcp") from None
            else:
                await session.send(SessionMessage(message))
    raise Failure("tool_server.closed")


async def _lines(stdout: asyncio.StreamReader, allowance: Allowance) -> AsyncIterator[bytes]:
    """Yield the lines of a stream. Raises Failure for one that is longer than MOST_LINE."""
    rest = bytearray()
    while piece := await stdout.read(PIECE):
        allowance.spend(len(piece))
        *lines, last = piece.split(b"\n")
        for line in lines:
            whole = bytes(rest) + line
            rest.clear()
            if whole.strip():
                yield whole
        rest += last
        if len(rest) > MOST_LINE:
            raise Failure("tool_server.long_message", most=MOST_LINE)


async def _write_messages(
    stdin: asyncio.StreamWriter, session: MemoryObjectReceiveStream[SessionMessage], allowance: Allowance
) -> None:
    """Write the session's messages; that the server reads no more is seen at the end of its stdout."""
    async with session:
        async for sent in session:
            allowance.renew()
            with suppress(ConnectionError):
                stdin.write(sent.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await stdin.drain()


async def _read_log(stderr: asyncio.StreamReader, say: Say) -> None:
    """Say the first lines of the server's stderr, and read on so that it never waits for us."""
    said, rest = 0, b""
    while piece := await stderr.read(PIECE):
        *lines, rest = (rest + piece)[-PIECE:].split(b"\n")
        for line in lines[: MOST_LOG_LINES - said]:
            said += 1
            say(line.decode("utf-8", "replace"))
        rest = rest[:MOST_LOG_LINE]


@asynccontextmanager
async def address_streams(start: Start, allowance: Allowance) -> AsyncIterator[Streams]:
    """Yield the streams to the server at an address."""
    headers = {"Authorization": f"Bearer {start.key}"} if start.key else {}
    limited = _Limited(allowance)
    async with AsyncExitStack() as stack:
        client = httpx2.AsyncClient(headers=headers, transport=limited, timeout=HTTP_SECONDS, trust_env=False)
        await stack.enter_async_context(client)
        streams = await stack.enter_async_context(streamable_http_client(start.url, http_client=client))
        yield cast(Streams, streams)  # streams of anyio's too, by another name


class _Limited(httpx2.AsyncHTTPTransport):
    """A transport that counts what servers send."""

    def __init__(self, allowance: Allowance) -> None:
        super().__init__(trust_env=False)
        self._allowance = allowance

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._allowance.renew()
        response = await super().handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _CountedStream(response.stream, self._allowance)
        return response


class _CountedStream(httpx2.AsyncByteStream):
    """A response's body, whose bytes count."""

    def __init__(self, stream: httpx2.AsyncByteStream, allowance: Allowance) -> None:
        self._stream, self._allowance = stream, allowance

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self._allowance.spend(len(piece))
            yield piece

    async def aclose(self) -> None:
        await self._stream.aclose()


@asynccontextmanager
async def guarded(streams: Streams, say: Say) -> AsyncIterator[Streams]:
    """Yield streams on which no request of the server arrives that is always refused; such a request is answered."""
    from_server, to_server = streams
    to_session, forwarded = anyio.create_memory_object_stream[Item](0)

    async def forward() -> None:
        async with to_session:
            async for item in from_server:
                if (refusal := refusal_of(item)) is not None:
                    say(refusal.message.error.message if isinstance(refusal.message, JSONRPCError) else "")
                    await to_server.send(refusal)
                else:
                    await to_session.send(item)

    async with to_session, forwarded, anyio.create_task_group() as tasks:
        tasks.start_soon(forward)
        yield forwarded, to_server
        tasks.cancel_scope.cancel()


def refusal_of(item: Item) -> SessionMessage | None:
    """Return the answer to a request that is always refused; None for everything else."""
    message: Any = item.message if isinstance(item, SessionMessage) else None
    if not isinstance(message, JSONRPCRequest) or message.method not in REFUSED:
        return None
    error = ErrorData(code=INVALID_REQUEST, message=REFUSED[message.method])
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=message.id, error=error))
