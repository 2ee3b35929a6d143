"""Text editor in which Enter submits and Shift+Enter breaks the line; an input method keeps its keys meanwhile."""

from __future__ import annotations

from math import ceil

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.look.live import Live
from app.look.theme import body_font

BEYOND = {
    Qt.Key.Key_PageUp: "page_up",
    Qt.Key.Key_PageDown: "page_down",
    Qt.Key.Key_Home: "start",
    Qt.Key.Key_End: "end",
    Qt.Key.Key_Up: "up",
}


class PromptEditor(Live, QPlainTextEdit):
    """Plain text editor that grows with its text up to `most_lines`.

    Signals: `pressed_beyond` carries the name of a key (a value of BEYOND) that cannot move the cursor any further;
    `submitted` on Enter (on Ctrl+Enter alone without `enter_submits`); `escaped` on Esc, if `can_escape`.
    """

    pressed_beyond = Signal(str)
    submitted = Signal()
    escaped = Signal()

    def __init__(self, parent: QWidget, most_lines: int, can_escape: bool = False, enter_submits: bool = True) -> None:
        super().__init__(parent)
        self._most_lines, self._can_escape, self._enter_submits = most_lines, can_escape, enter_submits
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
        return lines * self._line_height() + 2 * int(self.document().documentMargin()) + 2

    def _line_height(self) -> int:
        """Return the height of the tallest line of the first ones; Chinese is taller than the font says."""
        block, tallest = self.document().begin(), self.fontMetrics().lineSpacing()
        for _ in range(self._most_lines):
            if not block.isValid():
                break
            height = self.blockBoundingRect(block).height() / max(1, block.lineCount())
            tallest, block = max(tallest, ceil(height)), block.next()
        return tallest

    def event(self, event: QEvent) -> bool:
        override = event.type() == QEvent.Type.ShortcutOverride
        if override and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape and self._handles_escape():
            event.accept()  # so that Esc does not stop an answer
            return True
        if override and isinstance(event, QKeyEvent) and self._is_beyond(event):
            event.ignore()  # so that Ctrl+Home and Ctrl+End go to the ends of the chat
            return True
        return super().event(event)

    def _handles_escape(self) -> bool:
        """Return whether Esc leaves this editor or ends a composition, instead of stopping an answer."""
        return self._can_escape or self.composing

    def _is_beyond(self, event: QKeyEvent) -> bool:
        """Return whether Ctrl+Home or Ctrl+End cannot move the cursor any further in the text."""
        ends = {Qt.Key.Key_Home: 0, Qt.Key.Key_End: self.document().characterCount() - 1}
        held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        key = Qt.Key(event.key())
        return held == Qt.KeyboardModifier.ControlModifier and ends.get(key) == self.textCursor().position()

    def _submits(self, held: Qt.KeyboardModifier) -> bool:
        """Return whether Enter with the keys `held` submits the text instead of breaking the line."""
        wanted = not held & Qt.KeyboardModifier.ShiftModifier
        if not self._enter_submits:
            wanted = bool(held & Qt.KeyboardModifier.ControlModifier)
        return wanted and not self.composing

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self._submits(event.modifiers()):
            self.submitted.emit()
        elif event.key() == Qt.Key.Key_Escape and self._can_escape and not self.composing:
            self.escaped.emit()
        elif event.key() in BEYOND and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            self._move(event)
        else:
            super().keyPressEvent(event)

    def _move(self, event: QKeyEvent) -> None:
        """Move the cursor, or emit `pressed_beyond` if it is at the text's end in that direction already."""
        before, last = self.textCursor().position(), self.document().characterCount() - 1
        super().keyPressEvent(event)
        name = BEYOND[Qt.Key(event.key())]
        at_limit = before == (last if name in ("page_down", "end") else 0)
        if self.textCursor().position() == before and not self.composing and (at_limit or name.startswith("page")):
            self.pressed_beyond.emit(name)
