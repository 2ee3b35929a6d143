"""A window with the file that an answer is from, at the passage that the model has read."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.attachments.attachment import Attachment
from app.look.sheet import Button, PathLabel, Sheet, label
from app.look.theme import code_font, theme
from app.markdown.selection import coloured
from app.state.answer_facts import place_words
from app.words import mark, tr

AROUND = 30_000  # characters before and after the passage that are shown; a book at once would take too long
LEAD = 200  # characters before the passage that stay in view


class SourceDialog(Sheet):
    """Window of one passage, or of a whole file without `index`; `open_requested` asks to open the file itself."""

    open_requested = Signal()

    def __init__(self, source: Attachment, index: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._source, self._index = source, index
        self._passage = source.part(index) if source.places else source.text
        self._marked = (0, len(self._passage)) if source.places else (0, 0)
        self.title, self.place = label("settingTitle", self), label("settingHelp", self)
        self.note = label("settingHelp", self, lambda: tr("Reading the file…"))  # why there is only the passage
        self.path = PathLabel(source.path, "settingHelp", self)
        self.text = QPlainTextEdit(self)
        self.text.setReadOnly(True)
        self.text.setUndoRedoEnabled(False)
        self.open_button = Button(self, mark("Open the file"), self.open_requested.emit)
        self.close_button = Button(self, mark("Close"), self.reject)
        buttons = (self.open_button, None, self.close_button)
        self.lay_out(self.title, self.place, self.path, self.text, self.note, buttons)
        self._show_text(self._passage[: 2 * AROUND])
        self.apply_look()
        self.text.setFocus()

    def show_file(self, text: str) -> None:
        """Show the file around the passage, if the passage is still in it."""
        begin = self._find(text)
        if begin is None:
            self.note.say(lambda: tr("The file has changed. This is what the model read."))
            return
        self.note.say("")
        first = max(0, begin - AROUND)
        end = begin + len(self._passage)
        self._marked = (begin - first, end - first) if self._source.places else (0, 0)
        self._show_text(text[first : end + AROUND] if self._source.places else text[: 2 * AROUND])

    def retranslate(self) -> None:
        self.setWindowTitle(self._source.name)
        self.title.setText(self._source.name)
        self.place.say(place_words(self._source.places[self._index]) if self._source.places else tr("all of it"))
        self.text.setAccessibleName(tr("Text of {name}", name=self._source.name))

    def restyle(self) -> None:
        super().restyle()
        self.text.setFont(code_font())
        self._mark()

    def _find(self, text: str) -> int | None:
        """Return where the passage is: at its old place, else where else it stands; None if it is gone."""
        if not self._source.places:
            return 0 if text == self._source.text else None
        begin = self._source.places[self._index].begin
        if text.startswith(self._passage, begin):
            return begin
        position = text.find(self._passage)
        return position if position >= 0 else None

    def _show_text(self, text: str) -> None:
        self.text.setPlainText(text)
        self._mark()
        cursor = QTextCursor(self.text.document())
        cursor.setPosition(min(self._marked[1] + LEAD, len(self.text.toPlainText())))
        self.text.setTextCursor(cursor)
        cursor.setPosition(self._marked[0])
        self.text.setTextCursor(cursor)
        self.text.ensureCursorVisible()

    def _mark(self) -> None:
        mark = coloured(self.text.document(), *self._marked, theme().selection)
        self.text.setExtraSelections([mark] if self._marked[1] else [])
