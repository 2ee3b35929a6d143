"""The question above the composer before a tool acts: which tool, of which source, with which arguments."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from PySide6.QtCore import QTimer, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QVBoxLayout, QWidget

from app.look.flow import Flow
from app.look.sheet import Button, fill, label
from app.look.speech import announce
from app.look.theme import SIZES
from app.tools.rounds import Question
from app.words import mark, tr

LINES = 5  # of arguments that are seen without scrolling


def shown_arguments(arguments: Mapping[str, Any]) -> str:
    """Return arguments for people: what has no sign of its own, or turns the direction of the text, as its number."""
    text = json.dumps(dict(arguments), ensure_ascii=False, indent=1) if arguments else "{}"
    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text)


class ToolQuestion(QFrame):
    """Question with four answers; hidden while nothing is asked. `replied` carries the question and the answer.

    No key press that was meant for something else answers it: the focus stays where it is, and after an answer it
    leaves the buttons. They work only once a double click on an earlier question's buttons must have ended.
    """

    replied = Signal(object, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._question: Question | None = None
        self.text = label("noticeText", self)
        self.arguments = QPlainTextEdit(self)
        self.arguments.setObjectName("toolArguments")
        self.arguments.setReadOnly(True)
        self.arguments.setTabChangesFocus(True)
        self.buttons = {
            reply: Button(self, words, partial(self._reply, reply), kind)
            for reply, words, kind in (
                ("never", mark("Never in this chat"), "quiet"),
                ("no", mark("Not now"), "quiet"),
                ("always", mark("Always in this chat"), "step"),
                ("once", mark("Allow once"), "step"),
            )
        }
        row = Flow(self, right=True)
        row.set_widgets(self.buttons.values())
        margins = (SIZES.gap_m, SIZES.gap, SIZES.gap, SIZES.gap)
        fill(QVBoxLayout(self), self.text, self.arguments, row, gap=SIZES.gap, margins=margins)
        self._guard = QTimer(self, singleShot=True)
        self._guard.timeout.connect(self._allow)
        self.hide()

    def ask(self, question: Question | None) -> None:
        """Ask a question; None hides it."""
        if question is self._question:
            return
        self._question = question
        self.setVisible(question is not None)
        if question is None:
            return
        info = question.info
        source = info.source_title
        title = info.title if source else tr(info.title)
        words = mark("The model wants to use the tool “{tool}”.")
        if source:
            words = mark("The model wants to use the tool “{tool}” of {source}.")
        if question.host:
            words = mark("The model wants to use the tool “{tool}”, which connects to {host}.")
        self.text.say(lambda: tr(words, tool=title, source=source, host=question.host))
        shown = shown_arguments(question.arguments)
        self.arguments.setPlainText(shown)
        self.arguments.setAccessibleName(tr("Arguments"))
        self._fit()
        for button in self.buttons.values():
            button.setEnabled(False)
        self._guard.start(QGuiApplication.styleHints().mouseDoubleClickInterval())
        announce(self, f"{self.text.text()} {shown}")

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._fit()

    def _fit(self) -> None:
        """Show as many lines of the arguments as they have, wrapped: a long address must not hide its end."""
        lines = min(LINES, max(1, int(self.arguments.document().size().height())))
        self.arguments.setFixedHeight(lines * self.arguments.fontMetrics().lineSpacing() + 2 * SIZES.gap)

    def _allow(self) -> None:
        for button in self.buttons.values():
            button.setEnabled(True)

    def _reply(self, reply: str) -> None:
        if self._question is not None:
            self.replied.emit(self._question, reply)
