"""Progress and speed of a download."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Phase = Literal["connecting", "receiving", "waiting", "checking"]
WINDOW_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class DownloadProgress:
    """Bytes `done` of `total`; `speed` in bytes/s while receiving, 0 if not known.

    Phase 'waiting': the connection dropped and is tried again soon. 'checking': bytes on the disk are hashed.
    """

    phase: Phase
    done: int
    total: int
    speed: float = 0.0

    @property
    def fraction(self) -> float:
        return self.done / self.total if self.total else 0.0

    @property
    def seconds_left(self) -> float | None:
        """Seconds until the end at the present speed; None if the speed is not known."""
        return (self.total - self.done) / self.speed if self.speed > 0 else None


class DownloadSpeed:
    """Download speed over the last WINDOW_SECONDS."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def at(self, done: int) -> float:
        """Return the speed in bytes/s, now that `done` bytes have arrived."""
        now = self._clock()
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[0][0] > WINDOW_SECONDS:
            self._seen.popleft()
        first, start = self._seen[0]
        return max(0.0, (done - start) / (now - first)) if now > first else 0.0
