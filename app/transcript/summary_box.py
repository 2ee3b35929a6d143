"""The summary below a message, which the model reads in place of the messages above; the user can change it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.look.live import Live
from app.look.sheet import Button, discard, fill, label
from app.look.theme import SIZES
from app.transcript.message_editor import MessageEditor
from app.words import mark, tr


class SummaryBox(Live, QFrame):
    """Box with a summary, with buttons that edit and remove it.

    `changed` carries the summary's new text, "" to remove it. `height_changed`: the box needs another height.
    """

    changed = Signal(str)
    height_changed = Signal()

    def __init__(self, text: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self.editor: MessageEditor | None = None
        words = mark("Summed up. From here on, the model reads this in place of the messages above:")
        self.heading = label("aside", self, lambda: tr(words))
        self.text = label("noticeText", self)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.edit_button = Button(self, mark("Edit"), self.edit, kind="quiet")
        self.remove_button = Button(self, mark("Remove"), lambda: self.changed.emit(""), kind="quiet")
        row = fill(QHBoxLayout(), (self.heading, 1), self.edit_button, self.remove_button, gap=SIZES.gap_s)
        margins = (SIZES.gap_m, SIZES.gap_s, SIZES.gap_s, SIZES.gap)
        self._column = fill(QVBoxLayout(self), row, self.text, gap=SIZES.gap_s, margins=margins)
        self.show_text(text)
        self.apply_look()

    def show_text(self, text: str) -> None:
        self.text.say(text)
        self.close_editor()

    def edit(self) -> None:
        """Open the editor in place of the text."""
        if self.editor is None:
            editor = self.editor = MessageEditor(self.text.text(), self, of="summary")
            editor.action_requested.connect(self._editor_action)
            editor.height_changed.connect(self.height_changed)
            self._column.addWidget(editor)
            editor.show()  # before the box is measured
            self._show_parts()
            editor.setFocus()

    def close_editor(self) -> None:
        if self.editor is not None:
            discard(self.editor)
            self.editor = None
            self._show_parts()

    def heightForWidth(self, width: int) -> int:
        self._column.activate()
        if self.editor is not None:
            margins = self._column.contentsMargins()
            inner = width - margins.left() - margins.right()
            self.editor.setFixedHeight(self.editor.height_for(inner))
        return self._column.totalHeightForWidth(width)

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Summary"))

    def _show_parts(self) -> None:
        for part in (self.text, self.edit_button, self.remove_button):
            part.setVisible(self.editor is None)
        self.height_changed.emit()

    def _editor_action(self, what: str, text: str) -> None:
        if what != "note":
            self.close_editor()
        if what == "send":
            self.changed.emit(text)
        if what != "note":
            self.edit_button.setFocus()
