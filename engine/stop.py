"""The flag that stops work in progress: set from any thread, seen by Python between steps and by C inside one."""

from __future__ import annotations


class Stopped(Exception):
    """The work was stopped on request; what had been done before stays valid."""


class StopFlag:
    """One byte and its terminating zero, so that a target's C code can look at it without Python (see `text`)."""

    def __init__(self) -> None:
        self.text = bytearray(2)  # a C string: empty = go on, one character = stop

    def set(self) -> None:
        """Ask for the work to stop."""
        self.text[0] = 1

    def clear(self) -> None:
        """Let the next work run."""
        self.text[0] = 0

    def is_set(self) -> bool:
        """Is the work to stop?"""
        return self.text[0] != 0
