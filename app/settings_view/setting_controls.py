"""The three controls that settings are edited with: a line, a choice, a text. Each knows only the text it shows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent, QWheelEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QPlainTextEdit, QStyle, QWidget

from app.look.icons import icon
from app.look.theme import SIZES, theme
from app.words import mark, tr

PAUSE_MS = 500  # who writes a text pauses before it is stored


class Line(QLineEdit):
    """`edited` carries the text once it is complete: with Enter, or when the focus leaves."""

    edited = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFixedWidth(SIZES.input)
        self.editingFinished.connect(self.commit)

    def commit(self) -> None:
        if self.isModified():
            self.edited.emit(self.text())

    def settle(self) -> None:
        """What was typed is taken, or not wanted."""
        self.setModified(False)

    def show_text(self, text: str) -> None:
        if not self.isModified():  # what is being typed, or wrong, is not taken away
            self.setText(text)


class Choice(QComboBox):
    """`edited` carries the chosen value, which is not the words shown for it."""

    edited = Signal(str)

    def __init__(self, choices: Sequence[tuple[str, str]], parent: QWidget) -> None:
        super().__init__(parent)
        self.setFixedWidth(SIZES.input)
        self._choices = choices
        for value, words in choices:
            self.addItem(tr(words), value)
        self.activated.connect(lambda _index: self.commit())

    def commit(self) -> None:
        self.edited.emit(self.currentData())

    def settle(self) -> None:
        """A choice is made at once."""

    def show_text(self, text: str) -> None:
        self.setCurrentIndex(self.findData(text))

    def retranslate(self) -> None:
        for index, (_, words) in enumerate(self._choices):
            self.setItemText(index, tr(words))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        # A stylesheet cannot tint an image; icons are.
        arrow = icon("chevron", theme().soft).pixmap(SIZES.icon)
        place = QStyle.alignedRect(
            Qt.LayoutDirection.LeftToRight,
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
            arrow.deviceIndependentSize().toSize(),
            self.rect().adjusted(0, 0, -SIZES.gap, 0),
        )
        QPainter(self).drawPixmap(place, arrow)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the wheel scrolls the page; a choice changed in passing would go unnoticed


class Words(QPlainTextEdit):
    """`edited` carries the text after a pause, or when the focus leaves."""

    edited = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setTabChangesFocus(True)
        self.setFixedHeight(SIZES.words)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self.commit)
        self.textChanged.connect(self._pause.start)

    def commit(self) -> None:
        self._pause.stop()
        if self.document().isModified():
            self.edited.emit(self.toPlainText())

    def settle(self) -> None:
        """What was typed is taken, or not wanted."""
        self.document().setModified(False)

    def show_text(self, text: str) -> None:
        if text != self.toPlainText() and not self.document().isModified():
            self.setPlainText(text)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self.commit()
        super().focusOutEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.verticalScrollBar().maximum() > 0 and self.hasFocus():
            super().wheelEvent(event)
        else:
            event.ignore()


Control = Line | Choice | Words
AUTO_SHOWN = mark("Automatic")


def name_control(control: Control, name: str, help: str) -> None:
    """For those who hear the window rather than see it."""
    control.setAccessibleName(name)
    control.setAccessibleDescription(help)
    control.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
