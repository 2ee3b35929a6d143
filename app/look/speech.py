"""Has a screen reader say a sentence that the user would otherwise only see."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent

POLITENESS = QAccessible.AnnouncementPoliteness


def announce(source: QObject, text: str, urgent: bool = False) -> None:
    """Say `text` when the reader has finished its sentence, or at once if it is urgent; `source` is what it is about.

    Nothing happens unless an assistive technology is active.
    """
    if QAccessible.isActive() and text:
        event = QAccessibleAnnouncementEvent(source, text)
        event.setPoliteness(POLITENESS.Assertive if urgent else POLITENESS.Polite)
        QAccessible.updateAccessibility(event)
