"""A child process that is one of Chickadee's own programs and speaks lines of JSON: begun, written to, heard, ended."""

from __future__ import annotations

import logging
import sys
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from PySide6.QtCore import QObject, QProcess

from app.services.process_end import ProcessEnd

CHECKOUT = Path(__file__).resolve().parents[2]
KILLED_MS = 30_000  # a killed process is gone at once, unless the machine has no time for it
REMEMBERED_LINES = 20  # of what it said, for its end
Errors = Literal["drop", "forward"] | logging.Logger


class JsonLineProcess(QObject):
    """`heard` gets the lines that it has written, as many as there are at once; `ended` how it ended, once.

    `errors`: what happens to its stderr; a logger gets each line, and the last ones are the end's `output`. What was
    closed is not heard any more, and may be started again."""

    def __init__(
        self,
        parent: QObject,
        heard: Callable[[list[bytes]], object],
        ended: Callable[[ProcessEnd], object],
        errors: Errors = "drop",
    ) -> None:
        super().__init__(parent)
        self._heard, self._ended, self._errors = heard, ended, errors
        self._process: QProcess | None = None

    @property
    def running(self) -> bool:
        """Is there one whose end was not told yet?"""
        return self._process is not None

    @property
    def pid(self) -> int:
        """0 without a process."""
        return self._process.processId() if self._process else 0

    def start(self, command: Sequence[str]) -> None:
        """`ended` follows if it cannot be: before this returns, or later."""
        assert self._process is None, "it is started already"
        self._lines, self._error_lines = LineBuffer(), LineBuffer()
        self._said = deque[str](maxlen=REMEMBERED_LINES)
        self._killed = False
        process = self._process = QProcess(self)
        # In a packaged app the program itself carries the modules; else they are in the checkout.
        if not getattr(sys, "frozen", False):
            process.setWorkingDirectory(str(CHECKOUT))
        if self._errors == "drop":
            process.setStandardErrorFile(QProcess.nullDevice())
        elif self._errors == "forward":
            process.setProcessChannelMode(QProcess.ProcessChannelMode.ForwardedErrorChannel)
        else:
            process.readyReadStandardError.connect(self._read_errors)
        process.readyReadStandardOutput.connect(self._read)
        process.finished.connect(self._finished)
        process.errorOccurred.connect(self._failed)
        process.start(command[0], list(command[1:]))

    def write(self, line: bytes) -> None:
        """A line with its break; QProcess keeps it until the child reads. Without a child it is dropped."""
        if self._process is not None and self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.write(line)

    def send(self, message: msgspec.Struct) -> None:
        self.write(msgspec.json.encode(message) + b"\n")

    def kill(self) -> None:
        """For one that does not react; `ended` follows."""
        if self._process is not None:
            self._killed = True
            self._process.kill()

    def close(self, grace_ms: int = 0, terminate: bool = False) -> bool:
        """Close its stdin, which it takes as a request to end, and kill it if it goes on for `grace_ms`.

        `terminate`: it is asked by a signal and given as long again before it is killed. Did it end by itself?"""
        process, self._process = self._process, None
        return process is None or _end(process, grace_ms, terminate)

    def _read(self) -> None:
        if self._process is not None:
            lines = self._lines.feed(bytes(self._process.readAllStandardOutput().data()))
            if lines:
                self._heard(lines)

    def _read_errors(self) -> None:
        if self._process is None or not isinstance(self._errors, logging.Logger):
            return
        for line in self._error_lines.feed(bytes(self._process.readAllStandardError().data())):
            text = line.decode("utf-8", "replace")
            self._said.append(text)
            self._errors.info("%s", text)

    def _finished(self, code: int, status: QProcess.ExitStatus) -> None:
        process = self._process
        self._read()
        self._read_errors()
        if process is not self._process:  # what it said last has had it closed
            return
        said = "\n".join(self._said)
        if status == QProcess.ExitStatus.CrashExit and sys.platform != "win32":
            # On Unix QProcess gives the number of the signal that ended the process as its exit code.
            self._end(ProcessEnd(signal_number=code, killed=self._killed, output=said))
        else:
            self._end(ProcessEnd(exit_code=code, killed=self._killed, output=said))

    def _failed(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:  # nothing else follows
            self._end(ProcessEnd(not_started=self._process.errorString()))

    def _end(self, end: ProcessEnd) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.deleteLater()
            self._ended(end)


class LineBuffer:
    """Cuts a stream of bytes into lines, whatever pieces it arrives in: keeps the unfinished line.

    `feed` returns the lines that a piece has completed, without their breaks."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        # Only the new piece is searched: a long line in small pieces must not cost a scan for each.
        if b"\n" not in piece:
            self._rest += piece
            return []
        *lines, rest = piece.split(b"\n")
        lines[0] = bytes(self._rest) + lines[0]
        self._rest = bytearray(rest)
        return [line for line in lines if line.strip()]


def _end(process: QProcess, grace_ms: int, terminate: bool) -> bool:
    """Qt complains of a process that still runs when its QProcess is destroyed. Its signals are heard no more."""
    process.blockSignals(True)
    process.closeWriteChannel()
    willing = _has_ended(process, grace_ms)
    if not willing and terminate:
        process.terminate()
        _has_ended(process, grace_ms)
    if not _has_ended(process, 0):
        process.kill()
        _has_ended(process, KILLED_MS)
    process.deleteLater()
    return willing


def _has_ended(process: QProcess, within_ms: int) -> bool:
    if process.state() != QProcess.ProcessState.NotRunning:
        process.waitForFinished(within_ms)
    return process.state() == QProcess.ProcessState.NotRunning
