"""How a child process ended: as it is logged, and for the engine as the user reads it. Knows no Qt."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass

SIGNALS = {
    "SIGKILL": "The engine was stopped by the system, most likely because memory ran out.",
    "SIGTERM": "The engine was closed by another program.",
    "SIGILL": "The engine stopped: it was built for a newer processor than this one.",
    "SIGBUS": "The engine stopped: the model file could no longer be read.",
    "SIGSEGV": "The engine crashed.",
    "SIGABRT": "The engine stopped because of an internal error.",
}


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """One end. `signal_number` is set when a signal ended it, else `exit_code`; `output` is what it said last.

    `killed`: we ended it, because it did not react."""

    exit_code: int | None = None
    signal_number: int | None = None
    not_started: str = ""
    killed: bool = False
    output: str = ""

    def __str__(self) -> str:
        if self.not_started:
            return f"could not be started: {self.not_started}"
        if self.signal_number is not None:
            return f"ended by {self.signal_name or f'signal {self.signal_number}'}" + " from us" * self.killed
        return f"ended with code {self.exit_code}"

    @property
    def signal_name(self) -> str:
        """Like "SIGSEGV"; empty where there was none, or none that is known."""
        try:
            return signal.Signals(self.signal_number).name if self.signal_number and sys.platform != "win32" else ""
        except ValueError:
            return ""


class EngineEnd(ProcessEnd):
    """`str()` is what the user reads."""

    def __str__(self) -> str:
        if self.not_started:
            return f"The engine could not be started: {self.not_started}."
        if self.killed:
            return "The engine did not respond to Stop, so it was closed; your next message restarts it."
        if self.signal_number is not None:
            return SIGNALS.get(self.signal_name, f"The engine was stopped by signal {self.signal_number}.")
        if self.exit_code:
            return f"The engine ended unexpectedly (code {self.exit_code})."
        return "The engine ended unexpectedly."
