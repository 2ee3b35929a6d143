"""The end of a child process, as it is logged, and for the engine as the user reads it."""

from __future__ import annotations

import signal
import sys
from dataclasses import dataclass
from typing import Self

from common.sentences import Sentence

SIGNALS = {
    "SIGKILL": "engine_end.killed",
    "SIGTERM": "engine_end.closed",
    "SIGILL": "engine_end.processor",
    "SIGBUS": "engine_end.file",
    "SIGSEGV": "engine_end.crashed",
    "SIGABRT": "engine_end.bug",
}
CRASHES = ("SIGSEGV", "SIGABRT", "SIGILL", "SIGBUS", "SIGFPE")
WINDOWS_CRASH = 0xC0000000  # and above: codes of processes that an exception ended
# The other ends that Windows names by exit codes (winnt.h, ntstatus.h); 3 is abort of the C runtime.
WINDOWS_CODES = {
    0x3: "engine_end.bug",
    0xC0000006: "engine_end.file",  # STATUS_IN_PAGE_ERROR: a mapped file could not be read
    0xC0000017: "engine_end.killed",  # STATUS_NO_MEMORY
    0xC000001D: "engine_end.processor",  # STATUS_ILLEGAL_INSTRUCTION
    0xC000013A: "engine_end.closed",  # STATUS_CONTROL_C_EXIT
    0xC0000142: "engine_end.closed",  # STATUS_DLL_INIT_FAILED, as at the end of a session
    0xC0000409: "engine_end.bug",  # STATUS_STACK_BUFFER_OVERRUN, which __fastfail and newer aborts end with
}


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """The end of a child process: `signal_number` if a signal ended it, else `exit_code`.

    `output` has the last lines of its stderr. `killed` is whether we killed it because it did not react.
    """

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
        """Name of the signal, like "SIGSEGV"; "" if there was none or it is unknown."""
        try:
            return signal.Signals(self.signal_number).name if self.signal_number and sys.platform != "win32" else ""
        except ValueError:
            return ""

    @property
    def crashed(self) -> bool:
        """Whether code of the process ended it, as a library does that fails an assertion."""
        if sys.platform == "win32" and self.exit_code:
            sentence = windows_sentence(self.exit_code & 0xFFFFFFFF)
            return sentence.id in {SIGNALS.get(name, "engine_end.crashed") for name in CRASHES}
        return self.signal_name in CRASHES


class EngineEnd(ProcessEnd):
    """The engine's end; `str()` is what the user reads, in English."""

    @classmethod
    def of_code(cls, code: int, output: str = "") -> Self:
        """Return the end of a process whose exit code Python gives; a negative one is a signal's number."""
        if code < 0:
            return cls(signal_number=-code, output=output)
        return cls(exit_code=code, output=output)

    @property
    def sentence(self) -> Sentence:
        """The reason for the engine's end, as a sentence for the user."""
        if self.not_started:
            return Sentence.of("engine_end.not_started", reason=self.not_started)
        if self.killed:
            return Sentence.of("engine_end.hung")
        if self.signal_number is not None:
            known = SIGNALS.get(self.signal_name)
            return Sentence.of(known) if known else Sentence.of("engine_end.signal", number=self.signal_number)
        if self.exit_code and sys.platform == "win32":
            return windows_sentence(self.exit_code & 0xFFFFFFFF)
        if self.exit_code:
            return Sentence.of("engine_end.code", code=self.exit_code)
        return Sentence.of("engine_end.unexpected")

    def __str__(self) -> str:
        return str(self.sentence)


def windows_sentence(code: int) -> Sentence:
    """Return the sentence for a process that Windows ended with the unsigned exit code."""
    known = WINDOWS_CODES.get(code, "engine_end.crashed" if code >= WINDOWS_CRASH else None)
    return Sentence.of(known) if known else Sentence.of("engine_end.code", code=code)
