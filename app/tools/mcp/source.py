"""An MCP server as a source of tools, and the process that it runs in. This module and `sources` alone know Qt here."""

from __future__ import annotations

import json
import logging
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args

import msgspec
from PySide6.QtCore import QObject, QTimer

from app.events import Event
from app.services.json_line_process import JsonLineProcess, kill_group
from app.services.timers import Debounce
from app.tools.mcp.configuration import KnownTool, ToolServer
from app.tools.mcp.life import Abort, Action, Alarm, Answer, End, Life, Send, Spawn, Timer, Wanted
from app.tools.mcp.limits import MOST_LOG_LINES
from app.tools.mcp.messages import (
    Call,
    Called,
    Cancel,
    Fill,
    Prompt,
    Read,
    Reply,
    Resource,
    Said,
    Tools,
    Unusable,
)
from app.tools.mcp.servers import ToolServers
from app.tools.mcp.start import child_command, child_environment, start_of
from app.tools.tool import ToolInfo, ToolResult
from app.words import worded
from common.failures import Failure
from common.files import make_private_folder
from common.process_end import ProcessEnd
from common.sentences import Sentence

log = logging.getLogger(__name__)
END_MS = 450  # for the child to end its server by itself
TIMERS: tuple[Timer, ...] = get_args(Timer)
FindSecrets = Callable[[ToolServer, Callable[[Mapping[str, str]], object], Callable[[Failure], object]], object]


class McpSource(QObject):
    """One server of the user's; its process runs only while somebody wants something of it.

    `life_changed` is emitted when its state or its log has changed.
    """

    def __init__(
        self,
        server: ToolServer,
        servers: ToolServers,
        find_secrets: FindSecrets,
        forbidden: Callable[[], Sentence | None],
        parent: QObject,
        times: Mapping[Timer, int] | None = None,
    ) -> None:
        """Make a source for the server; `forbidden` says why connections are turned off; tests give other `times`."""
        super().__init__(parent)
        self.id = f"mcp:{server.id}"
        self.changed: Event[()] = Event()
        self.life_changed: Event[()] = Event()
        self.life, self.log = Life(), deque[str](maxlen=MOST_LOG_LINES)
        self._id, self._servers = server.id, servers
        self._find_secrets, self._forbidden = find_secrets, forbidden
        self._last, self._starts, self._group = 0, 0, 0
        self._done: dict[int, Callable[[Called], object]] = {}
        self._actions: deque[Action] = deque()
        self._performing = False
        self._process = JsonLineProcess(self, self._hear, self._ended, errors=log)
        self._timers = {name: Debounce(partial(self._alarm, name), 0, self) for name in TIMERS}
        self._times = times or {}

    @property
    def server(self) -> ToolServer | None:
        return self._servers.find(self._id)

    @property
    def pid(self) -> int:
        """Id of the process that runs the server; 0 without one."""
        return self._process.pid

    def tools(self) -> tuple[ToolInfo, ...]:
        server = self.server
        if server is None or not server.on:
            return ()
        return tuple(self._info(server, known) for known in server.tools if known.on)

    def call(
        self,
        name: str,
        arguments: Mapping[str, Any],
        chat_id: str,  # noqa: ARG002 - a server hears nothing of chats, all of which share its process
        done: Callable[[ToolResult], None],
    ) -> Callable[[], None]:
        def tell(called: Called) -> None:
            done(result_of(called))

        server = self.server
        known = next((each for each in server.tools if each.tool.name == name and each.on), None) if server else None
        if server is None or known is None or not server.on:
            return self._answer_later(Sentence.of("tool_server.gone", name=name), tell)
        id, text = self._next(), json.dumps(dict(arguments), ensure_ascii=False)
        return self._want(Wanted(id, known.tool, Call(id, name, text)), tell)

    def read(self, resource: Resource, done: Callable[[Called], object]) -> Callable[[], None]:
        """Have the server read one of its resources; return a function that cancels this."""
        id = self._next()
        return self._want(Wanted(id, request=Read(id, resource.uri)), done)

    def fill(self, prompt: Prompt, arguments: dict[str, str], done: Callable[[Called], object]) -> Callable[[], None]:
        """Have the server fill in one of its prompts; return a function that cancels this."""
        id = self._next()
        return self._want(Wanted(id, request=Fill(id, prompt.name, arguments)), done)

    def test(self, done: Callable[[Sentence | None], object]) -> Callable[[], None]:
        """Start the server and ask for its tools; `done` gets None, or why that failed."""
        if self.life.state == "ready":
            self.stop()
        return self._want(Wanted(self._next()), lambda called: done(called.problem))

    def stop(self) -> None:
        """End the server; those who wait are told that it was switched off."""
        self._perform(self.life.stop(Sentence.of("tool_server.stopped")))

    def close(self) -> None:
        """End the server because the window closes; nobody is told."""
        self._done.clear()
        self.stop()

    # --- those who wait -----------------------------------------------------------------------------------------------

    def _next(self) -> int:
        self._last += 1
        return self._last

    def _want(self, wanted: Wanted, done: Callable[[Called], object]) -> Callable[[], None]:
        self._done[wanted.id] = done
        self._perform(self.life.want(wanted))
        return lambda: self._cancel(wanted.id)

    def _cancel(self, id: int) -> None:
        if self._done.pop(id, None) is not None:
            self._perform(self.life.cancel(id))

    def _answer_later(self, problem: Sentence, done: Callable[[Called], object]) -> Callable[[], None]:
        id = self._next()
        self._done[id] = done
        self._answer(Called(id, failed=True, problem=problem))
        return lambda: self._cancel(id)

    def _answer(self, called: Called) -> None:
        """Answer from the event loop: the one who waits may not have what `call` returns yet."""

        def answer() -> None:
            if (done := self._done.pop(called.id, None)) is not None:
                done(called)

        QTimer.singleShot(0, self, answer)

    # --- what the life asks for ---------------------------------------------------------------------------------------

    def _perform(self, actions: list[Action]) -> None:
        """Do what the life asks for, in order, also if one of the actions has the life ask for more."""
        self._actions.extend(actions)
        if self._performing:
            return
        self._performing = True
        try:
            while self._actions:
                self._do(self._actions.popleft())
        finally:
            self._performing = False
        self.life_changed.emit()

    def _do(self, action: Action) -> None:
        match action:
            case Spawn():
                self._spawn()
            case End():
                self._starts += 1  # secrets that are still looked for come too late
                self._process.close(END_MS, group=True)
            case Send(wanted=wanted):
                assert wanted.request is not None
                self._process.send(wanted.request)
            case Abort(id=id):
                self._process.send(Cancel(id))
            case Answer(result=result):
                self._answer(result)
            case Alarm(timer=timer, ms=0):
                self._timers[timer].cancel()
            case Alarm(timer=timer, ms=ms):
                self._timers[timer].request_in(self._times.get(timer, ms))

    def _alarm(self, timer: Timer) -> None:
        self._perform(self.life.alarm(timer))

    def _spawn(self) -> None:
        server = self.server
        self.log.clear()
        reason = self._forbidden() if server is not None and (server.url or server.connects) else None
        if server is None or reason is not None:
            self._perform(self.life.ended(reason or Sentence.of("tool_server.stopped"), final=True))
            return
        self._starts += 1
        start = self._starts

        def found(secrets: Mapping[str, str]) -> None:
            if start == self._starts:
                self._start(server, secrets)

        def failed(failure: Failure) -> None:
            if start == self._starts:
                self._perform(self.life.ended(failure.sentence, final=True))

        self._find_secrets(server, found, failed)

    def _start(self, server: ToolServer, secrets: Mapping[str, str]) -> None:
        home = self._servers.home_of(server)
        try:
            make_private_folder(home / "tmp")
        except OSError as error:
            self._perform(self.life.ended(Sentence.of("tool_server.no_start", reason=error.strerror), final=True))
            return
        self._process.start(child_command(), child_environment())
        self._group = self._process.pid
        self._process.send(start_of(server, home, secrets))

    # --- what the process says ----------------------------------------------------------------------------------------

    def _hear(self, lines: list[bytes]) -> None:
        for line in lines:
            try:
                reply = msgspec.json.decode(line, type=Reply)
            except msgspec.MsgspecError:
                log.warning("a line of %d bytes from a tool server's process was not understood", len(line))
                continue
            self._take(reply)

    def _take(self, reply: Reply) -> None:
        match reply:
            case Tools():
                self._describe(reply)
                self._perform(self.life.described(reply.tools))
            case Called():
                self._perform(self.life.answered(reply))
            case Unusable():
                self._perform(self.life.ended(reply.problem, reply.final))
            case Said():
                self.log.append(reply.line)
                self.life_changed.emit()

    def _describe(self, reply: Tools) -> None:
        """Store the tools; if that fails, the chats still have those of before."""
        try:
            self._servers.describe(self._id, reply)
        except Failure as failure:
            log.warning("%s", failure.log_text)
            self.log.append(worded(failure.sentence))

    def _ended(self, end: ProcessEnd) -> None:
        log.warning("the process of a tool server %s", end)
        kill_group(self._group)  # whatever has ended it may have left the server
        self._perform(self.life.ended(Sentence.of("tool_server.crashed")))

    def _info(self, server: ToolServer, known: KnownTool) -> ToolInfo:
        tool = known.tool
        return ToolInfo(
            tool.name,
            tool.title or tool.name,
            tool.description,
            tool.parameters,
            self.id,
            server.name,
            "reads" if known.reads else "acts",
        )


def result_of(called: Called) -> ToolResult:
    """Return the result for the chat."""
    problem = worded(called.problem) if called.problem is not None else ""
    return ToolResult(called.text or problem, problem, called.failed)
