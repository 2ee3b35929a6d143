"""Turns of the window's event loop: how long each took, and functions that wait while the loop runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEventLoop, Qt, QTimer

from benchmarks.culprits import Culprits

PATIENCE = 300


@dataclass(frozen=True, slots=True)
class Gaps:
    """Milliseconds between two turns of the event loop; `own` is the longest turn's processor time."""

    count: int
    p50: float
    p99: float
    max: float
    own: float


class Heartbeat:
    """A timer that records the time between its beats; `pop_gaps` returns the gaps since the previous call.

    `culprits` is told of each turn.
    """

    def __init__(self, what: str = "", culprits: Culprits | None = None) -> None:
        self.what, self._culprits = what, culprits
        self._gaps: list[float] = []
        self._own: list[float] = []
        self._last, self._last_own = time.perf_counter(), time.thread_time()
        self._timer = QTimer(timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._timer.start(1)

    def pop_gaps(self) -> Gaps:
        gaps, own = sorted(self._gaps), max(self._own)
        self._gaps, self._own = [], []
        last = len(gaps) - 1
        return Gaps(len(gaps), gaps[last // 2], gaps[int(last * 0.99)], gaps[last], own)

    def _beat(self) -> None:
        now, own = time.perf_counter(), time.thread_time()
        self._gaps.append((now - self._last) * 1000)
        self._own.append((own - self._last_own) * 1000)
        if self._culprits is not None:
            self._culprits.end(self.what)
            self._culprits.begin()
            now, own = time.perf_counter(), time.thread_time()
        self._last, self._last_own = now, own


def wait(milliseconds: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise SystemExit("the engine took too long")
        wait(20)
