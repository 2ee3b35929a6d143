"""A slim bar and two numbers: how much of the context is used."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QPushButton, QWidget

from app.look.theme import SIZES, theme
from app.words import tr


class Gauge(QPushButton):
    """`show_use` in tokens. A click asks for more."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("gauge")
        self._used, self._total = 0, 0

    def show_use(self, used: int, total: int) -> None:
        self._used, self._total = used, total
        self.setText(f"{used:,} / {total:,}")
        self.setAccessibleDescription(tr("{used:,} of {n_ctx:,} tokens of context used", used=used, n_ctx=total))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(hint.width() + SIZES.gauge + SIZES.gap, hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._total:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        bar = QRectF(SIZES.gap, (self.height() - SIZES.bar) / 2, SIZES.gauge, SIZES.bar)
        painter.setBrush(QColor(theme().line))
        painter.drawRoundedRect(bar, SIZES.bar / 2, SIZES.bar / 2)
        bar.setWidth(SIZES.gauge * min(1.0, self._used / self._total))
        painter.setBrush(QColor(theme().accent))
        painter.drawRoundedRect(bar, SIZES.bar / 2, SIZES.bar / 2)
