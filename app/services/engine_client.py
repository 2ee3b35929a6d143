"""The engine process as Qt sees it: requests go in as lines, events come out as a signal. Knows no models or chats."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QProcess, Signal

from app.services.engine_link import EngineEnd
from app.services.frames import slices
from app.services.json_line_process import LineBuffer, end_process, new_process
from common.planning import engine_command
from engine import protocol
from models.reach import reach

log = logging.getLogger(__name__)
stderr_log = logging.getLogger("engine.stderr")
GRACE_MS = 1500
REMEMBERED_LINES = 20
SLICE_SECONDS = 0.003
NOT_UNDERSTOOD = (
    "The engine sent a message that this window does not understand; their versions may differ. The log has the "
    "details."
)
ENDS = {protocol.type_name(end) for end in protocol.ENDS}


class Line(msgspec.Struct):
    """What every message has."""

    type: str


class EngineClient(QObject):
    """Implements `Link`. `received` carries an `engine.protocol.Event`, `ended` an `EngineEnd`."""

    received = Signal(object)
    ended = Signal(object)

    def __init__(self, command: Sequence[str] | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._command = list(command or engine_command("serve"))
        self._process: QProcess | None = None
        self._killed = False
        self._unread: deque[bytes] = deque()

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.state() != QProcess.ProcessState.NotRunning

    @property
    def pid(self) -> int:
        return self._process.processId() if self._process else 0

    def start(self, files: Iterable[str | Path | None] = ()) -> None:
        self._lines, self._errors = LineBuffer(), LineBuffer()
        self._unread.clear()
        self._killed = False
        self._said: deque[str] = deque(maxlen=REMEMBERED_LINES)
        process = self._process = new_process(self)
        process.readyReadStandardOutput.connect(self._read)
        process.readyReadStandardError.connect(self._read_errors)
        process.finished.connect(self._finished)
        process.errorOccurred.connect(self._failed)
        process.start(self._command[0], [*self._command[1:], *reach(files).arguments])

    def send(self, request: protocol.Request) -> None:
        """Write the request; QProcess buffers it until the engine reads. Without an engine it is dropped."""
        if self._process is not None and self.running:
            self._process.write(protocol.encode(request))

    def kill(self) -> None:
        """End an engine that does not react; `ended` follows."""
        if self._process is not None:
            self._killed = True
            self._process.kill()

    def close(self) -> None:
        """End the engine: close its stdin, which it takes as a request to end, then terminate, then kill."""
        self._unread.clear()
        process, self._process = self._process, None
        if process is None:
            return
        if not end_process(process, GRACE_MS, terminate=True):
            log.warning("the engine did not end by itself")

    def _read(self) -> None:
        if self._process is None:
            return
        self._unread += self._lines.feed(bytes(self._process.readAllStandardOutput().data()))
        if self._tell_next():
            slices().add(self, self._tell_next)

    def _tell_next(self) -> bool:
        """Of what was read, as much as a slice has time for: hundreds of tokens may come at once. Is there more?"""
        until = time.perf_counter() + SLICE_SECONDS
        while self._unread and time.perf_counter() < until:
            self._tell(self._unread.popleft())
        return bool(self._unread)

    def _tell(self, line: bytes) -> None:
        try:
            event = protocol.decode_event(line)
        except protocol.ProtocolError as error:
            log.warning("a line from the engine was ignored: %s: %r", error, line[:200])
            if error.id and _ends_a_request(line):
                self.received.emit(protocol.Failed(error.id, "protocol", NOT_UNDERSTOOD, str(error)))
        else:
            self.received.emit(event)

    def _read_errors(self) -> None:
        if self._process is None:
            return
        for line in self._errors.feed(bytes(self._process.readAllStandardError().data())):
            text = line.decode("utf-8", "replace")
            self._said.append(text)
            stderr_log.info("%s", text)

    def _finished(self, exit_code: int, status: QProcess.ExitStatus) -> None:
        self._read()
        while self._tell_next():
            continue
        self._read_errors()
        said = "\n".join(self._said)
        if status == QProcess.ExitStatus.CrashExit and sys.platform != "win32":
            # On Unix QProcess gives the number of the signal that ended the process as its exit code.
            self._end(EngineEnd(signal_number=exit_code, hung=self._killed, output=said))
        else:
            self._end(EngineEnd(exit_code=exit_code, hung=self._killed, output=said))

    def _failed(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            self._end(EngineEnd(not_started=self._process.errorString()))

    def _end(self, end: EngineEnd) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.deleteLater()
        log.warning("engine: %s", end)
        self.ended.emit(end)


def _ends_a_request(line: bytes) -> bool:
    """Does whoever asked wait for this line, whatever else is in it?"""
    return msgspec.json.decode(line, type=Line).type in ENDS  # sound JSON, or it would have no id
