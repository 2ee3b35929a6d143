"""What is to be known of the engine's process, whoever runs it: it takes requests, and ends. Knows no Qt."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine import protocol


class Link(Protocol):
    """The engine process: it is running or not, and takes requests while it is."""

    @property
    def running(self) -> bool: ...

    def start(self, files: Iterable[str | Path | None] = ()) -> None:
        """`files` are those that it will be asked to load."""

    def send(self, request: protocol.Request) -> None: ...

    def kill(self) -> None:
        """End an engine that no longer answers; `Assistant.engine_ended` follows."""


SIGNALS = {
    "SIGKILL": "The engine was stopped by the system, most likely because memory ran out.",
    "SIGTERM": "The engine was closed by another program.",
    "SIGILL": "The engine stopped: it was built for a newer processor than this one.",
    "SIGBUS": "The engine stopped: the model file could no longer be read.",
    "SIGSEGV": "The engine crashed.",
    "SIGABRT": "The engine stopped because of an internal error.",
}


@dataclass(frozen=True, slots=True)
class EngineEnd:
    """One end. `signal_number` is set when a signal ended it, else `exit_code`; `output` is what it said last.

    `hung`: we ended it, because it did not react."""

    exit_code: int | None = None
    signal_number: int | None = None
    not_started: str = ""
    hung: bool = False
    output: str = ""

    def __str__(self) -> str:
        if self.not_started:
            return f"The engine could not be started: {self.not_started}."
        if self.hung:
            return "The engine did not respond to Stop, so it was closed; your next message restarts it."
        if self.signal_number is not None:
            return SIGNALS.get(self._signal_name(), f"The engine was stopped by signal {self.signal_number}.")
        if self.exit_code:
            return f"The engine ended unexpectedly (code {self.exit_code})."
        return "The engine ended unexpectedly."

    def _signal_name(self) -> str:
        assert self.signal_number is not None
        if sys.platform == "win32":
            return ""
        try:
            return signal.Signals(self.signal_number).name
        except ValueError:
            return ""
