"""The Qt application, which also hears of files that macOS opens with the running program."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Signal
from PySide6.QtGui import QFileOpenEvent
from PySide6.QtWidgets import QApplication


class Application(QApplication):
    """The application. `file_opened` tells the path of a file that the user opened with the program.

    macOS hands it over as an event, also at the start; elsewhere it is an argument of the command.
    """

    file_opened = Signal(str)

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent) and event.file():
            self.file_opened.emit(event.file())
            return True
        return super().event(event)
