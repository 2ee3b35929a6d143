"""An engine of the API's own: starts its process, loads the model, and starts it again after a crash."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from asyncio.subprocess import PIPE, Process
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from common.confinement.program import ROOT
from common.engine_program import engine_command
from common.failures import Failure
from common.process_end import EngineEnd
from common.sentences import Sentence
from engine.api.link import MAX_LINE, event_of
from engine.protocol.events import ENDS, Cancelled, Event, Failed, Faster, Loaded, ModelInfo, Restart
from engine.protocol.lines import encode
from engine.protocol.requests import Cancel, Hello, Load, Request, Shutdown
from engine.run_subprocess import NO_CONSOLE
from models.readable_files import readable_files

log = logging.getLogger("engine.api")
FIRST_ID = 1 << 40  # the link's own requests, far above those of the API
GRACE = 3.0  # seconds in which an engine ends that was asked to
CANCEL_SECONDS = 20.0  # in which a cancelled request ends; usual are 0.1, and more where the disk is slow
REMEMBERED_LINES = 20  # of the engine's log, printed when it crashes or meets a bug
LOG_SECONDS = 0.2  # in which the engine's log of a bug arrives, which comes by another pipe than the failure
MOST_RESTARTS = 2  # that one load may ask for: another library, then the right to read the file


class ProcessLink:
    """A link to an engine process with one model, which the request `load` loads.

    `files`: others that the engine may read.
    """

    def __init__(self, load: Load, files: Sequence[str] = ()) -> None:
        self.received: Callable[[Event], None] = lambda _event: None
        self.ended: Callable[[Sentence], None] = lambda _reason: None
        self.model: ModelInfo | None = None
        self._load, self._files = load, files
        self._process: Process | None = None
        self._reading: list[asyncio.Task[None]] = []
        self._own: dict[int, asyncio.Future[Event]] = {}
        self._last_id = FIRST_ID
        self._loaded = False
        self._outdated = False  # another library was measured to be faster
        self._hung = False  # it was killed because it ignored Cancel
        self._cancels: dict[int, asyncio.TimerHandle] = {}  # by the ids of Cancel and of the request that it ends
        self._log = deque[str](maxlen=REMEMBERED_LINES)

    async def prepare(self) -> None:
        """Start the engine and load the model, unless both is done. Raises Failure."""
        if self._loaded and not self._outdated and self._running:
            return
        for _ in range(MOST_RESTARTS + 1):
            if not self._running:
                await self._start()
            self._outdated = False
            match await self._ask(replace(self._load, id=self._next_id())):
                case Loaded() as loaded:
                    self.model, self._loaded = loaded.model, True
                    return
                case Restart():
                    await self._end()
                case Failed() as failed:
                    raise Failure(failed.sentence, failed.detail)
        raise Failure("engine_end.unexpected")

    def send(self, request: Request) -> None:
        if self._running and self._process and self._process.stdin:
            self._process.stdin.write(encode(request))
            if isinstance(request, Cancel):
                timer = asyncio.get_running_loop().call_later(CANCEL_SECONDS, self._kill_hung, self._process)
                self._cancels[request.id] = self._cancels[request.request] = timer

    async def close(self) -> None:
        self.ended = lambda _reason: None
        await self._end()

    @property
    def _running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def _start(self) -> None:
        files = readable_files((self._load.path, self._load.draft_model, *self._files)).arguments
        try:
            self._process = await asyncio.create_subprocess_exec(
                *engine_command("serve"), *files, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=MAX_LINE,
                cwd=None if getattr(sys, "frozen", False) else ROOT, creationflags=NO_CONSOLE,
                start_new_session=sys.platform != "win32",
            )  # fmt: skip
        except OSError as error:
            raise Failure("engine_end.not_started", reason=error.strerror or error) from error
        self._loaded = self._hung = False
        process = self._process
        self._reading = [asyncio.create_task(self._read(process)), asyncio.create_task(self._read_log(process))]
        answer = await self._ask(Hello(self._next_id()))
        if isinstance(answer, Failed):
            raise Failure(answer.sentence, answer.detail)

    async def _ask(self, request: Request) -> Event:
        """Send a request of the link's own and return its last event. Cancels the request if it is cancelled itself."""
        future: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        self._own[request.id] = future
        self.send(request)
        try:
            return await future
        except asyncio.CancelledError:
            self.send(Cancel(self._next_id(), request.id))
            raise
        finally:
            self._own.pop(request.id, None)

    async def _read(self, process: Process) -> None:
        assert process.stdout
        try:
            while line := await process.stdout.readline():
                if event := event_of(line):
                    self._take(event)
        except ValueError:
            log.exception("a line of the engine is too long")
            process.kill()
        await process.wait()
        if process is self._process:
            self._report_end(process)

    async def _read_log(self, process: Process) -> None:
        assert process.stderr
        while line := await process.stderr.readline():
            self._log.append(line.decode("utf-8", "replace").rstrip())

    def _take(self, event: Event) -> None:
        if isinstance(event, Faster):
            self._outdated = True
        if isinstance(event, Failed) and event.code == "internal":
            asyncio.get_running_loop().call_later(LOG_SECONDS, self._print_log, event.sentence)
        timer = self._cancels.pop(event.id, None) if isinstance(event, ENDS) else None
        if timer and not (isinstance(event, Cancelled) and event.found):  # else the cancelled request has still to end
            timer.cancel()
        waiting = self._own.get(event.id)
        if waiting is None:
            self.received(event)
        elif isinstance(event, ENDS) and not waiting.done():
            waiting.set_result(event)

    def _report_end(self, process: Process) -> None:
        reason = Sentence.of("engine_end.hung") if self._hung else engine_end(process.returncode or 0).sentence
        self._process, self._loaded = None, False
        self._forget_cancels()
        self._print_log(reason)
        for future in self._own.values():
            if not future.done():
                future.set_result(Failed(0, reason))
        self.ended(reason)

    def _kill_hung(self, process: Process) -> None:
        """Kill an engine that ignores Cancel; everybody who waits for it is told by `_report_end`."""
        if process is self._process and process.returncode is None:
            self._hung = True
            process.kill()

    def _forget_cancels(self) -> None:
        for timer in self._cancels.values():
            timer.cancel()
        self._cancels.clear()

    def _print_log(self, reason: Sentence) -> None:
        log.error("%s\n%s", reason, "\n".join(self._log))

    async def _end(self) -> None:
        """End the process: ask, then terminate, then kill."""
        process, self._process, self._loaded = self._process, None, False
        self._forget_cancels()
        if process is None or process.returncode is not None:
            return
        assert process.stdin
        process.stdin.write(encode(Shutdown(self._next_id())))
        process.stdin.close()
        for stop in (process.terminate, process.kill):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), GRACE)
                break
            with contextlib.suppress(ProcessLookupError):
                stop()
        await process.wait()
        for task in self._reading:
            task.cancel()

    def _next_id(self) -> int:
        self._last_id += 1
        return self._last_id


def engine_end(code: int) -> EngineEnd:
    """Return the end of an engine whose exit code asyncio gives; a negative one is a signal's number."""
    return EngineEnd(signal_number=-code) if code < 0 else EngineEnd(exit_code=code)
