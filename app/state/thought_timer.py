"""How long a model thinks before it answers."""

from __future__ import annotations

from collections.abc import Callable

from common.reasoning import Kind, open_sections


class ThoughtTimer:
    """By a `clock` that gives seconds, and by the pieces of the answer as they come."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.resume("", None)

    def resume(self, text: str, seconds: float | None) -> None:
        """Go on with what was measured of an answer's beginning."""
        sections = open_sections(text)
        self._thinking = sections.thinking
        self._thought = any(section.thought for section in sections.all)
        self._seconds = seconds or 0.0
        self._first: float | None = None
        self._last = 0.0

    def take(self, kind: Kind) -> None:
        """A piece of the answer has come."""
        now = self._clock()
        if self._first is None:
            self._first = self._last = now
        if self._thinking:
            self._seconds += now - self._last
        if kind == "opened":
            self._thinking = self._thought = True
        elif kind == "closed":
            self._thinking = False
        elif kind == "unopened":  # only its end shows that all of it was one
            self._seconds, self._thought = now - self._first, True
        self._last = now

    @property
    def seconds(self) -> float | None:
        """None where nothing was thought."""
        return self._seconds if self._thought else None
