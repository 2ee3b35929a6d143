"""The process of one MCP server: `python -m app.tools.mcp.child` reads a Start from stdin, then Requests.

It leads a process group of its own, gives up all rights that the server does not get, and then starts the server, which
inherits what is left. When stdin ends, it ends the server and the whole group with it. `mcp` is imported here alone:
its import takes a second and 64 MB.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from app.tools.mcp.contents import all_items, items_if_any, prompts_from, read_result, resources_from, text_of
from app.tools.mcp.limits import MOST_LOG_LINE, cut_line, tools_within
from app.tools.mcp.messages import (
    Asked,
    Call,
    Called,
    Cancel,
    Fill,
    Read,
    Reply,
    Request,
    Said,
    Start,
    Tools,
    Unusable,
)
from common.confinement import Rights, confine, files_for_connections, limits
from common.failures import Failure
from common.log_format import kind_of, traceback_of
from common.sentences import Sentence
from common.version import VERSION

if TYPE_CHECKING:
    from mcp.client.client import Client

START_SECONDS = 110.0  # `npx` and `uvx` download the server at the first start
CALL_SECONDS = 120.0
END_SECONDS = 0.4  # for a server to end by itself once its stdin is closed
SYSTEM_SETTINGS = Path("/etc")  # Git, for one, ends unless it can look for its file there
FINAL = {"tool_server.not_found", "tool_server.no_mcp"}  # what another start would not change
log = logging.getLogger(__name__)


def main() -> int:
    start = msgspec.json.decode(sys.stdin.buffer.readline(), type=Start)
    _lead_group()
    confine(rights_of(start))
    if start.command and not start.unconfined and not is_confined(start):
        write(Unusable(Sentence.of("tool_server.unconfined"), final=True))
        return 0
    problem = asyncio.run(_Server(start).run())
    if problem is not None:
        write(problem)
    end_group()
    return 0


def rights_of(start: Start) -> Rights:
    """Return the rights of this process and the server. An address needs connections, and no file."""
    if not start.command:
        return Rights(read=tuple(files_for_connections()), processes=False, connects=True)
    home, network = Path(start.home), files_for_connections() if start.connects else ()
    # What it keeps at home it may also run: `npx` and `uvx` install there.
    read = (*map(Path, start.read), home, SYSTEM_SETTINGS, *network)
    return Rights(read, (home, *map(Path, start.write)), connects=start.connects, local=False)


def is_confined(start: Start) -> bool:
    """Return whether all that the server must not do is refused."""
    return ({"files"} if start.connects else {"files", "network"}) <= set(limits())


def _lead_group() -> None:
    """Make this process the leader of a group, with which all that the server starts can be ended."""
    if hasattr(os, "setsid"):
        with contextlib.suppress(OSError):  # it leads one already
            os.setsid()


def end_group() -> None:
    """End this process and all that it has started."""
    if hasattr(os, "killpg"):
        os.killpg(os.getpgrp(), signal.SIGKILL)
    os._exit(0)  # on Windows the job object ends the server


class _Server:
    """The conversation with the server: requests come from stdin, replies go to stdout."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._calls: dict[int, asyncio.Task[None]] = {}
        self._list_changed = asyncio.Event()
        self._over = False  # the window needs the server no more

    async def run(self) -> Unusable | None:
        """Serve until stdin ends; return why the server cannot be used any more."""
        from app.tools.mcp import transport

        allowance = transport.Allowance()
        try:
            async with AsyncExitStack() as stack:
                way = (
                    transport.program_streams(self._start, say, allowance)
                    if self._start.command
                    else transport.address_streams(self._start, allowance)
                )
                streams = await stack.enter_async_context(transport.guarded(await stack.enter_async_context(way), say))
                async with asyncio.timeout(START_SECONDS):
                    client = await stack.enter_async_context(self._client(streams))
                    await self._tell_lists(client)
                await self._serve(client)
        except BaseException as error:  # noqa: BLE001 - a stranger's program and library can raise anything
            return None if self._over else unusable(error)
        return None

    def _client(self, streams: Any) -> Client:
        from mcp.client.client import Client
        from mcp.types import Implementation

        @asynccontextmanager
        async def connect() -> AsyncIterator[Any]:
            yield streams

        return Client(
            cast(Any, connect()),
            client_info=Implementation(name="Chickadee", version=VERSION),
            message_handler=self._hear,
            cache=None,
        )

    async def _hear(self, message: object) -> None:
        from mcp import types

        changes = (
            types.ToolListChangedNotification, types.ResourceListChangedNotification,
            types.PromptListChangedNotification,
        )  # fmt: skip
        if isinstance(message, changes):
            self._list_changed.set()

    async def _tell_lists(self, client: Client) -> None:
        """Ask for all tools, resources and prompts, and tell the window."""
        tools = await all_items(client.list_tools, lambda page: page.tools)
        described = [tool.model_dump(by_alias=True, mode="json", exclude_none=True) for tool in tools]
        has, info = client.server_capabilities, client.server_info
        resources = await items_if_any(client.list_resources, lambda page: page.resources, say) if has.resources else ()
        prompts = await items_if_any(client.list_prompts, lambda page: page.prompts, say) if has.prompts else ()
        title = cut_line(info.title or info.name, MOST_LOG_LINE // 5) if info else ""
        write(Tools(title, *tools_within(described), resources_from(resources), prompts_from(prompts)))

    async def _serve(self, client: Client) -> None:
        """Answer requests until stdin ends."""
        loop, wanted = asyncio.get_running_loop(), asyncio.Queue[Request | None]()
        threading.Thread(target=_read_requests, args=(loop, wanted), daemon=True).start()
        async with asyncio.TaskGroup() as tasks:
            watch = tasks.create_task(self._relist(client))
            while (request := await wanted.get()) is not None:
                if isinstance(request, Cancel):
                    if request.id in self._calls:
                        self._calls[request.id].cancel()
                else:
                    self._calls[request.id] = tasks.create_task(self._do(client, request))
            self._over = True
            for task in (watch, *self._calls.values()):
                task.cancel()

    async def _relist(self, client: Client) -> None:
        while True:
            await self._list_changed.wait()
            self._list_changed.clear()
            await self._tell_lists(client)

    async def _do(self, client: Client, asked: Asked) -> None:
        try:
            async with asyncio.timeout(CALL_SECONDS):
                write(await _result(client, asked))
        except Failure:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a result does to the library, the next one may be right
            write(Called(asked.id, failed=True, problem=problem_of(error)))
        finally:
            self._calls.pop(asked.id, None)


async def _result(client: Client, asked: Asked) -> Called:
    """Return what the server answers to a request."""
    match asked:
        case Call():
            called = await client.call_tool(asked.name, json.loads(asked.arguments))
            return Called(asked.id, text_of(called.content, called.structured_content), bool(called.is_error))
        case Read():
            return read_result(asked.id, await client.read_resource(asked.uri))
        case Fill():
            filled = await client.get_prompt(asked.name, asked.arguments)
            return Called(asked.id, text_of(message.content for message in filled.messages))


def _read_requests(loop: asyncio.AbstractEventLoop, wanted: asyncio.Queue[Request | None]) -> None:
    """Pass stdin's lines on; at its end, end the group even if the loop is stuck."""
    for line in sys.stdin.buffer:
        loop.call_soon_threadsafe(wanted.put_nowait, msgspec.json.decode(line, type=Request))
    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(wanted.put_nowait, None)
    threading.Timer(END_SECONDS, end_group).start()


def problem_of(error: BaseException) -> Sentence:
    """Return the sentence for a call or start that failed."""
    import httpx2
    from mcp.shared.exceptions import MCPError
    from mcp.types import CONNECTION_CLOSED, REQUEST_TIMEOUT

    if isinstance(error, Failure):
        return error.sentence
    if isinstance(error, httpx2.TransportError):
        return Sentence.of("tool_server.unreachable")
    if isinstance(error, TimeoutError) or (isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT):
        return Sentence.of("tool_server.slow")
    if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
        return Sentence.of("tool_server.closed")
    if isinstance(error, MCPError):
        return Sentence.of("tool_server.refuses", reason=cut_line(error.message, 300))
    log.warning("a server's answer was not understood:\n%s", traceback_of(error))
    return Sentence.of("tool_server.not_understood", reason=kind_of(error))


def unusable(error: BaseException) -> Unusable:
    """Return why the server cannot be used: of several errors, the one that has a sentence."""
    while isinstance(error, BaseExceptionGroup):
        error = next((each for each in error.exceptions if leads_to_failure(each)), error.exceptions[0])
    if isinstance(error, FileNotFoundError | PermissionError):
        return Unusable(Sentence.of("tool_server.no_start", reason=error.strerror), final=True)
    if isinstance(error, OSError):
        return Unusable(Sentence.of("tool_server.no_start", reason=error.strerror or kind_of(error)))
    sentence = problem_of(error)
    return Unusable(sentence, final=sentence.id in FINAL)


def leads_to_failure(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(map(leads_to_failure, error.exceptions))
    return isinstance(error, Failure)


def say(line: str) -> None:
    write(Said(cut_line(line, MOST_LOG_LINE)))


_writing = threading.Lock()


def write(reply: Reply) -> None:
    with _writing:
        sys.stdout.buffer.write(msgspec.json.encode(reply) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
