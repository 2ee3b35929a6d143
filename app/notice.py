"""Sentences above the composer, each with one button: a problem, an undo, a question about a link. Never modal."""

from __future__ import annotations

import logging
from collections.abc import Callable
from html import escape
from itertools import pairwise
from typing import Literal

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from app.look.live import Live
from app.look.theme import SIZES, icon, theme
from app.words import Saying, said, tr
from common.failures import Failure

log = logging.getLogger(__name__)
UNDO_MS = 10_000
MOST = 3  # are shown at once; those told before come up again when these are over


class Notice(QWidget):
    """Whoever tells something may take it away again, and only that. What can be undone stays until its time is over,
    whatever else is told; of the other sentences the latest is shown. Hidden when there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(SIZES.gap)
        self.told: list[Told] = []  # what is not over yet, from the first to the latest
        self._latest = self._add()
        self.hide()

    @property
    def text(self) -> QLabel:
        """Of the latest sentence, as are the other parts."""
        return self._latest.text

    @property
    def details(self) -> QLabel:
        return self._latest.details

    @property
    def fold(self) -> QPushButton:
        return self._latest.fold

    @property
    def button(self) -> QPushButton:
        return self._latest.button

    @property
    def close_button(self) -> QToolButton:
        return self._latest.close_button

    def tell(  # noqa: PLR0913
        self,
        sentence: Saying,
        step: Saying = "",
        work: Callable[[], object] | None = None,
        kind: Literal["problem", "note"] = "note",
        detail: Saying = "",
        milliseconds: int = 0,
        strong: str = "",
    ) -> Told:
        """Show `sentence` and a button labelled `step` that does `work`; `milliseconds` 0 keeps it until dismissed.

        `strong` is the part of the sentence to look at. What can be said anew follows the language. Gives back what
        `dismiss` takes."""
        undo = work is not None and milliseconds > 0
        if not undo:
            for each in [each for each in self.told if not each.undo]:
                self._remove(each)
        told = self._add(self._latest)
        told.undo = undo
        told.tell(sentence, step, work, kind, detail, milliseconds, strong)
        self.told.append(told)
        self._arrange()
        return told

    def tell_failure(self, failure: Failure) -> Told:
        """Why something could not be done."""
        log.warning("%s (%s)", failure, failure.detail)
        return self.tell(failure.sentence, kind="problem", detail=failure.detail)

    def dismiss(self, told: Told | None = None) -> None:
        """Take this one away, if it is still there; None: the latest, for it is what the user means."""
        if told is None and self.told:
            told = self.told[-1]
        if told in self.told:
            self._remove(told)
            self._arrange()

    def _add(self, after: Told | None = None) -> Told:
        told = Told(self)
        told.over.connect(lambda: self.dismiss(told))
        self._rows.addWidget(told)
        if after is not None:  # for Tab too, whenever it was made: between the messages and the composer
            for before, part in pairwise((after.close_button, told.fold, told.button, told.close_button)):
                QWidget.setTabOrder(before, part)
        return told

    def _remove(self, told: Told) -> None:
        self.told.remove(told)
        told.end()
        if told is not self._latest:
            told.deleteLater()

    def _arrange(self) -> None:
        if self.told and self._latest is not self.told[-1]:
            if self._latest not in self.told:
                self._latest.deleteLater()
            self._latest = self.told[-1]
        for number, each in enumerate(reversed(self.told)):
            each.setVisible(number < MOST)
        self.setVisible(bool(self.told))


class Told(Live, QFrame):
    """One sentence. `over`: it was dismissed, its button was pressed, or its time is over; `undo`: there is a way back
    for a time."""

    over = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.undo = False
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
        self.close_button.clicked.connect(self.over)
        self._layout()
        self._step: Callable[[], object] | None = None
        self._said: tuple[Saying, Saying, str] = ("", "", "")
        self._detail: Saying = ""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.over)
        self.button.clicked.connect(self._go)
        self.apply_look()
        self.hide()

    def tell(  # noqa: PLR0913
        self,
        sentence: Saying,
        step: Saying,
        work: Callable[[], object] | None,
        kind: Literal["problem", "note"],
        detail: Saying,
        milliseconds: int,
        strong: str,
    ) -> None:
        """As `Notice.tell`."""
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
        if milliseconds:
            self._timer.start(milliseconds)

    def end(self) -> None:
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
        self.over.emit()
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
