"""Where the user types and attaches files, and the thin bar on top that tells what is being waited for."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QDragEnterEvent,
    QDragMoveEvent,
    QDropEvent,
    QImage,
    QPainter,
    QPaintEvent,
    QTextCursor,
)  # fmt: skip
from PySide6.QtWidgets import QFileDialog, QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from app.commands.commands import ActionButton, CommandSet
from app.composer.prompt_editor import PromptEditor
from app.composer.tray import Tray
from app.look.live import Live
from app.look.theme import SIZES, icon, theme
from app.state.conversation import Conversation
from app.state.engine_state import EngineState
from app.words import mark, tr
from models.titles import title_of

MAX_LINES = 10
LONG_TEXT = 8_000  # characters that are pasted as a file rather than into the message
SHORT_PROMPT = 256
LOADING = mark("Loading {model}")
LOADING_FIRST = mark("Loading {model}, then answering your message")


def local_files(data: QMimeData) -> list[Path]:
    """The files on this computer that are being dropped or pasted."""
    return [Path(url.toLocalFile()) for url in data.urls() if url.isLocalFile()] if data.hasUrls() else []


class ComposerText(PromptEditor):
    """`attached` carries what is pasted or dropped and is no short text: a list of paths, a text that is too long for
    the message, or a QImage."""

    attached = Signal(object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, MAX_LINES)
        self.textChanged.connect(self.fit)
        self.apply_look()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Message"))
        self.setPlaceholderText(tr("Message"))

    def restyle(self) -> None:
        super().restyle()
        self.fit()

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return source.hasUrls() or source.hasImage() or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        files = local_files(source)
        if files:
            self.attached.emit(files)
        elif source.hasImage() and not source.hasText():
            self.attached.emit(QImage(source.imageData()))
        elif len(source.text()) > LONG_TEXT:
            self.attached.emit(source.text())
        else:
            super().insertFromMimeData(source)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.fit()

    def fit(self) -> None:
        self.setFixedHeight(self.wanted_height())


class Composer(Live, QFrame):
    """`sent` carries the text; `stopped` asks to stop the answer. What is to go along with the text, `text.attached`
    tells; `tray` shows it."""

    sent = Signal(str)
    stopped = Signal()

    def __init__(self, commands: CommandSet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("composer")
        self.busy = False
        self._fraction: float | None = None
        self._waited_for: tuple[EngineState, Conversation] | None = None
        self.progress = QLabel(self)
        self.progress.setObjectName("progressText")
        self.progress.setTextFormat(Qt.TextFormat.PlainText)  # it names files
        self.progress.hide()
        self.tray = Tray(self)
        self.attach_button = ActionButton(commands.actions["attach"], self)
        self.attach_button.setObjectName("attach")
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
        self.text.textChanged.connect(self._update)
        self.button.clicked.connect(self._clicked)
        self.text.installEventFilter(self)
        self.setFocusProxy(self.text)
        self.apply_look()

    def show_waiting(self, engine: EngineState, conversation: Conversation) -> None:
        """Say what is waited for; while an answer is under way, it can be stopped where it was sent."""
        self._waited_for = engine, conversation
        if conversation.busy != self.busy:
            self.busy = conversation.busy
            self._update()
        self.set_progress(*waiting_line(engine, conversation))

    def set_progress(self, text: str, fraction: float | None) -> None:
        """`fraction` None takes the bar away, an empty text the line. Painted only where something is new: it is called
        for every piece of an answer."""
        self.progress.setText(text)
        self.progress.setVisible(bool(text))
        if fraction != self._fraction:
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
        dialog.filesSelected.connect(lambda names: self.text.attached.emit([Path(name) for name in names]))
        dialog.open()

    def refresh(self) -> None:
        """The files have changed: a message may consist of them alone."""
        self._update()

    def restyle(self) -> None:
        self.button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self.attach_button.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self._update()

    def retranslate(self) -> None:
        self._update()
        if self._waited_for is not None:
            self.show_waiting(*self._waited_for)

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


def waiting_line(engine: EngineState, conversation: Conversation) -> tuple[str, float | None]:
    """The sentence, and how full the bar is (0 to 1; None: no bar)."""
    reading = conversation.reading
    if (
        conversation.phase == "reading"
        and reading
        and reading.total - reading.done > 0
        and reading.total > SHORT_PROMPT
    ):
        line = tr("Reading {done:,} of {total:,} tokens", done=reading.done, total=reading.total)
        if reading.seconds_left is not None:
            line = tr("{line} · {time} left", line=line, time=duration(reading.seconds_left))
        return line, reading.done / reading.total
    if engine.phase in ("starting", "loading"):
        name = title_of(engine.path) if engine.path else tr("the model")
        said = LOADING_FIRST if conversation.phase == "waiting" else LOADING
        return tr(said, model=name), engine.fraction
    ahead = engine.ahead
    if ahead and ahead.chat == conversation.chat.id and not conversation.busy:
        if ahead.total - ahead.reused > SHORT_PROMPT:
            return tr("Reading this chat again…"), ahead.done / ahead.total
        return "", None
    if conversation.phase == "waiting":
        if engine.phase == "ready":
            return tr("Waiting: another chat is being answered first"), None
        return tr("Your message will be answered as soon as a model is loaded"), None
    return "", None


def duration(seconds: float) -> str:
    whole = max(1, round(seconds))
    return tr("{n} s", n=whole) if whole < 90 else tr("{n} min", n=round(whole / 60))


class DropHint(Live, QFrame):
    """Covers `window` while files hover over it; `composer` gets those that are let go."""

    def __init__(self, window: QWidget, composer: Composer) -> None:
        super().__init__(window)
        self.setObjectName("dropHint")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._window, self._composer = window, composer
        self.words = QLabel(self)
        self.words.setObjectName("dropWords")
        self.words.setAlignment(Qt.AlignmentFlag.AlignCenter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SIZES.gap_xl, SIZES.gap_xl, SIZES.gap_xl, SIZES.gap_xl)
        layout.addWidget(self.words)
        window.setAcceptDrops(True)
        window.installEventFilter(self)
        self.apply_look()
        self.hide()

    def retranslate(self) -> None:
        self.words.setText(tr("Drop files to attach them"))

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDropEvent):  # enter and move are drops too, to Qt
            return self._drag(event)
        if event.type() in (QEvent.Type.DragLeave, QEvent.Type.Hide):
            self.hide()
        return False

    def _drag(self, event: QDropEvent) -> bool:
        files = local_files(event.mimeData())
        if not files:
            return False
        event.setDropAction(Qt.DropAction.CopyAction)
        event.accept()
        if isinstance(event, QDragEnterEvent | QDragMoveEvent):
            self._cover()
        else:
            self.hide()
            self._composer.text.attached.emit(files)
        return True

    def _cover(self) -> None:
        self.setGeometry(self._window.rect().adjusted(SIZES.gap, SIZES.gap, -SIZES.gap, -SIZES.gap))
        self.show()
        self.raise_()
