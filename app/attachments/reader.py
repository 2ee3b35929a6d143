"""Runs the processes that read files, a few at a time. Besides `pictures` the only module here that knows Qt.

The output of a process is decoded in a thread, because for a long novel that takes longer than a frame.
"""

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
from app.attachments.attachment import Attachment, ScannedPages, clean_name, sentence
from app.attachments.child import MOST_SECONDS, Reply
from app.attachments.extraction import Extracted
from app.services.background import Background
from app.services.json_line_process import JsonLineProcess
from app.words import tr
from common.process_end import ProcessEnd

log = logging.getLogger(__name__)
AT_ONCE = 2
PATIENCE_MS = round((MOST_SECONDS + 5) * 1000)  # the process ends itself after MOST_SECONDS; this ends one that cannot
FIELDS = tuple(field.name for field in fields(Extracted) if field.name in {own.name for own in fields(Attachment)})
Outcome = Attachment | ScannedPages | str
ReadCallback = Callable[[Outcome], None]


class FileReader(QObject):
    """A reader of files.

    `read` calls back with the Attachment, with the pages of a scanned PDF, or with the sentence that says why there is
    neither.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[tuple[Path, int, ReadCallback]] = deque()
        self._running: set[_ReadProcess] = set()
        self._background = Background(self)

    def read(self, path: Path, done: ReadCallback, pixels: int = 0) -> None:
        """Read a file; a picture keeps about `pixels` pixels at most, and 0 refuses pictures."""
        self._waiting.append((path.absolute(), pixels, done))
        self._start_waiting()

    def close(self) -> None:
        """End the processes, because the window is closing."""
        self._waiting.clear()
        self._background.close()
        running, self._running = self._running, set()
        for process in running:
            process.close()

    def _start_waiting(self) -> None:
        while self._waiting and len(self._running) < AT_ONCE:
            path, pixels, done = self._waiting.popleft()
            process = _ReadProcess(path, pixels, partial(self._ended, done), self)
            self._running.add(process)
            process.start()

    def _ended(self, done: ReadCallback, process: _ReadProcess, line: bytes) -> None:
        self._running.discard(process)
        path = process.path
        self._background.run(
            lambda: _outcome(path, line), done, lambda _failure: done(sentence("crashed", clean_name(path.name)))
        )
        process.deleteLater()
        self._start_waiting()


class _ReadProcess(QObject):
    """The process that reads one file; `ended` is called with this object and the line that the process wrote."""

    def __init__(
        self, path: Path, pixels: int, ended: Callable[[_ReadProcess, bytes], object], parent: QObject
    ) -> None:
        super().__init__(parent)
        self.path, self._pixels, self._ended = path, pixels, ended
        self._line = b""
        self._process = JsonLineProcess(self, self._receive, self._end, errors="forward")
        self.close = self._process.close

    def start(self) -> None:
        program = [READ_FILE] if getattr(sys, "frozen", False) else ["-m", "app.attachments.child"]
        self._process.start([sys.executable, *program, str(self.path), str(self._pixels)])
        QTimer.singleShot(PATIENCE_MS, self, self._process.kill)

    def _receive(self, lines: list[bytes]) -> None:
        self._line = self._line or lines[0]

    def _end(self, end: ProcessEnd) -> None:
        if not self._line:
            log.warning("the process that reads a file %s", end)
        self._ended(self, self._line)


def _outcome(path: Path, line: bytes) -> Outcome:
    name = clean_name(path.name)
    try:
        reply = msgspec.json.decode(line, type=Reply)
    except msgspec.DecodeError:  # the process was killed or crashed
        return sentence("crashed", name)
    if reply.file is None:
        return sentence(reply.refused, name, reply.values)
    if reply.file.scans:
        return _scanned(name, reply.file)
    # `asdict` would copy each of thousands of parts.
    return Attachment(name, **{field: getattr(reply.file, field) for field in FIELDS})


def _scanned(name: str, file: Extracted) -> ScannedPages:
    """Return a scanned PDF's pages as pictures with names of their own."""
    pages = tuple(
        Attachment(tr("{name}, page {n}", name=name, n=number), "picture", len(scan.data), "", picture=scan)
        for number, scan in file.scans.items()
    )
    return ScannedPages(pages, file.page_count)
