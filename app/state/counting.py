"""What the engine is asked to count, and who waits for it. Knows no Qt."""

from __future__ import annotations

from collections.abc import Callable

from engine.protocol import Counted

Taker = Callable[[Counted], None]


class Counting:
    """Callbacks by the request's id. What is never counted, because the engine ends or refuses, is never called."""

    def __init__(self) -> None:
        self._waiting: dict[int, Taker] = {}

    def expect(self, id: int, done: Taker) -> None:
        self._waiting[id] = done

    def take(self, event: Counted) -> None:
        done = self._waiting.pop(event.id, None)
        if done:
            done(event)

    def forget(self) -> None:
        self._waiting.clear()
