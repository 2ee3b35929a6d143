"""The page of a chat without messages: the bird, one line, three questions to begin with."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from app.icons import bird
from app.theme import SIZES

LINE = "Private. Offline. On this laptop."
# Small models do these well: short, general, no facts to get wrong.
EXAMPLES = (
    "Write a friendly note to thank a neighbour",
    "Explain in simple words why the sky is blue",
    "Give me five ideas for a rainy Sunday",
)


class Welcome(QWidget):
    """`asked` carries the example the user chose."""

    asked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("welcome")
        drawing = QLabel(self)
        drawing.setPixmap(bird(SIZES.bird))
        drawing.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        drawing.setAccessibleName("A chickadee")
        title = QLabel(LINE, self)
        title.setObjectName("welcomeTitle")
        title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        box = QVBoxLayout()
        box.setSpacing(SIZES.gap)
        self.examples = [self._example(text) for text in EXAMPLES]
        for button in self.examples:
            box.addWidget(button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SIZES.gap_xl, SIZES.gap_xl, SIZES.gap_xl, SIZES.gap_xl)
        layout.addStretch(2)
        layout.addWidget(drawing)
        layout.addSpacing(SIZES.gap_m)
        layout.addWidget(title)
        layout.addSpacing(SIZES.gap_xl)
        holder = QWidget(self)
        holder.setLayout(box)
        holder.setMaximumWidth(SIZES.column * 3 // 5)
        holder.setMinimumWidth(SIZES.sidebar)
        layout.addWidget(holder, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)

    def _example(self, text: str) -> QPushButton:
        button = QPushButton(text, self)
        button.setProperty("kind", "example")
        button.clicked.connect(lambda: self.asked.emit(text))
        return button
