"""How many threads are worth using beside the other programs of this moment. Knows no model and no library.

Threads that compute one graph meet at a barrier after each of its nodes, hundreds of times a token. Where one of them
shares its core with another program, all wait there for whole time slices: two threads on two cores that others keep
busy write 2.5 tokens a second where a single thread writes 30 (SmolLM2-135M). So no more threads are used than there
are cores for.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache

import psutil

EVERY_SECONDS = 0.25
ENOUGH = 0.65  # of a core that is free for one more thread; the window and the desktop take some all the time


def idle_seconds() -> float:
    """Processor time that nobody used since the computer started, all cores together."""
    times = psutil.cpu_times()
    return float(times.idle + getattr(times, "iowait", 0.0))


class FreeCores:
    """Cores that are idle or used by this process, since the last look. Clocks give seconds; all can be replaced."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        own_clock: Callable[[], float] = time.process_time,
        idle_clock: Callable[[], float] = idle_seconds,
    ) -> None:
        self._clocks = clock, own_clock, idle_clock
        self._at, self._own, self._idle = clock(), own_clock(), idle_clock()
        self._free = float("inf")

    def threads(self, most: int) -> int:
        """How many of `most` threads to use for the next pass: one at least."""
        clock, own_clock, idle_clock = self._clocks
        now = clock()
        if now - self._at >= EVERY_SECONDS:
            own, idle = own_clock(), idle_clock()
            self._free = (own - self._own + idle - self._idle) / (now - self._at)
            self._at, self._own, self._idle = now, own, idle
        return most if self._free >= most else max(1, min(most, int(self._free + 1 - ENOUGH)))


@cache
def free_cores() -> FreeCores:
    """This process's; it looks for the first time when it is first asked for."""
    return FreeCores()
