"""The window's frames: work in slices that fit into one, Python's collector between them, the moment of the first."""

from __future__ import annotations

import gc
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from common.files import write_atomically

log = logging.getLogger(__name__)
BUDGET_SECONDS = 0.004  # of a turn; painting has its share of the frame too
Step = Callable[[], bool]


class Slices(QObject):
    """Runs the steps that were added, in turn; one that gives back True has more to do. A step takes 3 ms at most.

    One queue for all: ten parts that take four milliseconds each, in timers of their own, would make one turn of forty.
    """

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


# --- the collector ----------------------------------------------------------------------------------------------------

LOOK_MS = 1_000
QUIET_SECONDS = 0.02  # of processor time since the last look: nobody types or scrolls, no answer comes in
DUE = 10  # collections of young objects since the last full one: where Python would begin to think of another
MUST = 200  # so many more of them that it cannot wait for a quiet moment: some hundred megabytes at most
SHARE = 0.01  # of the time at most
NEVER = 2**31 - 1


class Collector(QObject):
    """From `start` to `close` full collections happen only here. `clock` gives the seconds its own thread computed.

    Left alone, Python looks through every object there is whenever enough new ones have gathered, in the middle of
    whatever is being done: 20 ms in a step of scrolling. Here what the program itself consists of is never looked
    through again, and the rest when the window has nothing else to do. Young objects, some thousands at most, stay with
    Python's own rule."""

    def __init__(self, parent: QObject | None = None, clock: Callable[[], float] = time.thread_time) -> None:
        super().__init__(parent)
        self._clock = clock
        self._thresholds = gc.get_threshold()
        self._worked = 0.0
        self._rest = 0.0  # the monotonic second before which there is no other one
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.look)

    def start(self) -> None:
        """What there is now stays until `close`: garbage that is among it too, which is little."""
        self._thresholds = gc.get_threshold()
        gc.set_threshold(*self._thresholds[:2], NEVER)
        gc.freeze()
        self._worked = self._clock()
        self._timer.start(LOOK_MS)

    def close(self) -> None:
        if self._timer.isActive():
            self._timer.stop()
            gc.set_threshold(*self._thresholds)
            gc.unfreeze()

    def look(self) -> None:
        """Collect if it is time to, and nothing else is going on."""
        worked = self._clock()
        quiet, self._worked = worked - self._worked < QUIET_SECONDS, worked
        young = gc.get_count()[2]
        if young >= MUST or (quiet and young >= DUE and time.monotonic() >= self._rest):
            self._collect()

    def _collect(self) -> None:
        started = time.monotonic()
        gc.collect()
        ended = time.monotonic()
        self._rest = ended + (ended - started) / SHARE


# --- the first frame --------------------------------------------------------------------------------------------------

REPORT_VARIABLE = "CHICKADEE_FIRST_FRAME"  # a file to write the Unix time to


class FirstFrame(QObject):
    """Watches `window` until its first paint has reached the screen."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        window.installEventFilter(self)

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self._window.removeEventFilter(self)
            QTimer.singleShot(0, self._tell)  # by then the children are painted, and the frame is flushed
        return False

    def _tell(self) -> None:
        log.info("the window is visible")
        report = os.environ.get(REPORT_VARIABLE)
        if report:
            write_atomically(Path(report), f"{time.time()}".encode())
