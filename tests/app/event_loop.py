"""Turns of the event loop, for tests in which nothing may happen: no fixed wait, which is too short or too long."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer


class Layouts(QObject):
    """An event filter of the application that counts layout requests."""

    count = 0

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.LayoutRequest
        return False


def turn() -> None:
    """Run what is due in the event loop now, timers of 0 ms included: they fire in the order of their start."""
    ended: list[bool] = []
    QTimer.singleShot(0, lambda: ended.append(True))
    while not ended:
        QCoreApplication.processEvents()


def settle() -> None:
    """Turn the event loop until a turn lays nothing out: what happens at once has happened, and all is in place."""
    layouts, application, before = Layouts(), QCoreApplication.instance(), -1
    assert application
    application.installEventFilter(layouts)
    while layouts.count != before:
        before = layouts.count
        turn()
    application.removeEventFilter(layouts)
