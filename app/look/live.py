"""Widgets and actions that say their words and set their colours anew when the language, the theme or the text size
changes.

Qt tells every widget of such a change by an event; what derives from `Live` or `LiveAction` needs to be in no list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication

from app.look import theme
from app.words import tr


class Live:
    """Stands before the widget's Qt class: `class Gauge(Live, QWidget)`. Its constructor ends with `apply_look()`.

    Each widget does its own part only; its children get the events as well, of another look before it does, so that it
    can measure them. An event that comes before `apply_look`, to a widget that is half made, is not for it.
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


class LiveAction(QAction):
    """What can be asked for, wherever that is: in a menu, by a button, by keys.

    `title` is English, marked for translation; `drawing` names an icon. The first of `keys` is the one that is shown.
    `tip` says on a button what the title, which stands in a menu, does not."""

    def __init__(self, parent: QObject, title: str, drawing: str = "", keys: Sequence[str] = (), tip: str = "") -> None:
        super().__init__(parent)
        self._title, self._drawing, self._keys, self._tip = title, drawing, keys, tip
        self.setShortcuts([QKeySequence(each) for each in keys])
        self.retranslate()
        self.restyle()

    @property
    def words(self) -> str:
        """What it is called outside of menus."""
        return tr(self._tip) if self._tip else plain(self.text())

    def set_title(self, title: str) -> None:
        if title != self._title:
            self._title = title
            self.retranslate()

    def retranslate(self) -> None:
        self.setText(tr(self._title))
        self.setToolTip(with_keys(self.words, self._keys))

    def restyle(self) -> None:
        if self._drawing:
            self.setIcon(theme.icon(self._drawing, theme.theme().soft))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LanguageChange:
            self.retranslate()
        elif event.type() == QEvent.Type.PaletteChange:
            self.restyle()
        return super().event(event)


def plain(title: str) -> str:
    """A menu's title without its marked letter, also without the "(&N)" that stands behind Chinese ones."""
    return re.sub(r"\(&.\)", "", title).replace("&", "")


def native(keys: Sequence[str]) -> list[str]:
    """Keys as the system writes them."""
    return [QKeySequence(each).toString(QKeySequence.SequenceFormat.NativeText) for each in keys]


def with_keys(words: str, keys: Sequence[str]) -> str:
    """A tool tip: what a button does, and the first of the keys that do it too."""
    return tr("{words} ({keys})", words=words, keys=native(keys)[0]) if keys else words


def tell_language() -> None:
    """Another language is spoken now. Every window passes it on to what is in it."""
    for widget in QApplication.topLevelWidgets():
        QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.LanguageChange))


def tell_look() -> None:
    """Theme or text size are others now. Qt by itself tells only widgets whose own colours change."""
    windows = [widget for widget in QApplication.topLevelWidgets() if widget.parent() is None]
    for part in [part for window in windows for part in _inside_first(window)]:
        QCoreApplication.sendEvent(part, QEvent(QEvent.Type.PaletteChange))


def _inside_first(part: QObject) -> Iterator[QObject]:
    for child in part.findChildren(QObject, options=Qt.FindChildOption.FindDirectChildrenOnly):
        yield from _inside_first(child)
    if isinstance(part, Live | LiveAction):
        yield part
