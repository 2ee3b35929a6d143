"""A text that Enter sends: Shift+Enter breaks the line, and an input method that composes keeps its keys."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.look.live import Live
from app.look.theme import body_font


class PromptEditor(Live, QPlainTextEdit):
    """`submitted`: Enter; `left`: Esc, in an editor that can be left. Grows up to `most_lines`."""

    submitted = Signal()
    left = Signal()

    def __init__(self, parent: QWidget, most_lines: int, can_be_left: bool = False) -> None:
        super().__init__(parent)
        self._most_lines, self._can_be_left = most_lines, can_be_left
        self.setTabChangesFocus(True)
        self.viewport().setAutoFillBackground(False)
        self.setFont(body_font())

    def restyle(self) -> None:
        self.setFont(body_font())

    @property
    def composing(self) -> bool:
        """Does an input method show letters that are no text yet? Asked of the text: no event tells that they went with
        the focus."""
        return bool(self.textCursor().block().layout().preeditAreaText())

    def wanted_height(self) -> int:
        lines = min(max(1, int(self.document().size().height())), self._most_lines)
        return lines * self.fontMetrics().lineSpacing() + 2 * int(self.document().documentMargin()) + 2

    def event(self, event: QEvent) -> bool:
        override = event.type() == QEvent.Type.ShortcutOverride
        if override and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape and self._keeps_escape():
            event.accept()  # it does not stop an answer
            return True
        return super().event(event)

    def _keeps_escape(self) -> bool:
        """Does it leave the editor here, or the composition?"""
        return self._can_be_left or self.composing

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not self.composing:
            self.submitted.emit()
        elif event.key() == Qt.Key.Key_Escape and self._can_be_left and not self.composing:
            self.left.emit()
        else:
            super().keyPressEvent(event)
