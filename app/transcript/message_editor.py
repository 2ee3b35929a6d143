"""An editor in place of a message: it sends a question's new wording, or keeps an answer's; Esc leaves it as it is."""

from __future__ import annotations

from typing import Literal

from PySide6.QtCore import Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.composer.prompt_editor import PromptEditor
from app.look.live import Live
from app.look.sheet import Button, fill
from app.look.theme import SIZES
from app.words import mark, tr

MAX_LINES = 16
Edited = Literal["message", "answer", "summary"]


class MessageEditor(Live, QFrame):
    """The editor of one message: of the user's, whose new wording is sent, of an answer, or of a summary.

    `action_requested` carries the editor's text with `send`, `leave` or, at each keystroke, `note`. `height_changed`:
    the editor needs another height.
    """

    action_requested = Signal(str, object)
    height_changed = Signal()

    def __init__(self, text: str, parent: QWidget, of: Edited = "message") -> None:
        super().__init__(parent)
        self.setObjectName("editor")
        self._of: Edited = of
        self.text = PromptEditor(self, MAX_LINES, can_escape=True, enter_submits=of == "message")
        self.text.setPlainText(text)
        self.cancel = Button(self, mark("Cancel"))
        self.send = Button(self, mark("Send") if of == "message" else mark("Save"))
        row = fill(QHBoxLayout(), None, self.cancel, self.send, gap=SIZES.gap)
        margins = (SIZES.gap_m, SIZES.gap, SIZES.gap, SIZES.gap)
        fill(QVBoxLayout(self), self.text, row, gap=SIZES.gap_s, margins=margins)
        self.text.textChanged.connect(self._typed)
        for sending in (self.text.submitted, self.send.clicked):
            sending.connect(self._submit)
        for leaving in (self.text.escaped, self.cancel.clicked):
            leaving.connect(lambda *_: self.action_requested.emit("leave", self.text.toPlainText()))
        self.setFocusProxy(self.text)
        self.text.moveCursor(QTextCursor.MoveOperation.End)
        self.apply_look()

    def retranslate(self) -> None:
        names = {"message": mark("Edit message"), "answer": mark("Edit answer"), "summary": mark("Edit summary")}
        self.text.setAccessibleName(tr(names[self._of]))
        self.cancel.setToolTip(tr("Discard the edit (Esc)"))
        tips = {
            "message": mark("Send as a new version; the old one is kept (Enter)"),
            "answer": mark("Save as a new version; the old one is kept (Ctrl+Enter)"),
            "summary": mark("Save the summary (Ctrl+Enter)"),
        }
        self.send.setToolTip(tr(tips[self._of]))

    def height_for(self, width: int) -> int:
        """Return the editor's height at a width of `width` pixels."""
        self.resize(width, self.height())
        layout = self.layout()
        assert layout
        layout.activate()
        self.text.setFixedHeight(self.text.wanted_height())
        return self.sizeHint().height()

    def _typed(self) -> None:
        self.send.setEnabled(bool(self.text.toPlainText().strip()))
        self.action_requested.emit("note", self.text.toPlainText())
        if self.text.wanted_height() != self.text.height():
            self.height_changed.emit()

    def _submit(self) -> None:
        if self.text.toPlainText().strip():
            self.action_requested.emit("send", self.text.toPlainText())
