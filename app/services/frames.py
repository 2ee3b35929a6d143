"""The window's frames: work in slices that fit into one, garbage collection between them, the first one's time."""

from __future__ import annotations

import gc
import logging
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

from PySide6.QtCore import QAbstractEventDispatcher, QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from app.services.timers import Debounce
from common.files import write_atomically

log = logging.getLogger(__name__)
BUDGET_SECONDS = 0.004  # per turn of the event loop; painting needs the rest of the frame
Step = Callable[[], bool]


class Slices(QObject):
    """A queue of steps that are run in turn; a step that returns True is run again. A step should take 3 ms at most.

    All parts of the window share one queue: ten parts of 4 ms with timers of their own would make one event-loop turn
    of 40 ms.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._steps: dict[Step, QObject] = {}
        self._soon = Debounce(self._turn, 0, self, restarts=False)

    def add(self, owner: QObject, step: Step) -> None:
        """Run `step` in slices until it returns False or its owner is destroyed; adding a step twice has no effect."""
        self._steps.setdefault(step, owner)
        self._soon.request()

    def _turn(self) -> None:
        until = time.perf_counter() + BUDGET_SECONDS
        try:
            while self._steps and time.perf_counter() < until:
                step = next(iter(self._steps))
                owner = self._steps.pop(step)
                if isValid(owner) and step():
                    self._steps[step] = owner  # at the end of the queue
        finally:
            if self._steps:
                self._soon.request()


@cache
def slices() -> Slices:
    """Return the process-wide queue of slices."""
    return Slices()


# --- the collector ----------------------------------------------------------------------------------------------------

LOOK_MS = 1_000
QUIET_SECONDS = 0.02  # processor time since the last look; less means that nothing is typed, scrolled or answered
DUE = 10  # collections of young objects since the last full one, after which Python itself would consider another
MUST = 200  # collections after which a full one cannot wait: garbage of some hundred megabytes at most
SHARE = 0.01  # of the time that full collections may take


class Collector(QObject):
    """Garbage collection for the window: until `close` it happens only here, in the window's thread.

    Python on its own collects whenever enough new objects were allocated. That has two faults in a window:

    - It happens in whichever thread allocates. A thread in the background then deletes widgets, and Qt crashes.
    - It happens in the middle of other work: a full collection takes 20 ms in a step of scrolling.

    From `start` on, young objects, a few thousand at most, are looked through when the event loop is about to wait. The
    objects that exist at the start are never looked through again, and the rest only when the window is idle. A timer
    runs only while a full collection is due, so that an idle window sleeps. `clock` gives the processor seconds of its
    thread.
    """

    def __init__(self, parent: QObject | None = None, clock: Callable[[], float] = time.thread_time) -> None:
        super().__init__(parent)
        self._clock = clock
        self._thread_seconds = 0.0
        self._not_before = 0.0  # monotonic second before which no full collection starts
        self._started = self._freezes = False
        self._was_enabled = gc.isenabled()
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_MS)
        self._timer.timeout.connect(self.collect_if_due)

    def start(self) -> None:
        """Begin to collect; all present objects, with the little garbage among them, are excluded until `close`.

        Where objects are frozen already, as in the tests, those stay frozen and no others are.
        """
        self._started = True
        self._freezes = gc.get_freeze_count() == 0
        if self._freezes:
            gc.freeze()
        self._thread_seconds = self._clock()
        QAbstractEventDispatcher.instance().aboutToBlock.connect(self.collect_young)

    def close(self) -> None:
        """Leave collection to Python again, unless it was off before; a second call has no effect."""
        if self._started:
            self._started = False
            self._timer.stop()
            QAbstractEventDispatcher.instance().aboutToBlock.disconnect(self.collect_young)
            if self._freezes:
                gc.unfreeze()
        if self._was_enabled:
            gc.enable()

    def collect_young(self) -> None:
        """Collect young objects by Python's own rule, and watch for an idle moment once a full collection is due."""
        limits, counts = gc.get_threshold(), gc.get_count()
        if counts[0] <= limits[0]:
            return
        gc.collect(1 if counts[1] > limits[1] else 0)
        if not self._timer.isActive() and gc.get_count()[2] >= DUE:
            self._thread_seconds = self._clock()
            self._timer.start()

    def collect_if_due(self) -> None:
        """Run a full collection if it is due and the window is idle, or if it cannot wait any longer."""
        seconds = self._clock()
        quiet, self._thread_seconds = seconds - self._thread_seconds < QUIET_SECONDS, seconds
        young = gc.get_count()[2]
        if young >= MUST or (quiet and young >= DUE and time.monotonic() >= self._not_before):
            started = time.monotonic()
            gc.collect()
            ended = time.monotonic()
            self._not_before = ended + (ended - started) / SHARE
        if gc.get_count()[2] < DUE:
            self._timer.stop()


# --- the first frame --------------------------------------------------------------------------------------------------

REPORT_VARIABLE = "CHICKADEE_FIRST_FRAME"  # a file to write the Unix time to


class FirstFrame(QObject):
    """Watcher of the first paint of `window`; it logs, and reports on request, when that has reached the screen.

    `part` is put behind the name of the report, for a window that is not the main one.
    """

    def __init__(self, window: QWidget, part: str = "") -> None:
        super().__init__(window)
        self._window, self._part = window, part
        window.installEventFilter(self)
        window.update()  # one that is visible already would not paint before the caret blinks

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint:
            self._window.removeEventFilter(self)
            QTimer.singleShot(0, self._report)  # runs after the children are painted and the frame is flushed
        return False

    def _report(self) -> None:
        log.info("the window is visible")
        report = os.environ.get(REPORT_VARIABLE)
        if report:
            write_atomically(Path(report + self._part), f"{time.time()}".encode())
        self.deleteLater()
