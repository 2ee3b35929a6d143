"""Decode speed of an answer while it streams."""

from __future__ import annotations


class LiveSpeed:
    """Decode speed while an answer streams, until the engine's own statistics replace it.

    One piece of text counts as one token, because one event is one decode step. Times are monotonic seconds.
    """

    def __init__(self) -> None:
        self._count = 0
        self._first = self._last = 0.0

    def start(self) -> None:
        self._count = 0

    def count(self, now: float) -> None:
        if not self._count:
            self._first = now
        self._count += 1
        self._last = now

    @property
    def tokens(self) -> int:
        return self._count

    @property
    def tokens_per_second(self) -> float | None:
        """Decode speed in tokens/s; None before the second token, because the first only starts the clock."""
        seconds = self._last - self._first
        return (self._count - 1) / seconds if self._count > 1 and seconds > 0 else None
