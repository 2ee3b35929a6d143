"""The line in the composer while the user dictates: level meter, time, and the buttons that end the dictation."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QWidget

from app.look.live import Live
from app.look.sheet import Button, fill, label
from app.look.speech import announce
from app.look.theme import SIZES, theme
from app.state.dictation import Dictation
from app.words import mark, tr

OPENING, LISTENING, WRITING = mark("Opening the microphone…"), mark("Listening"), mark("Writing down what you said…")


class LevelMeter(QWidget):
    """Bar that is as full as the microphone is loud."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._level = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)

    def show_level(self, level: float) -> None:
        """Show a level from 0 to 1."""
        self._level = level
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(2 * SIZES.gauge, 2 * SIZES.bar)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        bar = QRectF(0, (self.height() - 2 * SIZES.bar) / 2, self.width(), 2 * SIZES.bar)
        for width, colour in ((bar.width(), theme().line), (bar.width() * self._level, theme().accent)):
            painter.setBrush(QColor(colour))
            painter.drawRoundedRect(QRectF(bar.left(), bar.top(), width, bar.height()), SIZES.bar, SIZES.bar)


class DictationLine(Live, QWidget):
    """Line about a dictation; hidden while there is none. Signals: `finished` and `cancelled` ask for that."""

    finished = Signal()
    cancelled = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._dictation: Dictation | None = None
        self._words = ""
        self.meter = LevelMeter(self)
        self.text, self.time = label("progressText", self), label("progressText", self)
        self.cancel = Button(self, mark("Discard"), self.cancelled.emit, "quiet")
        self.finish = Button(self, mark("Insert text"), self.finished.emit)
        middle = Qt.AlignmentFlag.AlignVCenter
        shown, buttons = ((self.meter, middle), (self.time, middle)), ((self.cancel, middle), (self.finish, middle))
        fill(QHBoxLayout(self), *shown, (self.text, 1), *buttons, gap=SIZES.gap, margins=(SIZES.gap_s, 0, 0, 0))
        self.apply_look()
        self.hide()

    def show_dictation(self, dictation: Dictation) -> None:
        """Show what the dictation does now, and have a screen reader say what is new about that."""
        self._dictation = dictation
        self.setVisible(dictation.busy)
        self.meter.setVisible(dictation.phase == "recording")
        self.finish.setVisible(dictation.phase == "recording")
        self.meter.show_level(dictation.level)
        words = self._words_of(dictation)
        if words != self._words:
            self._words = words
            announce(self, tr(words) if words else "")
        self.retranslate()

    def leave(self) -> bool:
        """End the dictation, because the user has pressed Esc: with its text, or without if that is awaited already.

        Return whether there was one.
        """
        phase = self._dictation.phase if self._dictation else "off"
        if phase == "recording":
            self.finished.emit()
        elif phase == "recognising":
            self.cancelled.emit()
        return phase in ("recording", "recognising")

    def retranslate(self) -> None:
        self.text.setText(tr(self._words) if self._words else "")
        seconds = int(self._dictation.seconds) if self._dictation and self._dictation.phase == "recording" else 0
        self.time.setText(f"{seconds // 60}:{seconds % 60:02}" if self._words == LISTENING else "")

    def _words_of(self, dictation: Dictation) -> str:
        if dictation.phase == "recording":
            return LISTENING if dictation.listens else OPENING
        return WRITING if dictation.phase == "recognising" else ""
