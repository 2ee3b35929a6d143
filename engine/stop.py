"""The flag that stops work in progress: any thread sets it; Python checks it between steps, C code inside a step."""

from __future__ import annotations


class Stopped(Exception):
    """The work was stopped on request; all results from before the stop stay valid."""


class StopFlag:
    """A flag in one byte with a terminating zero, so that a target's C code can read it without Python (see `text`)."""

    def __init__(self) -> None:
        self.text = bytearray(2)  # a C string: empty = go on, one character = stop

    def set(self) -> None:
        """Request that the running work stops."""
        self.text[0] = 1

    def clear(self) -> None:
        """Clear the request, so that the next work can run."""
        self.text[0] = 0

    def is_set(self) -> bool:
        """Return whether a stop is requested."""
        return self.text[0] != 0
