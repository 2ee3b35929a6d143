"""Text editor in which Enter submits and Shift+Enter breaks the line; an input method keeps its keys meanwhile."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.look.live import Live
from app.look.theme import body_font


class PromptEditor(Live, QPlainTextEdit):
    """Plain text editor that grows with its text up to `most_lines`.

    Signals: `submitted` on Enter; `escaped` on Esc, if `can_escape`.
    """

    submitted = Signal()
    escaped = Signal()

    def __init__(self, parent: QWidget, most_lines: int, can_escape: bool = False) -> None:
        super().__init__(parent)
        self._most_lines, self._can_escape = most_lines, can_escape
        self.setTabChangesFocus(True)
        self.viewport().setAutoFillBackground(False)
        self.setFont(body_font())

    def restyle(self) -> None:
        self.setFont(body_font())

    @property
    def composing(self) -> bool:
        """Whether an input method shows letters that are not yet part of the text.

        The text's layout is asked, because no event tells that these letters went away with the focus.
        """
        return bool(self.textCursor().block().layout().preeditAreaText())

    def wanted_height(self) -> int:
        lines = min(max(1, int(self.document().size().height())), self._most_lines)
        return lines * self.fontMetrics().lineSpacing() + 2 * int(self.document().documentMargin()) + 2

    def event(self, event: QEvent) -> bool:
        override = event.type() == QEvent.Type.ShortcutOverride
        if override and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape and self._handles_escape():
            event.accept()  # so that Esc does not stop an answer
            return True
        return super().event(event)

    def _handles_escape(self) -> bool:
        """Return whether Esc leaves this editor or ends a composition, instead of stopping an answer."""
        return self._can_escape or self.composing

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not self.composing:
            self.submitted.emit()
        elif event.key() == Qt.Key.Key_Escape and self._can_escape and not self.composing:
            self.escaped.emit()
        else:
            super().keyPressEvent(event)
