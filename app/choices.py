"""What the user may do when a chat has outgrown the context: one button per remedy, as many in a row as fit."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.theme import SIZES
from engine.protocol import Remedy


class Choices(QWidget):
    """`chosen` carries the Remedy. Hidden while there is nothing to choose."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[QPushButton] = []
        self.hide()

    def offer(self, remedies: Iterable[Remedy]) -> None:
        for button in self.buttons:
            button.hide()
            button.deleteLater()
        self.buttons = [self._button(remedy) for remedy in remedies]
        self.setVisible(bool(self.buttons))
        self._place(self.width())

    def heightForWidth(self, width: int) -> int:
        return self._place(width)

    def resizeEvent(self, _event: object) -> None:
        self._place(self.width())

    def _button(self, remedy: Remedy) -> QPushButton:
        button = QPushButton(words_of(remedy), self)
        button.setProperty("kind", "step")
        button.clicked.connect(lambda: self.chosen.emit(remedy))
        button.show()
        return button

    def _place(self, width: int) -> int:
        """Put the buttons in rows of `width` pixels; the rows' height."""
        left = top = bottom = 0
        for button in self.buttons:
            size = button.sizeHint()
            if left and left + size.width() > width:
                left, top = 0, bottom + SIZES.gap
            button.setGeometry(left, top, min(size.width(), width), size.height())
            left += size.width() + SIZES.gap
            bottom = top + size.height()
        return bottom


def words_of(remedy: Remedy) -> str:
    if remedy.kind == "forget_turns":
        return f"Forget the oldest {remedy.turns} turns" if remedy.turns > 1 else "Forget the oldest turn"
    if remedy.kind == "larger_context":
        return f"Use a context of {remedy.n_ctx:,} tokens"
    return f"Use a context of {remedy.n_ctx:,} tokens, stored in less memory"


def forgotten_line(turns: int) -> str:
    which = f"The oldest {turns} turns are" if turns > 1 else "The oldest turn is"
    return f"{which} left out from your next message on."
