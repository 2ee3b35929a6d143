"""Notices above the composer: sentences with one button, for a problem, an undo, a question about a link."""

from __future__ import annotations

import logging
from collections.abc import Callable
from html import escape
from itertools import pairwise
from typing import Literal

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from app.look.live import Live
from app.look.sheet import Button, fill, label
from app.look.speech import announce
from app.look.theme import SIZES, icon, theme
from app.words import UiText, current_text, mark, tr
from common.failures import Failure

log = logging.getLogger(__name__)
UNDO_MS = NOTE_MS = 10_000
UNSAVED = "unsaved"  # topic of problems with the user's texts that could not be stored
NO_MODEL = "no model"  # topic of problems that are solved when a model is loaded
# Rows shown at once: the latest one, then one of each kind, then the others. The rest comes up when newer ones have
# ended.
MOST = 4
Kind = Literal["problem", "undo", "question", "note"]
ORDER: tuple[Kind, ...] = ("problem", "undo", "question", "note")


class NoticeArea(QWidget):
    """The area above the composer that shows notices; hidden when there are none.

    A caller that posted a notice can dismiss exactly that one. A problem stays until it is solved or closed, a question
    until it is answered or closed, and an undo until its time is over, whatever is posted later. Of the notes only the
    latest one is kept. A problem or question replaces an earlier one with the same sentence or of the same topic. A
    notice that belongs to a chat is shown only while that chat is open. A note that says only what was done, or could
    not be done, goes after NOTE_MS; any other notice goes by `check` when its cause has gone.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._column = fill(QVBoxLayout(self), gap=SIZES.gap)
        self.rows: list[NoticeRow] = []  # those that have not ended yet, the oldest first
        self.chat = ""  # id of the open chat
        self._latest = self._add()
        self.hide()

    @property
    def text(self) -> QLabel:
        """Label of the latest notice's sentence; the properties below return the other parts of the same notice."""
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

    def post(  # noqa: PLR0913
        self,
        sentence: UiText,
        step: UiText = "",
        work: Callable[[], object] | None = None,
        kind: Literal["problem", "note"] = "note",
        detail: UiText = "",
        milliseconds: int = 0,
        strong: str = "",
        topic: str = "",
        chat: str = "",
        holds: Callable[[], bool] | None = None,
    ) -> NoticeRow:
        """Show `sentence` and a button labelled `step` that calls `work`; return the row, which `dismiss` takes.

        `work` returns False if it cannot be done now: the notice then stays until it was done or is dismissed.
        `milliseconds` is how long the notice stays; 0 keeps it until it is dismissed. A notice that has `work` is an
        undo if it has a time, else a question, unless it is a problem. `strong` is the part of the sentence to
        emphasise. A text that is a Sentence or a function is worded again when the language changes. `topic` names what
        a problem or question is about; `solve` removes those of a topic. `chat` is the id of the chat that it is
        about: the notice is hidden while another one is open. `holds` returns whether the notice's cause still exists.
        """
        row = self._add(self._latest)
        asks: Kind = "undo" if milliseconds else "question"
        row.kind, row.topic = asks if work is not None and kind == "note" else kind, topic
        row.chat, row.holds = chat, holds
        if row.kind == "note" and not (milliseconds or topic or holds):
            milliseconds = NOTE_MS
        row.fill(sentence, step, work, kind, detail, milliseconds, strong)
        for each in [each for each in self.rows if each.replaced_by(row)]:
            self._remove(each)
        self.rows.append(row)
        self._arrange()
        announce(row, current_text(sentence), urgent=row.kind == "problem")
        return row

    def post_undo(self, sentence: UiText, undo: Callable[[], object]) -> NoticeRow:
        """Say what was done, with a button that takes it back for a while."""
        return self.post(sentence, lambda: tr("Undo"), undo, milliseconds=UNDO_MS)

    def post_failure(self, failure: Failure, topic: str = "") -> NoticeRow:
        """Log the failure and post its sentence as a problem of this topic."""
        log.warning("%s", failure.log_text)
        return self.post(failure.sentence, kind="problem", detail=failure.detail, topic=topic)

    def show_chat(self, chat_id: str) -> None:
        """Show the notices of this chat, and those that belong to none."""
        self.chat = chat_id
        self._arrange()

    def check(self, *_: object) -> None:
        """Remove the notices whose cause has gone; connected to all events that may remove one."""
        self._remove_all([each for each in self.rows if each.holds is not None and not each.holds()])

    def solve(self, topic: str) -> None:
        """Remove the problems and questions of this topic, because they are solved."""
        self._remove_all([each for each in self.rows if each.topic == topic])

    def dismiss_undos(self) -> None:
        """Remove the notices with an undo, because there is nothing left to bring back."""
        self._remove_all([each for each in self.rows if each.kind == "undo"])

    def dismiss(self, row: NoticeRow | None = None) -> None:
        """Remove `row` if it is still shown; None removes the latest one, which is the one that the user means."""
        if row is None and self.rows:
            row = self.rows[-1]
        if row in self.rows:
            self._remove_all([row])

    def _remove_all(self, rows: list[NoticeRow]) -> None:
        for row in rows:
            self._remove(row)
        if rows:
            self._arrange()

    def _add(self, after: NoticeRow | None = None) -> NoticeRow:
        row = NoticeRow(self)
        row.ended.connect(lambda: self.dismiss(row))
        self._column.addWidget(row)
        if after is not None:  # a late row comes after the others for Tab too: between the messages and the composer
            for before, part in pairwise((after.close_button, row.fold, row.button, row.close_button)):
                QWidget.setTabOrder(before, part)
        return row

    def _remove(self, row: NoticeRow) -> None:
        self.rows.remove(row)
        row.end()
        if row is not self._latest:
            row.deleteLater()

    def _arrange(self) -> None:
        if self.rows and self._latest is not self.rows[-1]:
            if self._latest not in self.rows:
                self._latest.deleteLater()
            self._latest = self.rows[-1]
        rows = [each for each in self.rows if each.chat in ("", self.chat)]
        kinds = [[each for each in rows[-2::-1] if each.kind == kind] for kind in ORDER]
        latest = [row for of_kind in kinds for row in of_kind[:1]]
        shown = [*rows[-1:], *latest, *(row for of_kind in kinds for row in of_kind[1:])][:MOST]
        for each in self.rows:
            each.setVisible(each in shown)
        self.setVisible(bool(rows))


class NoticeRow(Live, QFrame):
    """One notice: its sentence, an optional button, details that unfold, and a button that closes it.

    `ended` is emitted when the notice was closed, its button was pressed, or its time is over. `kind`: a problem says
    what is wrong, an undo takes something back for a limited time, a question waits for the user. `topic` is what it
    is about.
    """

    ended = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.kind: Kind = "note"
        self.topic = self.chat = ""
        self.holds: Callable[[], bool] | None = None
        self.text, self.details = label("noticeText", self), label("details", self)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.fold = Button(
            self, mark("Details"), lambda: self.details.setVisible(self.details.isHidden()), kind="quiet"
        )
        self.button = Button(self, "", self._do_work)
        self.close_button = QToolButton(self)
        self.close_button.clicked.connect(self.ended)
        self._layout()
        self._work: Callable[[], object] | None = None
        self._step: UiText = ""
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.ended)
        self.apply_look()
        self.hide()

    def fill(  # noqa: PLR0913
        self,
        sentence: UiText,
        step: UiText,
        work: Callable[[], object] | None,
        kind: Literal["problem", "note"],
        detail: UiText,
        milliseconds: int,
        strong: str,
    ) -> None:
        """Show the texts and start the timer; the parameters are those of `NoticeArea.post`."""
        self.setProperty("kind", kind)
        self.style().unpolish(self)
        self.style().polish(self)
        self.text.setTextFormat(Qt.TextFormat.RichText if strong else Qt.TextFormat.PlainText)

        def text() -> str:
            plain, emphasised = current_text(sentence), escape(strong)
            return escape(plain).replace(emphasised, f"<b>{emphasised}</b>", 1) if strong else plain

        self.text.say(text)
        self._step = step
        self.button.setText(current_text(step))
        self.button.setVisible(bool(step))
        self.details.say(lambda: current_text(detail)[-2000:])
        self.details.hide()
        self.fold.setVisible(bool(self.details.text()))
        self._work = work
        if milliseconds:
            self._timer.start(milliseconds)

    def replaced_by(self, row: NoticeRow) -> bool:
        """Return whether the later notice `row` takes the place of this one."""
        if self.kind in ("undo", "note"):
            return self.kind == "note" and row.kind != "undo"
        same = row.text.text() == self.text.text() or bool(row.topic and row.topic == self.topic)
        return row.kind == self.kind and same

    def end(self) -> None:
        self._timer.stop()
        self._work = None
        self.hide()

    def restyle(self) -> None:
        self.close_button.setIcon(icon("close", theme().soft))

    def retranslate(self) -> None:
        self.button.setText(current_text(self._step))
        self.close_button.setAccessibleName(tr("Dismiss"))
        self.close_button.setToolTip(tr("Dismiss"))

    def _do_work(self) -> None:
        if self._work is not None and self._work() is False:
            self._timer.stop()
        else:
            self.ended.emit()

    def _layout(self) -> None:
        buttons = [(each, Qt.AlignmentFlag.AlignVCenter) for each in (self.fold, self.button, self.close_button)]
        row = fill(QHBoxLayout(), (self.text, 1), *buttons, gap=SIZES.gap)
        fill(QVBoxLayout(self), row, self.details, margins=(SIZES.gap_m, SIZES.gap, SIZES.gap, SIZES.gap))
