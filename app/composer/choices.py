"""What the user may do when a chat has outgrown the context: one button per remedy, as many in a row as fit."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.look.theme import SIZES
from app.words import tr, tr_n
from engine.protocol import Remedy

KINDS = ("forget_turns", "larger_context", "smaller_kv")  # a newer engine may know more


class Choices(QWidget):
    """`chosen` carries the Remedy. Hidden while there is nothing to choose."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.buttons: list[QPushButton] = []
        self._remedies: tuple[Remedy, ...] = ()
        self.hide()

    def offer(self, remedies: Iterable[Remedy]) -> None:
        for button in self.buttons:
            button.hide()
            button.deleteLater()
        self._remedies = tuple(remedy for remedy in remedies if remedy.kind in KINDS)
        self.buttons = [self._button(remedy) for remedy in self._remedies]
        self.setVisible(bool(self.buttons))
        self._place(self.width())

    def retranslate(self) -> None:
        for button, remedy in zip(self.buttons, self._remedies, strict=True):
            button.setText(words_of(remedy))
        self._place(self.width())

    def heightForWidth(self, width: int) -> int:
        return self._place(width)

    def resizeEvent(self, _event: object) -> None:
        self._place(self.width())

    def _button(self, remedy: Remedy) -> QPushButton:
        button = QPushButton(words_of(remedy), self)
        button.setAutoDefault(True)  # Return presses it, as Space does
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
        return tr_n("Leave out the oldest turn", "Leave out the oldest {n} turns", remedy.turns)
    if remedy.kind == "larger_context":
        return tr("Use a context of {n_ctx:,} tokens", n_ctx=remedy.n_ctx)
    return tr("Use a context of {n_ctx:,} tokens, stored in less memory", n_ctx=remedy.n_ctx)


def forgotten_line(turns: int) -> str:
    return tr_n(
        "The oldest turn is left out starting with your next message.",
        "The oldest {n} turns are left out starting with your next message.",
        turns,
    )
