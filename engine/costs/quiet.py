"""How quiet the machine is while something is measured on it: what other programs computed, and a virtual machine's
host took. Measures no speed.

Speeds measured beside other programs are too low by an unknown amount: profiles of 19 GB/s and 35 GFLOP/s were kept
for weeks where there are 29 and 161.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from engine import machine

BUSY = ("user", "nice", "system", "irq", "softirq")  # of psutil's times; Linux counts a guest's as its user's
OTHERS, OTHERS_OF_EACH = 0.25, 0.05  # cores: a desktop takes so much all the time, a large machine's services more
OWN = 0.85  # of a core that computing in one thread or more gets where nobody else wants it
MINUTE = 60.0  # seconds
SHORTEST = 0.5  # seconds: the system counts in hundredths


@dataclass(frozen=True, slots=True)
class Reading:
    """Seconds: of the wall clock, and of processor time so far: this process's, of all programs together, and what a
    virtual machine's host took."""

    wall: float
    own: float
    busy: float
    stolen: float


def reading() -> Reading:
    times = psutil.cpu_times()
    busy = sum(float(getattr(times, name, 0.0)) for name in BUSY)
    return Reading(time.monotonic(), time.process_time(), busy, float(getattr(times, "steal", 0.0)))


def is_quiet(before: Reading, after: Reading, computing: bool = False) -> bool:
    """Did others leave the machine alone between two readings? `computing`: this process computed all the while."""
    wall, own = after.wall - before.wall, after.own - before.own
    others = after.busy - before.busy - own + after.stolen - before.stolen
    alone = others <= (OTHERS + OTHERS_OF_EACH * machine.logical_cores()) * wall
    return alone and (not computing or own >= OWN * wall)


class QuietMinute:
    """Waits for one, looked at now and then: what was between two looks counts as a whole."""

    def __init__(self, read: Callable[[], Reading] = reading) -> None:
        self._read = read
        self.begin()

    def begin(self) -> None:
        """The minute begins now."""
        self._last = self._read()
        self._since = self._last.wall

    def came(self) -> bool:
        """Has it been quiet for a minute up to now?"""
        now = self._read()
        if now.wall - self._last.wall >= SHORTEST:
            if not is_quiet(self._last, now):
                self._since = now.wall
            self._last = now
        return self._last.wall - self._since >= MINUTE
