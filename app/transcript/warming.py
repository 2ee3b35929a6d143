"""Makes a message of each kind that nobody sees, in the first quiet moments: what the first of a kind takes longer than
any other, fonts, letters, icons and the rules of the style sheet, is found then and not in the turn that shows a chat.
"""

from __future__ import annotations

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QWidget
from shiboken6 import delete

from app.chats.chat import ChatMessage, Speaker
from app.chats.message_actions import Place
from app.look.theme import SIZES
from app.slices import slices
from app.transcript.message_view import MessageView
from app.transcript.transcript import Transcript

CODE = "```\ndef f(x: int) -> int:\n    return x + 1  # one\n```\n"
QUIET_MS = 300  # after the start
TEXTS: tuple[tuple[Speaker, str], ...] = (
    ("user", "A question?"),
    (
        "assistant",
        "## A heading\n\nWords, **bold** and *slanted*, `code`, [a link](https://example.org).\n\n- a\n- list\n",
    ),
    ("assistant", CODE),
    ("assistant", "| a | table |\n|---|---|\n| 1 | 2 |\n"),
)


class Warming:
    """Begins QUIET_MS after it is made, a message a turn of the event loop, and leaves nothing behind. A chat in view
    finds all of that itself."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._left = list(TEXTS)
        QTimer.singleShot(QUIET_MS, transcript, lambda: self._begin())

    def _begin(self) -> None:
        if self._due():
            self._page()
            slices().add(self._transcript, self._step)

    def _step(self) -> bool:
        """The next message; are there more?"""
        if self._due():
            self._message(*self._left.pop(0))
            return bool(self._left)
        return False

    def _due(self) -> bool:
        """Is the window there, and shows another page?"""
        return self._transcript.window().isVisible() and not self._transcript.isVisible()

    def _page(self) -> None:
        """The page itself has its size and its style before it is switched to."""
        beside = self._transcript.parentWidget()
        if beside is not None:
            self._transcript.resize(beside.size())
        _polish(self._transcript)

    def _message(self, role: Speaker, text: str) -> None:
        message = ChatMessage("", None, role, text, stop_reason="end")
        view = MessageView(message, self._transcript.column)
        view.set_place(Place(last=True))
        width = min(SIZES.column, self._transcript.width())
        view.resize(width, max(1, view.heightForWidth(width)))
        view.place_parts()
        _polish(view)
        image = QImage(view.size(), QImage.Format.Format_RGB32)
        view.render(image, QPoint())
        delete(view)  # at once: nothing else that looks through the transcript comes upon it


def _polish(widget: QWidget) -> None:
    for part in (widget, *widget.findChildren(QWidget)):
        part.ensurePolished()
