"""A user's message in an editor where it stood: Enter sends the new wording, Esc leaves the message as it is."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QInputMethodEvent, QKeyEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.look.theme import SIZES, body_font
from app.words import tr

MAX_LINES = 16


class EditorText(QPlainTextEdit):
    """`submitted`: Enter outside of an input method's composition; `left`: Esc."""

    submitted = Signal()
    left = Signal()

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setFont(body_font())
        self.setTabChangesFocus(True)
        self.viewport().setAutoFillBackground(False)
        self._composing = False
        self.setPlainText(text)

    def event(self, event: QEvent) -> bool:
        override = event.type() == QEvent.Type.ShortcutOverride
        if override and isinstance(event, QKeyEvent) and event.key() == Qt.Key.Key_Escape:
            event.accept()  # here it leaves the editor, it does not stop an answer
            return True
        return super().event(event)

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not self._composing:
            self.submitted.emit()
        elif event.key() == Qt.Key.Key_Escape and not self._composing:
            self.left.emit()
        else:
            super().keyPressEvent(event)

    def wanted_height(self) -> int:
        lines = min(max(1, int(self.document().size().height())), MAX_LINES)
        return lines * self.fontMetrics().lineSpacing() + 2 * int(self.document().documentMargin()) + 2


class MessageEditor(QFrame):
    """`sent` carries the text, `left` too; `changed` is every keystroke's text, `resized` a new height."""

    sent = Signal(str)
    left = Signal(str)
    changed = Signal(str)
    resized = Signal()

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("editor")
        self.text = EditorText(text, self)
        self.cancel = QPushButton(self)
        self.send = QPushButton(self)
        for button in (self.cancel, self.send):
            button.setProperty("kind", "step")
        row = QHBoxLayout()
        row.setSpacing(SIZES.gap)
        row.addStretch(1)
        row.addWidget(self.cancel)
        row.addWidget(self.send)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SIZES.gap_m, SIZES.gap, SIZES.gap, SIZES.gap)
        layout.setSpacing(SIZES.gap_s)
        layout.addWidget(self.text)
        layout.addLayout(row)
        self._height = 0
        self.text.textChanged.connect(self._typed)
        self.text.submitted.connect(self._submit)
        self.text.left.connect(lambda: self.left.emit(self.text.toPlainText()))
        self.send.clicked.connect(self._submit)
        self.cancel.clicked.connect(lambda: self.left.emit(self.text.toPlainText()))
        self.setFocusProxy(self.text)
        self.text.moveCursor(QTextCursor.MoveOperation.End)
        self.retranslate()

    def retranslate(self) -> None:
        self.text.setAccessibleName(tr("Edit message"))
        self.cancel.setText(tr("Cancel"))
        self.cancel.setToolTip(tr("Discard the edit (Esc)"))
        self.send.setText(tr("Send"))
        self.send.setToolTip(tr("Send as a new version; the old one is kept (Enter)"))

    def height_for(self, width: int) -> int:
        """Its height when it is `width` pixels wide."""
        self.resize(width, self.height())
        layout = self.layout()
        assert layout
        layout.activate()
        self.text.setFixedHeight(self.text.wanted_height())
        self._height = self.sizeHint().height()
        return self._height

    def _typed(self) -> None:
        self.send.setEnabled(bool(self.text.toPlainText().strip()))
        self.changed.emit(self.text.toPlainText())
        if self.text.wanted_height() != self.text.height():
            self.resized.emit()

    def _submit(self) -> None:
        if self.text.toPlainText().strip():
            self.sent.emit(self.text.toPlainText())
