"""A line that says how far an import or export has come, with a button that stops it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QWidget

from app.look.icons import icon
from app.look.theme import SIZES, theme
from app.words import tr


class TaskLine(QWidget):
    """Hidden while there is nothing to say."""

    stopped = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.text = QLabel(self)
        self.text.setObjectName("aside")
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.text.setWordWrap(True)
        self.stop = QToolButton(self)
        self.stop.clicked.connect(self.stopped)
        row = QHBoxLayout(self)
        row.setContentsMargins(SIZES.gap_s, 0, 0, 0)
        row.addWidget(self.text, 1)
        row.addWidget(self.stop)
        self.restyle()
        self.retranslate()
        self.hide()

    def tell(self, sentence: str) -> None:
        """An empty sentence ends it."""
        self.text.setText(sentence)
        self.setVisible(bool(sentence))

    def restyle(self) -> None:
        self.stop.setIcon(icon("close", theme().soft))

    def retranslate(self) -> None:
        self.stop.setAccessibleName(tr("Stop"))
        self.stop.setToolTip(tr("Stop"))
