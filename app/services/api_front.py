"""The process of the local API: it serves other programs, and asks the window for what the engine is to do."""

from __future__ import annotations

import logging

from PySide6.QtCore import QObject, Signal

from app.services.json_line_process import JsonLineProcess
from common.engine_program import engine_command
from common.process_end import ProcessEnd
from engine.protocol.events import Event
from engine.protocol.front import Configure, decode_front, encode_front
from engine.protocol.lines import ProtocolError, decode_request, encode

log = logging.getLogger(__name__)
stderr_log = logging.getLogger("api.stderr")
GRACE_MS = 1_000


class ApiFront(QObject):
    """The API's process.

    `requested` carries a request to the engine, `told` news about the API (`engine.protocol.front`), `ended` a
    ProcessEnd.
    """

    requested = Signal(object)
    told = Signal(object)
    ended = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._process = JsonLineProcess(self, self._receive, self._end, errors=stderr_log)

    @property
    def running(self) -> bool:
        return self._process.running

    @property
    def memory_bytes(self) -> int:
        """Resident memory of the process in bytes; 0 without a process."""
        return self._process.memory_bytes

    def start(self, options: Configure) -> None:
        """Start the process, which tells where it serves, or why it cannot."""
        self._process.start([*engine_command("api"), "--relay"])
        self.configure(options)

    def configure(self, options: Configure) -> None:
        """Send changed options; without a process they are dropped."""
        self._process.write(encode_front(options))

    def send(self, event: Event) -> None:
        """Send what the engine answers; without a process it is dropped."""
        self._process.write(encode(event))

    def close(self) -> None:
        """Ask the process to end; it is killed if it does not."""
        self._process.close(GRACE_MS)

    def _receive(self, lines: list[bytes]) -> None:
        for line in lines:
            if news := decode_front(line):
                self.told.emit(news)
                continue
            try:
                self.requested.emit(decode_request(line))
            except ProtocolError as error:
                log.warning("a line of %d bytes from the API was ignored: %s", len(line), error.kind)

    def _end(self, end: ProcessEnd) -> None:
        log.warning("the API's process %s", end)
        self.ended.emit(end)
