"""The engine's process: requests go in as lines, events come out as a signal. Knows no models or chats."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.services.frames import slices
from app.services.json_line_process import JsonLineProcess
from common.engine_program import engine_command
from common.process_end import EngineEnd, ProcessEnd
from common.sentences import Sentence
from engine.protocol.events import ENDS, Failed
from engine.protocol.lines import ProtocolError, decode_event, encode, type_name
from engine.protocol.requests import Request
from models.readable_files import readable_files

log = logging.getLogger(__name__)
stderr_log = logging.getLogger("engine.stderr")
GRACE_MS = 1500
SLICE_SECONDS = 0.003
END_NAMES = {type_name(end) for end in ENDS}


class Line(msgspec.Struct):
    """The field that every message has."""

    type: str


class EngineClient(QObject):
    """The engine's process; `received` carries an `engine.protocol.events.Event`, `ended` an `EngineEnd`."""

    received = Signal(object)
    ended = Signal(object)

    def __init__(self, command: Sequence[str] | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._commands = {False: list(command or engine_command("serve")), True: engine_command("remote")}
        self._process = JsonLineProcess(self, self._receive, self._end, errors=stderr_log)
        self._unread: deque[bytes] = deque()

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

    def start(self, files: Iterable[str | Path | None] = (), remote: bool = False) -> None:
        """Start the engine; `files` are those that it will be asked to load, outside of the model folders too.

        With `remote` it is the engine that asks servers and reads no models.
        """
        self._unread.clear()
        arguments = [] if remote else readable_files(files).arguments
        self._process.start([*self._commands[remote], *arguments])

    def send(self, request: Request) -> None:
        """Send a request; without an engine it is dropped."""
        self._process.write(encode(request))

    def kill(self) -> None:
        """Kill an engine that does not react; `ended` follows."""
        self._process.kill()

    def close(self) -> None:
        """End the engine: close its stdin as a request to end, then terminate it, then kill it."""
        self._unread.clear()
        if not self._process.close(GRACE_MS, terminate=True):
            log.warning("the engine did not end by itself")

    def _receive(self, lines: list[bytes]) -> None:
        self._unread += lines
        if self._emit_some():
            slices().add(self, self._emit_some)

    def _emit_some(self) -> bool:
        """Emit unread events for SLICE_SECONDS at most; return whether more are left.

        Hundreds of events may arrive at once.
        """
        until = time.perf_counter() + SLICE_SECONDS
        while self._unread and time.perf_counter() < until:
            self._emit_event(self._unread.popleft())
        return bool(self._unread)

    def _emit_event(self, line: bytes) -> None:
        try:
            event = decode_event(line)
        except ProtocolError as error:
            log.warning("a line of %d bytes from the engine was ignored: %s", len(line), error.kind)
            if error.id and _ends_a_request(line):
                self.received.emit(Failed(error.id, Sentence.of("protocol.unknown"), str(error)))
        else:
            self.received.emit(event)

    def _end(self, end: ProcessEnd) -> None:
        while self._emit_some():
            continue
        engine_end = EngineEnd(**asdict(end))
        log.warning("engine: %s", engine_end)
        self.ended.emit(engine_end)


def _ends_a_request(line: bytes) -> bool:
    """Return whether this line ends a request that someone waits for, even if the rest of the line is unknown."""
    return msgspec.json.decode(line, type=Line).type in END_NAMES  # valid JSON, because its id was read
