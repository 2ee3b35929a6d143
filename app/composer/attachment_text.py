"""A window with an attached file's text as the model reads it: plain, filled in slices, for it may be a book."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QDialog, QLabel, QPlainTextEdit, QVBoxLayout, QWidget

from app.attachments.attachment import Attachment, runs
from app.look.theme import SIZES, code_font
from app.words import tr, tr_n

SLICE = 20_000  # characters: a few milliseconds


class AttachmentText(QDialog):
    def __init__(self, attachment: Attachment, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("attachmentText")
        self._attachment = attachment
        self._rest, self._at = shown_text(attachment), 0
        self.title = QLabel(self)
        self.title.setObjectName("settingTitle")
        self.title.setWordWrap(True)
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.about = QLabel(self)
        self.about.setObjectName("settingHelp")
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setFont(code_font())
        self.text.setUndoRedoEnabled(False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(SIZES.gap_l, SIZES.gap_l, SIZES.gap_l, SIZES.gap_l)
        for widget in (self.title, self.about, self.text):
            layout.addWidget(widget)
        self.resize(SIZES.dialog, SIZES.dialog_height)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._fill)
        self._timer.start(0)
        self._fill()
        self.retranslate()
        self.text.setFocus()

    def retranslate(self) -> None:
        a = self._attachment
        self.setWindowTitle(a.name)
        self.title.setText(a.name)
        pages = tr_n("{n} page", "{n} pages", len(a.pages)) if a.pages else ""
        parts = tr("{sent} of {total} parts sent", sent=len(a.sent), total=len(a.parts)) if a.sent is not None else ""
        characters = tr_n("{n} character", "{n} characters", len(a.text))
        self.about.setText(" · ".join(filter(None, (characters, pages, parts))))
        self.text.setAccessibleName(tr("Text of {name}", name=a.name))

    def _fill(self) -> None:
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(self._rest[self._at : self._at + SLICE])
        self._at += SLICE
        if self._at >= len(self._rest):
            self._timer.stop()


def shown_text(attachment: Attachment) -> str:
    """The whole text, or the parts that were sent with a line of dots between."""
    if attachment.sent is None:
        return attachment.text
    spans = [(attachment.parts[run[0]][0], attachment.parts[run[-1]][1]) for run in runs(attachment.sent)]
    return "\n\n…\n\n".join(attachment.text[begin:end].strip("\n") for begin, end in spans)


def show_attachment(attachment: Attachment, window: QWidget) -> None:
    """Open the file's text beside the chat."""
    dialog = AttachmentText(attachment, window)
    dialog.finished.connect(dialog.deleteLater)
    dialog.show()
