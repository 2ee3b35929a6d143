"""The message that waits in the composer until the answer under way has ended, with what can be done with it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.look.sheet import Button, fill, label
from app.look.theme import SIZES
from app.state.draft import Unsent
from app.words import mark, tr

WAITS = mark("Will be sent when the answer has ended")
WAITS_FOR_USER = mark("Not sent yet. Press Enter to send it.")
MAX_LINES, MAX_CHARACTERS = 3, 240  # shown of the message


class QueuedMessage(QFrame):
    """The waiting message, dimmed; hidden while there is none. Signals: `edited` and `removed` ask for that."""

    edited = Signal()
    removed = Signal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("queued")
        self.text, self.state = label("queuedText", self), label("progressText", self)
        self.edit = Button(self, mark("Edit"), self.edited.emit, "quiet")
        self.remove = Button(self, mark("Remove"), self.removed.emit, "quiet")
        words = fill(QVBoxLayout(), self.text, self.state, gap=0)
        buttons = [(each, Qt.AlignmentFlag.AlignVCenter) for each in (self.edit, self.remove)]
        margins = (SIZES.gap, SIZES.gap_s, SIZES.gap_s, SIZES.gap_s)
        fill(QHBoxLayout(self), (words, 1), *buttons, margins=margins)
        self.hide()

    def show_message(self, message: Unsent, answering: bool) -> None:
        """Show the message, unless it is empty; `answering` is whether an answer is being written."""
        lines = [*message.text.split("\n"), *(item.name for item in message.items)]
        shown = "\n".join([line for line in lines if line.strip()][:MAX_LINES])
        self.text.setText(f"{shown[:MAX_CHARACTERS]}…" if len(shown) > MAX_CHARACTERS else shown)
        self.state.say(lambda: tr(WAITS if answering else WAITS_FOR_USER))
        for button in (self.edit, self.remove):
            button.setAccessibleDescription(self.text.text())
        self.setVisible(not message.empty)
