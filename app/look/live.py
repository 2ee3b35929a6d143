"""Widgets that say their words and set their colours anew when the language, the theme or the text size changes.

Qt tells every widget of such a change by an event; a widget that derives from `Live` needs to be in no list.
"""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication, QWidget

from app.look import theme


class Live:
    """Stands before the widget's Qt class: `class Gauge(Live, QWidget)`. Its constructor ends with `apply_look()`.

    Each widget does its own part only; its children get the events as well. An event that comes before `apply_look`,
    to a widget that is half made, is not for it.
    """

    _look: int | None = None

    def retranslate(self) -> None:
        """Set all words; the language is another one now."""

    def restyle(self) -> None:
        """Set what the style sheet does not: colours, sizes, icons."""

    def apply_look(self) -> None:
        self._look = theme.look()
        self.retranslate()
        self.restyle()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)  # type: ignore[misc]
        if self._look is None:
            return
        if event.type() == QEvent.Type.LanguageChange:
            self.retranslate()
        elif event.type() == QEvent.Type.PaletteChange and self._look != theme.look():  # Qt may send it more than once
            self._look = theme.look()
            self.restyle()


def tell_language() -> None:
    """Another language is spoken now. Every window passes it on to what is in it."""
    for widget in QApplication.topLevelWidgets():
        QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.LanguageChange))


def tell_look() -> None:
    """Theme or text size are others now. Qt by itself tells only widgets whose own colours change."""
    for widget in QApplication.allWidgets():
        if isinstance(widget, Live) and isinstance(widget, QWidget):
            QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.PaletteChange))
