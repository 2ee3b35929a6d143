"""The engine's process under Qt: does what its client wants, and tells the client what the process does."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict

from PySide6.QtCore import QObject, QTimer

from app.services.frames import slices
from app.services.json_line_process import JsonLineProcess
from common.engine_program import engine_command, engine_environment
from common.process_end import EngineEnd, ProcessEnd
from common.sentences import Sentence
from engine.client import Action, End, EngineClient, Send, Start, Tick
from engine.protocol.events import Failed
from engine.protocol.lines import MAX_LINE, encode, event_of
from models.readable_files import readable_files

log = logging.getLogger(__name__)
stderr_log = logging.getLogger("engine.stderr")
TICK_MS = 250
CLOSE_MS = 3_000  # until a closed engine is killed; when the window closes, `wait_for_children` is stricter
SLICE_SECONDS = 0.003


class EngineProcess(QObject):
    """The engine's process, and its client, to whom requests are given. Knows no models or chats.

    `patience_ms`: milliseconds after which an engine is killed that does not end a cancelled request.
    """

    def __init__(
        self, command: Sequence[str] | None = None, parent: QObject | None = None, patience_ms: int = 3_000
    ) -> None:
        super().__init__(parent)
        self._commands = {False: list(command or engine_command("serve")), True: engine_command("remote")}
        self._process = JsonLineProcess(self, self._receive, self._end, errors=stderr_log)
        self._unread: deque[bytes] = deque()
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self.client = EngineClient(self._perform, patience=patience_ms / 1000)
        self._timer.timeout.connect(self.client.tick)

    @property
    def running(self) -> bool:
        return self._process.running

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def memory_bytes(self) -> int:
        """Resident memory of the process in bytes; 0 without a process."""
        return self._process.memory_bytes

    def flush(self) -> None:
        """Hand over the requests so far; without this the process gets them once the event loop runs."""
        self._process.flush()

    def close(self) -> None:
        """Ask the process to end. Nothing is told to anybody any more."""
        self._unread.clear()
        self._timer.stop()
        self._process.close(CLOSE_MS)

    def _perform(self, action: Action) -> None:
        process = self._process
        match action:
            case Start(files, remote):
                self._unread.clear()
                arguments = [] if remote else readable_files(files).arguments
                process.start([*self._commands[remote], *arguments], engine_environment())
            case Send(request):
                line = encode(request)
                if len(line) > MAX_LINE:
                    self.client.received(Failed(request.id, Sentence.of("bad_request.long", most=MAX_LINE)))
                else:
                    process.write(line)
            case End(how):
                {"close": process.close_input, "terminate": process.terminate, "kill": process.kill}[how]()
            case Tick(on):
                if on:
                    self._timer.start()
                else:
                    self._timer.stop()

    def _receive(self, lines: list[bytes]) -> None:
        self._unread += lines
        if self._emit_some():
            slices().add(self, self._emit_some)

    def _emit_some(self) -> bool:
        """Hand on unread events for SLICE_SECONDS at most; return whether more are left.

        Hundreds of events may arrive at once.
        """
        until = time.perf_counter() + SLICE_SECONDS
        while self._unread and time.perf_counter() < until:
            if event := event_of(self._unread.popleft()):
                self.client.received(event)
        return bool(self._unread)

    def _end(self, end: ProcessEnd) -> None:
        while self._emit_some():
            continue
        engine_end = EngineEnd(**asdict(end))
        log.warning("engine: %s", engine_end)
        self.client.ended(engine_end)
