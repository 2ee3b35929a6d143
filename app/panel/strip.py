"""A bar of coloured parts with a legend below: how something whole is divided. Knows only what it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.look.theme import SIZES, body_font, theme


@dataclass(frozen=True, slots=True)
class Part:
    """`amount` in any unit; `text` says it in words; `colour` is the name of one of the theme's colours."""

    name: str
    amount: float
    text: str
    colour: str


class Strip(QWidget):
    """Parts without an amount are left out of bar and legend."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # so that a screen reader comes by
        self.parts: list[Part] = []

    def show_parts(self, title: str, parts: Sequence[Part]) -> None:
        shown = [part for part in parts if part.amount > 0]
        if shown == self.parts and self.accessibleName() == title:
            return
        lines = len(shown) != len(self.parts)
        self.parts = shown
        self.setAccessibleName(title)
        self.setAccessibleDescription(", ".join(f"{part.name} {part.text}" for part in shown))
        if lines:
            self.fit()
        self.update()

    def fit(self) -> None:
        """The sizes, or the number of lines, have changed."""
        self.setFixedHeight(SIZES.strip + SIZES.gap + len(self.parts) * self._line())

    def _line(self) -> int:
        return round(SIZES.small * SIZES.line_height / 100)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_bar(painter)
        self._paint_legend(painter)
        if self.hasFocus():
            painter.setPen(QColor(theme().accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), SIZES.gap_s, SIZES.gap_s)

    def _paint_bar(self, painter: QPainter) -> None:
        ground = QRectF(0, 0, self.width(), SIZES.strip)
        outline = QPainterPath()
        outline.addRoundedRect(ground, SIZES.gap_s, SIZES.gap_s)
        painter.save()
        painter.setClipPath(outline)
        painter.fillRect(ground, QColor(theme().hover))
        whole, left = sum(part.amount for part in self.parts), 0.0
        for part in self.parts:
            width = self.width() * part.amount / whole
            painter.fillRect(QRectF(left, 0, max(1.0, width), SIZES.strip), QColor(getattr(theme(), part.colour)))
            left += width
        painter.restore()

    def _paint_legend(self, painter: QPainter) -> None:
        font = body_font()
        font.setPixelSize(SIZES.small)
        painter.setFont(font)
        top, line, mark = SIZES.strip + SIZES.gap, self._line(), SIZES.gap
        for number, part in enumerate(self.parts):
            row = QRectF(0, top + number * line, self.width(), line)
            painter.fillRect(QRectF(0, row.center().y() - mark / 2, mark, mark), QColor(getattr(theme(), part.colour)))
            painter.setPen(QColor(theme().ink))
            words = row.adjusted(mark + SIZES.gap, 0, 0, 0)
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, part.name)
            painter.setPen(QColor(theme().soft))
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, part.text)
