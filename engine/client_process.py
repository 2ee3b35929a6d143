"""An engine's process under asyncio, driven by its client; and the same for callers that simply wait."""

from __future__ import annotations

import asyncio
import logging
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from common.confinement.program import ROOT
from common.engine_program import engine_command
from common.failures import Failure
from common.process_end import EngineEnd
from common.sentences import Sentence
from engine.client import PATIENCE, Action, Changed, End, EngineClient, Heard, Send, Start, Target, Tick
from engine.protocol.events import ENDS, Event, Failed, ModelInfo
from engine.protocol.lines import MAX_LINE, encode, event_of
from engine.protocol.requests import Request
from engine.run_subprocess import NO_CONSOLE
from models.readable_files import readable_files

log = logging.getLogger("engine.client")
REMEMBERED_LINES = 20  # of the engine's log, printed when it crashes or meets a bug
LOG_SECONDS = 0.2  # in which the engine's log of a bug arrives, which comes by another pipe than the failure
REST_SECONDS = 1.0  # in which the last lines of a process arrive that has ended; a child of it may hold the pipe open
TICK = 0.25  # seconds
T = TypeVar("T")


def command_of(start: Start) -> list[str]:
    """Return the command of the process that `start` describes."""
    verb = engine_command("remote" if start.remote else "serve")
    return verb if start.remote else [*verb, *readable_files(start.files).arguments]


class ClientProcess:
    """The process of an engine that is to have one model.

    `heard` gets the events that answer no request. All methods are called in the thread of the running loop.
    """

    def __init__(
        self,
        target: Target,
        command: Callable[[Start], Sequence[str]] = command_of,
        environment: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.client = EngineClient(self._perform, patience=patience)
        self.client.news = self._take_news
        self.heard: Callable[[Event], object] = lambda _event: None
        self.pid = 0
        self.last_lines = deque[str](maxlen=REMEMBERED_LINES)  # of the engine's log
        self._target, self._command, self._environment = target, command, environment
        self._process: Process | None = None
        self._unwritten: list[Send | End] = []  # actions for a process that is still being created
        self._tasks: set[asyncio.Task[None]] = set()
        self._ticking: asyncio.Task[None] | None = None
        self._changed: list[asyncio.Future[Changed]] = []

    @property
    def model(self) -> ModelInfo | None:
        """The model that was loaded last."""
        return self.client.model

    def use(self, target: Target) -> None:
        """Load another model from now on; `ready` waits for it."""
        self._target = target
        self.client.use(target)

    def submit(self, request: Request, heard: Heard) -> int:
        """Send a request once the model is loaded, and return its id; `heard` gets its events up to the last one."""
        return self.client.submit(request, heard)

    def cancel(self, id: int) -> None:
        """End a request early; its last event follows."""
        self.client.cancel(id)

    async def ready(self) -> ModelInfo:
        """Have the model loaded, and return what it is. Raises Failure."""
        if self.client.phase == "absent":
            self.client.use(self._target)
        self.client.start()
        while self.client.phase != "ready":
            changed = await self._next_change()
            if changed.failed:
                raise Failure(changed.failed.sentence, changed.failed.detail)
            if changed.end:
                raise Failure(changed.end.sentence, changed.end.output)
            if changed.phase == "absent":  # ended meanwhile by who owns it
                raise Failure("cancelled.request")
        assert self.client.model
        return self.client.model

    async def close(self) -> None:
        """End the process, and return when it has ended."""
        self.client.close()
        while self.client.running:
            await self._next_change()
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _next_change(self) -> Changed:
        future: asyncio.Future[Changed] = asyncio.get_running_loop().create_future()
        self._changed.append(future)
        return await future

    def _take_news(self, news: Event | Changed) -> None:
        if not isinstance(news, Changed):
            self.heard(news)
            return
        if news.end:
            self._print_log(news.end.sentence)
        waiting, self._changed = self._changed, []
        for future in waiting:
            if not future.done():
                future.set_result(news)

    # --- actions ----------------------------------------------------------------------------------------------------

    def _perform(self, action: Action) -> None:
        match action:
            case Start():
                self._unwritten.clear()
                self._spawn(self._run(action))
            case Tick(on):
                if self._ticking:
                    self._ticking.cancel()
                self._ticking = self._spawn(self._tick()) if on else None
            case Send() | End() if self._process is None:
                self._unwritten.append(action)
            case Send() | End():
                self._act(self._process, action)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop itself holds tasks only weakly
        task.add_done_callback(self._tasks.discard)
        return task

    def _act(self, process: Process, action: Send | End) -> None:
        if process.returncode is not None:
            return
        assert process.stdin
        match action:
            case Send(request):
                line = encode(request)
                if len(line) > MAX_LINE:
                    self.client.received(Failed(request.id, Sentence.of("bad_request.long", most=MAX_LINE)))
                else:
                    process.stdin.write(line)
            case End("close"):
                process.stdin.close()
            case End("terminate"):
                process.terminate()
            case End("kill"):
                process.kill()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            self.client.tick()

    # --- the process ------------------------------------------------------------------------------------------------

    async def _run(self, start: Start) -> None:
        """Start the process, hand on what it says, and tell the client of its end."""
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command(start), stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=MAX_LINE, env=self._environment,
                cwd=None if getattr(sys, "frozen", False) else ROOT, creationflags=NO_CONSOLE,
                start_new_session=sys.platform != "win32",
            )  # fmt: skip
        except OSError as error:
            self.client.ended(EngineEnd(not_started=error.strerror or str(error)))
            return
        self._process, self.pid = process, process.pid
        self.last_lines.clear()
        try:
            unwritten, self._unwritten = self._unwritten, []
            for action in unwritten:
                self._act(process, action)
            readers = {self._spawn(self._read(process)), self._spawn(self._read_log(process))}
            code = await process.wait()
            await asyncio.wait(readers, timeout=REST_SECONDS)
        except asyncio.CancelledError:  # no process may stay behind
            process.kill()
            raise
        for reader in readers:
            reader.cancel()
        self._process, self.pid = None, 0
        self.client.ended(EngineEnd.of_code(code, "\n".join(self.last_lines)))

    async def _read(self, process: Process) -> None:
        assert process.stdout
        try:
            while line := await process.stdout.readline():
                if event := event_of(line):
                    self._receive(event)
        except ValueError:
            log.exception("a line of the engine is too long")
            process.kill()

    def _receive(self, event: Event) -> None:
        if isinstance(event, Failed) and event.code == "internal":
            asyncio.get_running_loop().call_later(LOG_SECONDS, self._print_log, event.sentence)
        try:
            self.client.received(event)
        except Exception:  # the next events must be read
            log.exception("bug in what waits for the engine")

    async def _read_log(self, process: Process) -> None:
        assert process.stderr
        while line := await process.stderr.readline():
            self.last_lines.append(line.decode("utf-8", "replace").rstrip())

    def _print_log(self, reason: Sentence) -> None:
        log.error("%s\n%s", reason, "\n".join(self.last_lines))


class WaitingClient:
    """A ClientProcess for callers without a loop: each call waits for its result."""

    def __init__(
        self,
        target: Target,
        command: Callable[[Start], Sequence[str]] = command_of,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._loop = asyncio.new_event_loop()
        self.process = ClientProcess(target, command, environment)
        self._running = 0  # id of the request whose events are being read

    def load(self) -> ModelInfo:
        """Have the model loaded, and return what it is. Raises Failure."""
        return self._wait(self.process.ready())

    def use(self, target: Target) -> ModelInfo:
        """Load another model in place of the loaded one. Raises Failure."""
        return self._wait(self._use(target))

    def ask(self, request: Request) -> Event:
        """Send a request and return its last event. Raises Failure."""
        *_, last = self.events(request)
        return last

    def events(self, request: Request) -> Iterator[Event]:
        """Send a request and yield its events as they come, the last one included. Raises Failure."""
        arrived: asyncio.Queue[Event] = asyncio.Queue()
        self._running = self._wait(self._submit(request, arrived))
        while True:
            event = self._wait(arrived.get())
            if isinstance(event, Failed):
                raise Failure(event.sentence, event.detail)
            yield event
            if isinstance(event, ENDS):
                return

    def cancel(self) -> None:
        """Stop the request whose events are being read; its last event follows. A signal's handler may call this."""
        self._loop.call_soon_threadsafe(self.process.cancel, self._running)

    def close(self) -> None:
        """End the process; a second call does nothing."""
        if not self._loop.is_closed():
            self._wait(self.process.close())
            self._loop.close()

    async def _use(self, target: Target) -> ModelInfo:
        self.process.use(target)
        return await self.process.ready()

    async def _submit(self, request: Request, arrived: asyncio.Queue[Event]) -> int:
        await self.process.ready()
        return self.process.submit(request, arrived.put_nowait)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)
