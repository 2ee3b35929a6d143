"""What `make run` did not wait for: the rest of set-up, by which llama.cpp is compiled while the window is open."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Sequence
from pathlib import Path

import msgspec
from PySide6.QtCore import QObject, Signal

from app.services.json_line_process import JsonLineProcess
from app.services.process_end import ProcessEnd
from common.sentences import Sentence

log = logging.getLogger(__name__)
UNFINISHED = Path(sys.prefix) / "unfinished"  # packaging/prepare.py writes it; a packaged app has none
SAYS = "setup: "
STEP = re.compile(SAYS + r"compiling .* (\d+)/(\d+), (\d+) s")
NO_COMPILER = 3  # set-up's exit code
GRACE_MS = 3_000  # for compilers to stop and clear up
REMEMBERED_LINES = 40  # a failed compile shows 30


class Left(msgspec.Struct):
    """What set-up has left to do."""

    command: list[str]


def command_left() -> list[str]:
    """The command that does the rest of set-up; nothing where there is no rest."""
    try:
        return msgspec.json.decode(UNFINISHED.read_bytes(), type=Left).command
    except (OSError, msgspec.MsgspecError):
        return []


class Preparation(QObject):
    """`progressed` carries how many of how many files are compiled, and in how many seconds; `ended` None, or a
    Sentence that says what went wrong, and what set-up said last."""

    progressed = Signal(int, int, int)
    ended = Signal(object, str)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._process = JsonLineProcess(self, self._heard, self._end)
        self._said = deque[str](maxlen=REMEMBERED_LINES)

    def start(self, command: Sequence[str]) -> None:
        self._said.clear()
        self._process.start(command)

    def close(self) -> None:
        """What is compiled so far is kept: the next window goes on."""
        group = self._process.pid  # set-up leads one, with all that it starts
        if not self._process.close(GRACE_MS) and hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):  # on a busy computer it may get no turn to end them itself
                os.killpg(group, signal.SIGKILL)

    def _heard(self, lines: list[bytes]) -> None:
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip()
            if step := STEP.fullmatch(text):
                self.progressed.emit(*map(int, step.groups()))
            else:
                log.info("%s", text)
                self._said.append(text)

    def _end(self, end: ProcessEnd) -> None:
        log.info("set-up: %s", end)
        self.ended.emit(self._problem(end), "\n".join(self._said))

    def _problem(self, end: ProcessEnd) -> Sentence | None:
        if end.exit_code == 0:
            return None
        if end.exit_code == NO_COMPILER:
            return Sentence.of("preparation.no_compiler")
        reasons = [line.removeprefix(SAYS) for line in self._said if line.startswith(SAYS)]
        reason = reasons[-1] if end.exit_code and reasons else str(end)
        return Sentence.of("preparation.failed", reason=reason.rstrip(".: "))
