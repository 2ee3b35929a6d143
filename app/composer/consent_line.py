"""The question above the composer that a chat asks once for each server: may this server read the chat?"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.look.sheet import Button, fill, label
from app.look.speech import announce
from app.look.theme import SIZES
from app.words import mark, tr


class ConsentLine(QFrame):
    """Question with two answers; hidden while nothing is asked. Signals: `agreed` and `refused`."""

    agreed = Signal()
    refused = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._asked = ("", "", False)
        self.text = label("noticeText", self)
        self.refuse_button = Button(self, mark("Do not send"), self.refused.emit, "quiet")
        self.agree_button = Button(self, mark("Send"), self.agreed.emit)
        buttons = [(each, Qt.AlignmentFlag.AlignVCenter) for each in (self.refuse_button, self.agree_button)]
        margins = (SIZES.gap_m, SIZES.gap, SIZES.gap, SIZES.gap)
        fill(QHBoxLayout(self), (self.text, 1), *buttons, gap=SIZES.gap, margins=margins)
        self.hide()

    def ask(self, host: str, project: str = "", facts: bool = False) -> None:
        """Ask whether the server `host` may read the open chat; "" hides the question.

        The chat begins with what the `project` of this name has, and with `facts` about the user.
        """
        if (host, project, facts) == self._asked:
            return
        self._asked = host, project, facts
        question = mark(
            "Send this chat to {host}? The server will then read the chat's messages, files and instructions."
        )
        also = mark("It will also read the instructions and files of the project “{project}”.")
        known = mark("It will also read what you let models remember about you.")

        def words() -> str:
            more = [tr(also, project=project)] if project else []
            return " ".join([tr(question, host=host), *more, *([tr(known)] if facts else [])])

        self.text.say(words)
        self.setVisible(bool(host))
        if host:
            announce(self, self.text.text())  # the focus stays where it is: no other key consents
