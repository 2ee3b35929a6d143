"""Runs the processes that read files, a few at a time. The only module here that knows Qt.

What a process wrote becomes a value in a thread: for a thick novel that takes longer than a frame."""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QTimer

from app.attachments import READ_FILE
from app.attachments.attachment import Attachment, clean_name, sentence
from app.attachments.child import MOST_SECONDS, Reply
from app.services.background import Background
from app.services.json_line_process import JsonLineProcess
from app.services.process_end import ProcessEnd

log = logging.getLogger(__name__)
AT_ONCE = 2
PATIENCE_MS = round((MOST_SECONDS + 5) * 1000)  # the process ends itself; this is for one that cannot
Taker = Callable[[Attachment | str], None]


class FileReader(QObject):
    """`read` calls back with the Attachment, or with the sentence that says why there is none."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[tuple[Path, Taker]] = deque()
        self._running: set[_Reading] = set()
        self._background = Background(self)

    def read(self, path: Path, done: Taker) -> None:
        self._waiting.append((path.absolute(), done))
        self._go_on()

    def close(self) -> None:
        """The window is closing: whatever is being read is not wanted any more."""
        self._waiting.clear()
        self._background.close()
        running, self._running = self._running, set()
        for reading in running:
            reading.close()

    def _go_on(self) -> None:
        while self._waiting and len(self._running) < AT_ONCE:
            path, done = self._waiting.popleft()
            reading = _Reading(path, partial(self._ended, done), self)
            self._running.add(reading)
            reading.start()

    def _ended(self, done: Taker, reading: _Reading, line: bytes) -> None:
        self._running.discard(reading)
        path = reading.path
        self._background.run(
            lambda: _outcome(path, line), done, lambda _failure: done(sentence("crashed", clean_name(path.name)))
        )
        reading.deleteLater()
        self._go_on()


class _Reading(QObject):
    """The process that reads one file; `ended` gets this and what it wrote."""

    def __init__(self, path: Path, ended: Callable[[_Reading, bytes], object], parent: QObject) -> None:
        super().__init__(parent)
        self.path, self._ended = path, ended
        self._line = b""
        self._process = JsonLineProcess(self, self._heard, self._end, errors="forward")
        self.close = self._process.close

    def start(self) -> None:
        program = [READ_FILE] if getattr(sys, "frozen", False) else ["-m", "app.attachments.child"]
        self._process.start([sys.executable, *program, str(self.path)])
        QTimer.singleShot(PATIENCE_MS, self, self._process.kill)

    def _heard(self, lines: list[bytes]) -> None:
        self._line = self._line or lines[0]

    def _end(self, end: ProcessEnd) -> None:
        if not self._line:
            log.warning("the process that reads a file %s", end)
        self._ended(self, self._line)


def _outcome(path: Path, line: bytes) -> Attachment | str:
    name = clean_name(path.name)
    try:
        reply = msgspec.json.decode(line, type=Reply)
    except msgspec.DecodeError:  # it was killed, or died
        return sentence("crashed", name)
    if reply.file is None:
        return sentence(reply.refused, name, reply.values)
    # Not asdict: it copies each of thousands of parts.
    return Attachment(name, **{field.name: getattr(reply.file, field.name) for field in fields(reply.file)})
