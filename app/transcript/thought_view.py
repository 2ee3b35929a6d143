"""What a model thought before it answered, folded under one quiet line that tells how long it took."""

from __future__ import annotations

import time

from PySide6.QtCore import QEvent, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QPushButton, QWidget

from app.look.icons import icon
from app.look.theme import SIZES, theme
from app.markdown.block_stack import BlockStack, delete_slowly
from app.words import tr, tr_n

TICK_MS = 500


def line_of(seconds: float | None, under_way: bool) -> str:
    """The line above a thought that has taken so many seconds, None if nobody measured it."""
    if seconds is None or (under_way and seconds < 1):
        return tr("Thinking…") if under_way else tr("Thought")
    if under_way:
        return tr("Thinking… {time}", time=_time(seconds))
    return tr("Thought for {time}", time=_time(seconds))


def _time(seconds: float) -> str:
    whole = max(1, round(seconds))
    if whole < 60:
        return tr("{seconds} s", seconds=whole)
    return tr_n("{n} min", "{n} min", whole // 60) + (tr(" {seconds} s", seconds=whole % 60) if whole % 60 else "")


class ThoughtView(QWidget):
    """`resized`: the height for the present width has changed. What is folded is not laid out."""

    resized = Signal()
    link = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = ""
        self.open = False
        self._seconds: float | None = None
        self._since: float | None = None
        self.line = QPushButton(self)
        self.line.setProperty("kind", "quiet")
        self.line.setCheckable(True)
        self.line.setLayoutDirection(Qt.LayoutDirection.RightToLeft)  # the arrow behind the words
        self.line.toggled.connect(self._toggled)
        self.line.installEventFilter(self)
        self._frame = QFrame(self)
        self._frame.setObjectName("thoughtBody")
        self._frame.hide()
        self._body: BlockStack | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(TICK_MS)
        self._timer.timeout.connect(self._say)
        self.restyle()

    @property
    def body(self) -> BlockStack | None:
        """The thought itself while it is unfolded."""
        return self._body

    @property
    def filled(self) -> bool:
        """Is all that is to be seen laid out?"""
        return self._body is None or self._body.filled

    def set_text(self, text: str, ahead: bool = False) -> None:
        self.text = text
        if self._body is not None:
            self._body.set_text(text, ahead)

    def start(self, text: str, seconds: float | None = None) -> None:
        """The model is thinking, and has been for so many seconds."""
        self.text = text
        self._seconds, self._since = None, time.monotonic() - (seconds or 0.0)
        self._timer.start()
        self._say()
        if self._body is not None:
            self._body.start(text)

    def grow(self, piece: str) -> None:
        self.text += piece
        if self._body is not None:
            self._body.grow(piece)

    def finish(self) -> None:
        """The thought has ended."""
        if self._since is not None:
            self._seconds, self._since = time.monotonic() - self._since, None
        self._timer.stop()
        if self._body is not None:
            self._body.finish()
        self._say()

    def set_seconds(self, seconds: float | None) -> None:
        """What was measured where the text came in."""
        if self._since is None:
            self._seconds = seconds
            self._say()

    def restyle(self) -> None:
        if self._body is not None:
            self._body.restyle()
        self._say()

    def retranslate(self) -> None:
        self._say()

    def heightForWidth(self, width: int) -> int:
        height = SIZES.row
        if self._body is not None:
            height += self._body.heightForWidth(width - SIZES.gap_l) + SIZES.gap
        return height

    def resizeEvent(self, _event: object) -> None:
        self._place()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        """Enter does what Space does."""
        pressed = event.key() if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress else None
        if pressed in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.line.toggle()
            return True
        return False

    def _toggled(self, unfolded: bool) -> None:
        self.open = unfolded
        if unfolded:
            self._unfold()
        elif self._body is not None:
            delete_slowly(self._body, [self._body])
            self._body = None
        self._frame.setVisible(unfolded)
        self._say()
        self._place()
        self.resized.emit()

    def _unfold(self) -> None:
        body = self._body = BlockStack(self._frame, soft=True)
        body.resized.connect(self._body_resized)
        body.link.connect(self.link)
        if self._since is None:
            body.set_text(self.text)
        else:
            body.start(self.text)
        body.show()

    def _body_resized(self) -> None:
        self._place()
        self.resized.emit()

    def _place(self) -> None:
        size = self.line.sizeHint()
        self.line.setGeometry(0, (SIZES.row - size.height()) // 2, size.width(), size.height())
        if self._body is not None:
            inner = self.width() - SIZES.gap_l
            height = self._body.heightForWidth(inner)
            self._frame.setGeometry(0, SIZES.row, self.width(), height)
            self._body.setGeometry(SIZES.gap_l, 0, inner, height)

    def _say(self) -> None:
        under_way = self._since is not None
        seconds = time.monotonic() - self._since if self._since is not None else self._seconds
        text = line_of(seconds, under_way)
        self.line.setText(text)
        self.line.setAccessibleName(text)
        self.line.setToolTip(tr("Hide reasoning") if self.open else tr("Show reasoning"))
        self.line.setAccessibleDescription(self.line.toolTip())
        self.line.setIcon(icon("chevron" if self.open else "chevron-right", theme().soft))
        size = self.line.sizeHint()
        self.line.resize(size.width(), size.height())
