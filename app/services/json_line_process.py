"""A child process that is one of Chickadee's own programs and exchanges lines of JSON with the window.

Nothing here waits for a process, except `wait_for_children` when the program ends: it waits for all of them together.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import msgspec
import psutil
from PySide6.QtCore import QObject, QProcess, QTimer

from common.process_end import ProcessEnd

log = logging.getLogger(__name__)
CHECKOUT = Path(__file__).resolve().parents[2]
CHILDREN_SECONDS = 0.5  # in which all children that were closed end by themselves, before they are killed
KILLED_SECONDS = 0.3  # for the system to take back the memory of killed ones; the kernel goes on without us
FLUSH_MS = 100  # a process starts within 10
REMEMBERED_LINES = 20  # last lines of stderr that become the end's `output`
Errors = Literal["drop", "forward"] | logging.Logger


class JsonLineProcess(QObject):
    """A child process with lines of JSON on stdin and stdout, which may be started again after its end.

    `heard` is called with the lines that have arrived, as many as there are at once; `ended` is called once with the
    end. `errors` says what happens to stderr: a logger gets each line, and the last ones become the end's `output`.
    After `close` neither is called any more.
    """

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
        """Whether a process was started whose end was not reported yet."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """Process id; 0 without a process."""
        return self._process.processId() if self._process else 0

    @property
    def memory_bytes(self) -> int:
        """Resident memory of the process in bytes; 0 without a process."""
        try:
            return int(psutil.Process(self.pid).memory_info().rss) if self.pid else 0
        except psutil.Error:  # it has just ended
            return 0

    def start(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        """Start the process; if that fails, `ended` is called before this returns or later.

        It gets our environment unless it is to have another.
        """
        assert self._process is None, "it is started already"
        self._lines, self._error_lines = LineBuffer(), LineBuffer()
        self._last_lines = deque[str](maxlen=REMEMBERED_LINES)
        self._killed = False
        process = self._process = QProcess(self)
        if environment is not None:
            process.setEnvironment([f"{name}={value}" for name, value in environment.items()])
        # A packaged program contains the modules; otherwise they are imported from the checkout.
        if not getattr(sys, "frozen", False):
            process.setWorkingDirectory(str(CHECKOUT))
        self._connections = [
            process.readyReadStandardOutput.connect(self._read),
            process.finished.connect(self._finished),
            process.errorOccurred.connect(self._failed),
        ]
        if self._errors == "drop":
            process.setStandardErrorFile(QProcess.nullDevice())
        elif self._errors == "forward":
            process.setProcessChannelMode(QProcess.ProcessChannelMode.ForwardedErrorChannel)
        else:
            self._connections.append(process.readyReadStandardError.connect(self._read_errors))
        process.start(command[0], list(command[1:]))

    def write(self, line: bytes) -> None:
        """Write a line that ends with a newline; QProcess buffers it until the child reads.

        Without a child the line is dropped.
        """
        if self._process is not None and self._process.state() != QProcess.ProcessState.NotRunning:
            self._process.write(line)

    def flush(self) -> None:
        """Wait until the child has started and the system has taken the lines so far, FLUSH_MS at most."""
        if self._process is not None:
            self._process.waitForBytesWritten(FLUSH_MS)

    def send(self, message: msgspec.Struct) -> None:
        self.write(msgspec.json.encode(message) + b"\n")

    def kill(self) -> None:
        """Kill a process that does not react; `ended` follows."""
        if self._process is not None:
            self._killed = True
            self._process.kill()

    def close_input(self) -> None:
        """Close the child's stdin, which asks it to end; `ended` follows."""
        if self._process is not None:
            self._process.closeWriteChannel()

    def terminate(self) -> None:
        """Send the child a signal to end, which it may handle."""
        if self._process is not None:
            self._process.terminate()

    def close(self, grace_ms: int = 0, group: bool = False) -> None:
        """Close the child's stdin as a request to end, and have the child killed if it still runs after `grace_ms`.

        Does not wait. With `group`, the child's whole process group is killed, which the child leads.
        """
        process, self._process = self._process, None
        if process is not None:
            for connection in self._connections:
                QObject.disconnect(connection)
            _Ending(process, grace_ms, group)

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
            self._last_lines.append(text)
            self._errors.info("%s", text)

    def _finished(self, code: int, status: QProcess.ExitStatus) -> None:
        process = self._process
        self._read()
        self._read_errors()
        if process is not self._process:  # a callback for its last lines has closed it
            return
        output = "\n".join(self._last_lines)
        if status == QProcess.ExitStatus.CrashExit and sys.platform != "win32":
            # On Unix QProcess gives the number of the signal that ended the process as its exit code.
            self._end(ProcessEnd(signal_number=code, killed=self._killed, output=output))
        else:
            self._end(ProcessEnd(exit_code=code, killed=self._killed, output=output))

    def _failed(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:  # nothing else follows
            self._end(ProcessEnd(not_started=self._process.errorString()))

    def _end(self, end: ProcessEnd) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.deleteLater()
            self._ended(end)


def decoded(lines: Iterable[bytes], kind: Any) -> Iterator[Any]:
    """Yield the messages in the lines, decoded as `kind`; a line of another form is logged and left out."""
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=kind)
        except msgspec.MsgspecError as error:
            log.warning("a line of %d bytes from a process was not understood: %s", len(line), type(error).__name__)


class LineBuffer:
    """A buffer that cuts a stream of bytes into lines, whatever pieces it arrives in.

    `feed` returns the lines that a piece has completed, without line breaks and without blank ones. On Windows a
    library's text ends its lines with two characters.
    """

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, piece: bytes) -> list[bytes]:
        # Only the new piece is searched, so that a long line in small pieces is not scanned again for each piece.
        if b"\n" not in piece:
            self._rest += piece
            return []
        *lines, rest = piece.split(b"\n")
        lines[0] = bytes(self._rest) + lines[0]
        self._rest = bytearray(rest)
        return [line.removesuffix(b"\r") for line in lines if line.strip()]


class _Ending:
    """The end of a closed child, whose output and end interest nobody any more.

    It keeps the QProcess, which Qt would wait for if it were destroyed while its process runs.
    """

    running: ClassVar[set[_Ending]] = set()

    def __init__(self, process: QProcess, grace_ms: int, group: bool) -> None:
        self.process, self._group, self._pid = process, group, process.processId()
        process.setParent(None)
        self.running.add(self)
        process.stateChanged.connect(self._changed)
        process.closeWriteChannel()
        self._grace = QTimer(process, singleShot=True, interval=grace_ms)
        self._grace.timeout.connect(self.kill)
        if grace_ms:
            self._grace.start()
        else:
            self.kill()
        self._changed(process.state())

    def kill(self) -> None:
        if self not in self.running:
            return
        if self._group:
            kill_group(self._pid)
        self.process.kill()

    def wait_until(self, when: float) -> None:
        """Wait for the end, until `when` by `time.monotonic` at most."""
        while self in self.running and (left := when - time.monotonic()) > 0:
            self.process.waitForFinished(max(1, round(left * 1000)))

    def _changed(self, state: QProcess.ProcessState) -> None:
        if state == QProcess.ProcessState.NotRunning and self in self.running:
            self._grace.stop()  # it would call what nobody keeps any more
            self.running.discard(self)
            self.process.deleteLater()


def kill_group(leader: int) -> None:
    """Kill the process group that the process with this id leads or led; do nothing without one."""
    if leader and hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(leader, signal.SIGKILL)


def wait_for_children(seconds: float = CHILDREN_SECONDS) -> None:
    """Wait for all closed children together for `seconds` at most; then kill those that still run."""
    for step, patience in ((None, seconds), (_Ending.kill, KILLED_SECONDS)):
        until = time.monotonic() + patience
        for child in tuple(_Ending.running):
            if step is not None:
                step(child)
        for child in tuple(_Ending.running):
            child.wait_until(until)
    if _Ending.running:
        log.warning("%d killed processes have not ended yet", len(_Ending.running))
