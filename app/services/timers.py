"""When something runs: `Throttle` limits how often."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Throttle(QObject):
    """`request` runs `work` now or when the interval is over; work that is slow gets a longer one.

    The interval is at least `factor` times what the last run took, so that work never fills the event loop.
    """

    def __init__(self, work: Callable[[], None], interval_ms: int, parent: QObject, factor: float = 4) -> None:
        super().__init__(parent)
        self._work, self._interval, self._factor = work, interval_ms, factor
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._fire)
        self._wanted = False

    def request(self) -> None:
        if self._timer.isActive():
            self._wanted = True
        else:
            self._run()

    def flush(self) -> None:
        """Run what is still wanted, now."""
        if self._wanted:
            self._run()

    def cancel(self) -> None:
        self._wanted = False
        self._timer.stop()

    def _fire(self) -> None:
        if self._wanted:
            self._run()

    def _run(self) -> None:
        self._wanted = False
        started = time.perf_counter()
        self._work()
        took_ms = (time.perf_counter() - started) * 1000
        self._timer.start(max(self._interval, round(took_ms * self._factor)))
