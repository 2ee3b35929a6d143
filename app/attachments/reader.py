"""Runs the processes that read files, a few at a time. The only module here that knows Qt.

What a process wrote becomes a value in a thread: for a thick novel that takes longer than a frame."""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, QProcess, QTimer

from app.attachments import READ_FILE
from app.attachments.attachment import Attachment, clean_name, sentence
from app.attachments.child import MOST_SECONDS, Reply
from app.services.background import Background
from app.services.json_line_process import end_process, new_process
from common.failures import Failure

log = logging.getLogger(__name__)
AT_ONCE = 2
PATIENCE_MS = round((MOST_SECONDS + 5) * 1000)  # the process ends itself; this is for one that cannot
Taker = Callable[[Attachment | str], None]


@dataclass
class _Job:
    path: Path
    done: Taker


class FileReader(QObject):
    """`read` calls back with the Attachment, or with the sentence that says why there is none."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[_Job] = deque()
        self._running: dict[QProcess, _Job] = {}
        self._background = Background(self)

    def read(self, path: Path, done: Taker) -> None:
        self._waiting.append(_Job(path.absolute(), done))
        self._go_on()

    def close(self) -> None:
        """The window is closing: whatever is being read is not wanted any more."""
        self._waiting.clear()
        self._background.close()
        running, self._running = list(self._running), {}
        for process in running:
            end_process(process)

    def _go_on(self) -> None:
        while self._waiting and len(self._running) < AT_ONCE:
            self._start(self._waiting.popleft())

    def _start(self, job: _Job) -> None:
        process = new_process(self)
        self._running[process] = job
        process.setProcessChannelMode(QProcess.ProcessChannelMode.ForwardedErrorChannel)
        process.finished.connect(lambda: self._finished(process))
        process.errorOccurred.connect(lambda error: self._failed(process, error))
        if getattr(sys, "frozen", False):
            process.start(sys.executable, [READ_FILE, str(job.path)])
        else:
            process.start(sys.executable, ["-m", "app.attachments.child", str(job.path)])
        QTimer.singleShot(PATIENCE_MS, process, process.kill)

    def _failed(self, process: QProcess, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:  # nothing else follows
            log.warning("no process to read a file: %s", process.errorString())
            self._finished(process)

    def _finished(self, process: QProcess) -> None:
        job = self._running.pop(process, None)
        if job is not None:
            self._take(job, bytes(process.readAllStandardOutput().data()))
            process.deleteLater()
            self._go_on()

    def _take(self, job: _Job, line: bytes) -> None:
        def failed(_failure: Failure) -> None:
            job.done(sentence("crashed", clean_name(job.path.name)))

        self._background.run(lambda: _outcome(job.path, line), job.done, failed)


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
