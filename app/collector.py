"""Python's garbage collector, kept out of the window's frames. Knows no widgets.

Left alone, Python looks through every object there is whenever enough new ones have gathered, in the middle of whatever
is being done: 20 ms in a step of scrolling. Here what the program itself consists of is never looked through again, and
the rest when the window has nothing else to do. Young objects, some thousands at most, stay with Python's own rule.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

LOOK_MS = 1_000
QUIET_SECONDS = 0.02  # of processor time since the last look: nobody types or scrolls, no answer comes in
DUE = 10  # collections of young objects since the last full one: where Python would begin to think of another
MUST = 200  # so many more of them that it cannot wait for a quiet moment: some hundred megabytes at most
SHARE = 0.01  # of the time at most
NEVER = 2**31 - 1


class Collector(QObject):
    """From `start` to `close` full collections happen only here. `clock` gives the seconds its own thread computed."""

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
