"""The rest of set-up that `make run` did not wait for: llama.cpp is compiled while the window is open."""

from __future__ import annotations

import logging
import re
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.fatal import how_to_install
from app.services.json_line_process import JsonLineProcess
from common.process_end import ProcessEnd
from common.sentences import Sentence
from common.system_packages import COMPILERS

log = logging.getLogger(__name__)
UNFINISHED = Path(sys.prefix) / "unfinished"  # packaging/set_up.py writes it; a packaged app has none
PREFIX = "setup: "
STEP = re.compile(PREFIX + r"compiling .* (\d+)/(\d+), (\d+) s")
NO_COMPILER = 3  # set-up's exit code
GRACE_MS = 3_000  # for compilers to stop and delete partial files
REMEMBERED_LINES = 40  # a failed compilation prints 30


class RemainingSetup(msgspec.Struct):
    """The command that does the rest of set-up, as packaging/set_up.py stores it."""

    command: list[str]


def remaining_command() -> list[str]:
    """Return the command that does the rest of set-up; empty if nothing is left to do."""
    try:
        return msgspec.json.decode(UNFINISHED.read_bytes(), type=RemainingSetup).command
    except (OSError, msgspec.MsgspecError):
        return []


class Preparation(QObject):
    """The process that does the rest of set-up.

    `progressed` carries the number of compiled files, of all files, and the seconds so far. `ended` carries None or a
    Sentence about what went wrong, and the last lines of set-up's output.
    """

    progressed = Signal(int, int, int)
    ended = Signal(object, str)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._process = JsonLineProcess(self, self._receive, self._end)
        self._last_lines = deque[str](maxlen=REMEMBERED_LINES)

    def start(self, command: Sequence[str]) -> None:
        self._last_lines.clear()
        self._process.start(command)

    def close(self) -> None:
        """End set-up; the files compiled so far are kept, and the next window continues."""
        self._process.close(GRACE_MS, group=True)  # set-up leads a process group with all processes it starts

    def _receive(self, lines: list[bytes]) -> None:
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip()
            if step := STEP.fullmatch(text):
                self.progressed.emit(*map(int, step.groups()))
            else:
                log.info("%s", text)
                self._last_lines.append(text)

    def _end(self, end: ProcessEnd) -> None:
        log.info("set-up: %s", end)
        self.ended.emit(self._problem(end), "\n".join(self._last_lines))

    def _problem(self, end: ProcessEnd) -> Sentence | None:
        if end.exit_code == 0:
            return None
        if end.exit_code == NO_COMPILER:
            return Sentence.of("preparation.no_compiler", how=how_to_install(COMPILERS))
        reasons = [line.removeprefix(PREFIX) for line in self._last_lines if line.startswith(PREFIX)]
        reason = reasons[-1] if end.exit_code and reasons else str(end)
        return Sentence.of("preparation.failed", reason=reason.rstrip(".: "))
