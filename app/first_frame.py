"""Notes when the window was first painted, for the log and for the benchmark that asked to be told."""

from __future__ import annotations

import logging
import os
import time
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QTimer
from PySide6.QtWidgets import QWidget

from common.files import write_atomically

log = logging.getLogger(__name__)
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
