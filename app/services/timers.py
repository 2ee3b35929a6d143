"""When something runs: `Debounce` waits until it is no longer asked for, `Throttle` limits how often."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Debounce(QObject):
    """`request` runs `work` when it was not asked for again for `pause_ms`: once, however often it was.

    With `restarts` False a pause that has begun is not begun anew: the work is at most that late, without a break too.
    """

    def __init__(self, work: Callable[[], object], pause_ms: int, parent: QObject, restarts: bool = True) -> None:
        super().__init__(parent)
        self._work, self._pause, self._restarts = work, pause_ms, restarts
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(work)

    @property
    def waiting(self) -> bool:
        """Was it asked for, and has not run yet?"""
        return self._timer.isActive()

    def request(self) -> None:
        self.request_in(self._pause)

    def request_in(self, pause_ms: int) -> None:
        """After another pause than usual."""
        if self._restarts or not self.waiting:
            self._timer.start(pause_ms)

    def flush(self) -> None:
        """Run what is still waited for, now."""
        if self.waiting:
            self._timer.stop()
            self._work()

    def cancel(self) -> None:
        self._timer.stop()


class Throttle(QObject):
    """`request` runs `work` now or when the interval is over, the last request never lost.

    The interval is at least `factor` times what the last run took, so that slow work never fills the event loop.
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
