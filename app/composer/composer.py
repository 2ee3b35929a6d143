"""Where the user types: grows with the text, Enter sends, a thin bar on top tells what is being waited for."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QInputMethodEvent, QKeyEvent, QPainter, QPaintEvent, QTextCursor
from PySide6.QtWidgets import (
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)  # fmt: skip

from app.commands.command_set import with_keys
from app.composer.drop_hint import local_files
from app.composer.tray import Tray
from app.look.icons import icon
from app.look.theme import SIZES, body_font, theme
from app.words import tr

MAX_LINES = 10
LONG_TEXT = 8_000  # characters that are pasted as a file rather than into the message


class ComposerText(QPlainTextEdit):
    """`submitted`: Enter without Shift, outside of an input method's composition.

    What is pasted or dropped and is no short text: `files` are paths, `long_text` goes along as a file, `picture`
    cannot be read."""

    submitted = Signal()
    files = Signal(list)
    long_text = Signal(str)
    picture = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.retranslate()
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

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Message"))
        self.setPlaceholderText(tr("Message"))

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasUrls() or source.hasImage() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        files = local_files(source)
        if files:
            self.files.emit(files)
        elif source.hasImage() and not source.hasText():
            self.picture.emit()
        elif len(source.text()) > LONG_TEXT:
            self.long_text.emit(source.text())
        else:
            super().insertFromMimeData(source)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.fit()

    def fit(self) -> None:
        lines = min(max(1, int(self.document().size().height())), MAX_LINES)
        self.setFixedHeight(lines * self.fontMetrics().lineSpacing() + 2 * 4 + 2)


class Composer(QFrame):
    """`sent` carries the text; `stopped` asks to stop the answer. `set_busy` swaps Send for Stop.

    `files` carries paths to attach, `long_text` a text that is too long for the message, `refused` a sentence (a
    Saying) about what cannot be attached. `tray` shows the files."""

    sent = Signal(str)
    stopped = Signal()
    files = Signal(list)
    long_text = Signal(str)
    refused = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self.busy = False
        self._fraction: float | None = None
        self.progress = QLabel(self)
        self.progress.setObjectName("progressText")
        self.progress.setTextFormat(Qt.TextFormat.PlainText)  # it names files
        self.progress.hide()
        self.tray = Tray(self)
        self.attach_button = QToolButton(self)
        self.attach_button.setObjectName("attach")
        self.attach_button.clicked.connect(self.choose_files)
        self.text = ComposerText(self)
        self.button = QPushButton(self)
        self.button.setObjectName("send")
        self.button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        row = QHBoxLayout()
        row.setSpacing(SIZES.gap)
        row.addWidget(self.attach_button, 0, Qt.AlignmentFlag.AlignBottom)
        row.addWidget(self.text, 1, Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(self.button, 0, Qt.AlignmentFlag.AlignBottom)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SIZES.gap, SIZES.gap, SIZES.gap, SIZES.gap)
        layout.setSpacing(4)
        layout.addWidget(self.progress)
        layout.addWidget(self.tray)
        layout.addLayout(row)
        self.text.submitted.connect(self.submit)
        self.text.files.connect(self.files)
        self.text.long_text.connect(self.long_text)
        self.text.picture.connect(
            lambda: self.refused.emit(lambda: tr("This model reads text only, so images cannot be attached."))
        )
        self.text.textChanged.connect(self._update)
        self.button.clicked.connect(self._clicked)
        self.text.installEventFilter(self)
        self.setFocusProxy(self.text)
        self.restyle()
        self.retranslate()

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
        if not self.busy and (text.strip() or not self.tray.empty):
            self.text.clear()
            self.sent.emit(text)

    def set_text(self, text: str) -> None:
        """Another chat's text, or one that was not sent, with the cursor behind it."""
        if text != self.text.toPlainText():
            self.text.setPlainText(text)
            self.text.moveCursor(QTextCursor.MoveOperation.End)

    def choose_files(self) -> None:
        dialog = QFileDialog(self.window(), tr("Attach files"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFiles)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.filesSelected.connect(lambda names: self.files.emit([Path(name) for name in names]))
        dialog.open()

    def refresh(self) -> None:
        """The files have changed: a message may consist of them alone."""
        self._update()

    def restyle(self) -> None:
        self.button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.attach_button.setIcon(icon("attach", theme().soft))
        self.attach_button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.tray.restyle()
        self._update()

    def retranslate(self) -> None:
        self.text.retranslate()
        self.tray.retranslate()
        self.attach_button.setAccessibleName(tr("Attach files"))
        self.attach_button.setToolTip(with_keys(tr("Attach files"), "attach"))
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
        ready = self.busy or bool(self.text.toPlainText().strip()) or not self.tray.empty
        self.button.setEnabled(ready)
        self.button.setIcon(icon("stop" if self.busy else "send", theme().on_accent if ready else theme().soft))
        name = tr("Stop") if self.busy else tr("Send")
        self.button.setAccessibleName(name)
        keys = "Esc" if self.busy else "Enter"
        self.button.setToolTip(tr("{words} ({keys})", words=name, keys=keys))
