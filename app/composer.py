"""Where the user types: grows with the text, Enter sends, a thin bar on top tells what is being waited for."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QInputMethodEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.icons import icon
from app.theme import SIZES, body_font, theme

MAX_LINES = 10


class ComposerText(QPlainTextEdit):
    """`submitted`: Enter without Shift, outside of an input method's composition."""

    submitted = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setAccessibleName("Message")
        self.setPlaceholderText("Message")
        self.setFont(body_font())
        self.setTabChangesFocus(True)
        self.document().setDocumentMargin(4)
        self.viewport().setAutoFillBackground(False)
        self._composing = False
        self.textChanged.connect(self.fit)
        self.fit()

    def inputMethodEvent(self, event: QInputMethodEvent) -> None:
        self._composing = bool(event.preeditString())
        super().inputMethodEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & Qt.KeyboardModifier.ShiftModifier and not self._composing:
            self.submitted.emit()
            return
        super().keyPressEvent(event)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.fit()

    def fit(self) -> None:
        lines = min(max(1, int(self.document().size().height())), MAX_LINES)
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + 2 * 4 + 2)


class Composer(QFrame):
    """`sent` carries the text; `stopped` asks to stop the answer. `set_busy` swaps Send for Stop."""

    sent = Signal(str)
    stopped = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self.busy = False
        self._fraction: float | None = None
        self.progress = QLabel(self)
        self.progress.setObjectName("progressText")
        self.progress.hide()
        self.text = ComposerText(self)
        self.button = QPushButton(self)
        self.button.setObjectName("send")
        self.button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        row = QHBoxLayout()
        row.setSpacing(SIZES.gap)
        row.addWidget(self.text, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignBottom)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SIZES.gap_m, SIZES.gap, SIZES.gap, SIZES.gap)
        layout.setSpacing(4)
        layout.addWidget(self.progress)
        layout.addLayout(row)
        self.text.submitted.connect(self.submit)
        self.text.textChanged.connect(self._update)
        self.button.clicked.connect(self._clicked)
        self.text.installEventFilter(self)
        self.setFocusProxy(self.text)
        self._update()

    def set_busy(self, busy: bool) -> None:
        if busy != self.busy:
            self.busy = busy
            self._update()

    def set_progress(self, text: str, fraction: float | None) -> None:
        """Say what is waited for; `fraction` None takes the bar away, an empty text the line."""
        self.progress.setText(text)
        self.progress.setVisible(bool(text))
        self._fraction = fraction
        self.update()

    def submit(self) -> None:
        """Send what is typed, unless an answer is under way: then it stays where it is."""
        text = self.text.toPlainText()
        if not self.busy and text.strip():
            self.text.clear()
            self.sent.emit(text)

    def restyle(self) -> None:
        self._update()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.setProperty("focused", event.type() == QEvent.Type.FocusIn)
            self.style().unpolish(self)
            self.style().polish(self)
        return False

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._fraction is None:
            return
        painter = QPainter(self)
        # Along the straight part of the edge: in the round corners a bar this thin is a splinter.
        width = (self.width() - 2 * SIZES.radius_l) * min(max(self._fraction, 0.02), 1)
        painter.fillRect(QRectF(SIZES.radius_l, 0, width, SIZES.bar), QColor(theme().accent))

    def _clicked(self) -> None:
        if self.busy:
            self.stopped.emit()
        else:
            self.submit()

    def _update(self) -> None:
        ready = self.busy or bool(self.text.toPlainText().strip())
        self.button.setEnabled(ready)
        self.button.setIcon(icon("stop" if self.busy else "send", theme().on_accent if ready else theme().soft))
        name = "Stop" if self.busy else "Send"
        self.button.setAccessibleName(name)
        self.button.setToolTip(f"{name} ({'Esc' if self.busy else 'Enter'})")
