"""Widgets and actions that update their texts and colours themselves after a change of language, theme or text size.

Qt sends every widget an event for such a change. A class that derives from `Live` or `LiveAction` handles that event,
so no list of widgets to update is needed.
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
    """A mixin that keeps a widget's texts and looks up to date: `class Gauge(Live, QWidget)`.

    `Live` calls `retranslate` when the language changes and `restyle` when the theme or text size changes. A subclass
    sets all its texts in `retranslate` and its colours, sizes and icons in `restyle`, for itself only: its children get
    their own events, and before their parent, so that `restyle` can measure them. The subclass ends its constructor
    with `apply_look()`, which calls both for the first time; events before that call are ignored, for the widget is
    incomplete.
    """

    _applied_look: int | None = None

    def retranslate(self) -> None:
        """Set all texts, in the present language."""

    def restyle(self) -> None:
        """Set the colours, sizes and icons that the style sheet does not set."""

    def apply_look(self) -> None:
        """Set texts, colours, sizes and icons for the first time; from now on, events update them."""
        self._applied_look = theme.look_number()
        self.retranslate()
        self.restyle()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)  # type: ignore[misc]
        if self._applied_look is None:
            return
        if event.type() == QEvent.Type.LanguageChange:
            self.retranslate()
        elif event.type() == QEvent.Type.PaletteChange and self._applied_look != theme.look_number():
            # Qt may send the event more than once for one change.
            self._applied_look = theme.look_number()
            self.restyle()


class LiveAction(QAction):
    """An action for menus, buttons and keys that keeps its texts and icon up to date like a `Live` widget.

    `title` is English, marked for translation. The first of `keys` is shown in menus and tips. `tip` is a button's tool
    tip where the title, which is written for a menu, says too little.
    """

    def __init__(
        self, parent: QObject, title: str, icon_name: str = "", keys: Sequence[str] = (), tip: str = ""
    ) -> None:
        super().__init__(parent)
        self._title, self._icon_name, self._keys, self._tip = title, icon_name, keys, tip
        self.setShortcuts([QKeySequence(each) for each in keys])
        self.retranslate()
        self.restyle()

    @property
    def label(self) -> str:
        """The action's name outside of menus."""
        return tr(self._tip) if self._tip else without_mnemonic(self.text())

    def set_title(self, title: str) -> None:
        if title != self._title:
            self._title = title
            self.retranslate()

    def retranslate(self) -> None:
        self.setText(tr(self._title))
        self.setToolTip(tip_with_keys(self.label, self._keys))

    def restyle(self) -> None:
        if self._icon_name:
            self.setIcon(theme.icon(self._icon_name, theme.theme().soft))

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LanguageChange:
            self.retranslate()
        elif event.type() == QEvent.Type.PaletteChange:
            self.restyle()
        return super().event(event)


def without_mnemonic(title: str) -> str:
    """Return a menu title without its mnemonic: without "&", and without the "(&N)" behind Chinese titles."""
    return re.sub(r"\(&.\)", "", title).replace("&", "")


def native_keys(keys: Sequence[str]) -> list[str]:
    """Return keys as the operating system writes them."""
    return [QKeySequence(each).toString(QKeySequence.SequenceFormat.NativeText) for each in keys]


def tip_with_keys(words: str, keys: Sequence[str]) -> str:
    """Return a tool tip: what a button does, and the first of the keys that do the same."""
    return tr("{words} ({keys})", words=words, keys=native_keys(keys)[0]) if keys else words


def send_language_change() -> None:
    """Send every top-level widget a LanguageChange event, which Qt passes on to the widgets inside."""
    for widget in QApplication.topLevelWidgets():
        QCoreApplication.sendEvent(widget, QEvent(QEvent.Type.LanguageChange))


def send_look_change() -> None:
    """Send a PaletteChange event to every `Live` widget and action, because theme or text size have changed.

    Qt itself sends this event only to widgets whose own colours change.
    """
    windows = [widget for widget in QApplication.topLevelWidgets() if widget.parent() is None]
    for part in [part for window in windows for part in _children_first(window)]:
        QCoreApplication.sendEvent(part, QEvent(QEvent.Type.PaletteChange))


def _children_first(part: QObject) -> Iterator[QObject]:
    """Yield the `Live` objects in `part`, children before their parents."""
    for child in part.findChildren(QObject, options=Qt.FindChildOption.FindDirectChildrenOnly):
        yield from _children_first(child)
    if isinstance(part, Live | LiveAction):
        yield part
