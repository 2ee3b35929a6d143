"""How an engine process ended, as a sentence for the user. Knows no Qt."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass

from common.sentences import Sentence

SIGNALS = {
    "SIGKILL": "engine_end.killed",
    "SIGTERM": "engine_end.closed",
    "SIGILL": "engine_end.processor",
    "SIGBUS": "engine_end.file",
    "SIGSEGV": "engine_end.crashed",
    "SIGABRT": "engine_end.bug",
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

    @property
    def sentence(self) -> Sentence:
        """Why it ended."""
        if self.not_started:
            return Sentence.of("engine_end.not_started", reason=self.not_started)
        if self.hung:
            return Sentence.of("engine_end.hung")
        if self.signal_number is not None:
            known = SIGNALS.get(self._signal_name())
            return Sentence.of(known) if known else Sentence.of("engine_end.signal", number=self.signal_number)
        if self.exit_code:
            return Sentence.of("engine_end.code", code=self.exit_code)
        return Sentence.of("engine_end.unexpected")

    def __str__(self) -> str:
        return str(self.sentence)

    def _signal_name(self) -> str:
        assert self.signal_number is not None
        if sys.platform == "win32":
            return ""
        try:
            return signal.Signals(self.signal_number).name
        except ValueError:
            return ""
