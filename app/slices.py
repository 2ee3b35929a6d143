"""Work of the window's own thread that takes longer than a frame: a little each turn of the event loop.

One queue for all: ten parts that take four milliseconds each, in timers of their own, would make one turn of forty.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from shiboken6 import isValid

BUDGET_SECONDS = 0.004  # of a turn; painting has its share of the frame too
Step = Callable[[], bool]


class Slices(QObject):
    """Runs the steps that were added, in turn; one that gives back True has more to do. A step takes 3 ms at most."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: dict[Step, QObject] = {}
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._turn)

    def add(self, owner: QObject, step: Step) -> None:
        """Go on with `step` until it has nothing more to do or its owner is gone; adding it twice is adding it once."""
        self._steps.setdefault(step, owner)
        if not self._timer.isActive():
            self._timer.start(0)

    def remove(self, step: Step) -> None:
        self._steps.pop(step, None)

    def _turn(self) -> None:
        until = time.perf_counter() + BUDGET_SECONDS
        try:
            while self._steps and time.perf_counter() < until:
                step = next(iter(self._steps))
                owner = self._steps.pop(step)
                if isValid(owner) and step():
                    self._steps[step] = owner  # behind the others
        finally:
            if self._steps:
                self._timer.start(0)


_slices: Slices | None = None


def slices() -> Slices:
    """The one of this process."""
    global _slices
    if _slices is None:
        _slices = Slices()
    return _slices
