"""One sentence above the composer with one button: a problem, an undo, a question about a link. Never modal."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Literal

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from app.look.icons import icon
from app.look.theme import SIZES, theme
from app.words import Saying, said, tr

UNDO_MS = 10_000


class Notice(QFrame):
    """Shows the latest of its sentences; hidden when there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.text = QLabel(self)
        self.text.setObjectName("noticeText")
        self.text.setWordWrap(True)
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.details = QLabel(self)
        self.details.setObjectName("details")
        self.details.setWordWrap(True)
        self.details.setTextFormat(Qt.TextFormat.PlainText)
        self.fold = QPushButton(self)
        self.fold.setProperty("kind", "quiet")
        self.fold.clicked.connect(lambda: self.details.setVisible(self.details.isHidden()))
        self.button = QPushButton(self)
        self.button.setAutoDefault(True)  # Return presses it, as Space does
        self.button.setProperty("kind", "step")
        self.close_button = QToolButton(self)
        self.close_button.clicked.connect(self.dismiss)
        self._layout()
        self._step: Callable[[], object] | None = None
        self._said: tuple[Saying, Saying, str] = ("", "", "")
        self._detail: Saying = ""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.dismiss)
        self.button.clicked.connect(self._go)
        self.restyle()
        self.retranslate()
        self.hide()

    def tell(
        self,
        sentence: Saying,
        step: Saying = "",
        work: Callable[[], object] | None = None,
        kind: Literal["problem", "note"] = "note",
        detail: Saying = "",
        milliseconds: int = 0,
        strong: str = "",
    ) -> None:
        """Show `sentence` and a button labelled `step` that does `work`; `milliseconds` 0 keeps it until dismissed.

        `strong` is the part of the sentence to look at. What can be said anew follows the language."""
        self.setProperty("kind", kind)
        self.style().unpolish(self)
        self.style().polish(self)
        self.text.setTextFormat(Qt.TextFormat.RichText if strong else Qt.TextFormat.PlainText)
        self._said = (sentence, step, strong)
        self._detail = detail
        self._say()
        self.button.setVisible(bool(step))
        self.details.hide()
        self.fold.setVisible(bool(self.details.text()))
        self._step = work
        self._timer.stop()
        if milliseconds:
            self._timer.start(milliseconds)
        self.show()

    def dismiss(self) -> None:
        self._timer.stop()
        self._step = None
        self.hide()

    def restyle(self) -> None:
        self.close_button.setIcon(icon("close", theme().soft))

    def retranslate(self) -> None:
        self._say()
        self.fold.setText(tr("Details"))
        self.close_button.setAccessibleName(tr("Dismiss"))
        self.close_button.setToolTip(tr("Dismiss"))

    def _say(self) -> None:
        sentence, step, strong = said(self._said[0]), said(self._said[1]), self._said[2]
        self.text.setText(
            escape(sentence).replace(escape(strong), f"<b>{escape(strong)}</b>", 1) if strong else sentence
        )
        self.button.setText(step)
        self.details.setText(said(self._detail)[-2000:])

    def _go(self) -> None:
        step = self._step
        self.dismiss()
        if step is not None:
            step()

    def _layout(self) -> None:
        row = QHBoxLayout()
        row.setSpacing(SIZES.gap)
        row.addWidget(self.text, 1)
        for widget in (self.fold, self.button, self.close_button):
            row.addWidget(widget, 0, Qt.AlignmentFlag.AlignVCenter)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SIZES.gap_m, SIZES.gap, SIZES.gap, SIZES.gap)
        layout.addLayout(row)
        layout.addWidget(self.details)
