"""Lets the text cursor rest: it stops blinking, visible, when nobody has typed for a while."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.services.timers import Debounce

REST_MS = 10_000  # as in GTK: each blink wakes the processor and paints the window, twice a second
SYSTEM_DEFAULT = -1  # flash time that stands for the system's own


class CaretRest(QObject):
    """A timer that stops the blinking of all text cursors `rest_ms` after the last time that one has moved."""

    def __init__(self, application: QApplication, rest_ms: int = REST_MS) -> None:
        super().__init__(application)
        self._application = application
        self._resting = False
        self._pause = Debounce(self._rest, rest_ms, self)
        QGuiApplication.inputMethod().cursorRectangleChanged.connect(self._wake)
        application.focusChanged.connect(self._wake)
        self._pause.request()

    def close(self) -> None:
        """Let all text cursors blink as the system says."""
        QGuiApplication.inputMethod().cursorRectangleChanged.disconnect(self._wake)
        self._application.focusChanged.disconnect(self._wake)
        self._wake()
        self._pause.cancel()

    def _wake(self) -> None:
        self._pause.request()
        if self._resting:
            self._resting = False
            QGuiApplication.styleHints().setCursorFlashTime(SYSTEM_DEFAULT)

    def _rest(self) -> None:
        self._resting = True
        QGuiApplication.styleHints().setCursorFlashTime(0)
