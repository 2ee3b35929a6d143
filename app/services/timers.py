"""Timers that decide when work runs: `Debounce` waits until requests stop, `Throttle` limits how often work runs."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


class Debounce(QObject):
    """A timer that runs `work` once when no request came for `pause_ms`, however many came before.

    With `restarts` False a request does not restart a running pause, so that the work is at most `pause_ms` late.
    """

    def __init__(self, work: Callable[[], object], pause_ms: int, parent: QObject, restarts: bool = True) -> None:
        super().__init__(parent)
        self._work, self._pause, self._restarts = work, pause_ms, restarts
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(work)

    @property
    def waiting(self) -> bool:
        """Whether the work was requested and has not run yet."""
        return self._timer.isActive()

    def request(self) -> None:
        self.request_in(self._pause)

    def request_in(self, pause_ms: int) -> None:
        """Request the work with another pause than usual."""
        if self._restarts or not self.waiting:
            self._timer.start(pause_ms)

    def flush(self) -> None:
        """Run requested work now."""
        if self.waiting:
            self._timer.stop()
            self._work()

    def cancel(self) -> None:
        self._timer.stop()


class Throttle(QObject):
    """A timer that runs `work` now or when the interval is over; the last request is never lost.

    The interval is at least `factor` times what the last run took, so that slow work never fills the event loop.
    """

    def __init__(self, work: Callable[[], None], interval_ms: int, parent: QObject, factor: float = 4) -> None:
        super().__init__(parent)
        self._work, self._interval, self._factor = work, interval_ms, factor
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.flush)
        self._wanted = False

    def request(self) -> None:
        if self._timer.isActive():
            self._wanted = True
        else:
            self._run()

    def flush(self) -> None:
        """Run requested work now."""
        if self._wanted:
            self._run()

    def cancel(self) -> None:
        self._wanted = False
        self._timer.stop()

    def _run(self) -> None:
        self._wanted = False
        started = time.perf_counter()
        self._work()
        took_ms = (time.perf_counter() - started) * 1000
        self._timer.start(max(self._interval, round(took_ms * self._factor)))
