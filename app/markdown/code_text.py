"""The text of a code block: read-only, in the fixed font, as high as it needs. Vertical wheel turns go further up."""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QPoint, Qt
from PySide6.QtGui import QFontMetricsF, QTextOption, QWheelEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from app.look.theme import code_font
from app.markdown.selection import SelectedWithOthers


class CodeText(SelectedWithOthers, QPlainTextEdit):
    """Lines stay whole until `set_wrapped`. `source` is copied where all is selected: what is shown may be folded."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.wrapped = False
        self.source = ""
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setWordWrapMode(QTextOption.WrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUndoRedoEnabled(False)
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)
        self.restyle()

    def restyle(self) -> None:
        """Another theme, or letters of another size."""
        font = code_font()
        self.setFont(font)
        self.setStyleSheet(f"font-family: '{font.family()}'; font-size: {font.pixelSize()}px;")
        self.setTabStopDistance(4 * QFontMetricsF(font).horizontalAdvance(" "))

    def set_wrapped(self, wrapped: bool) -> None:
        self.wrapped = wrapped
        mode = QPlainTextEdit.LineWrapMode
        self.setLineWrapMode(mode.WidgetWidth if wrapped else mode.NoWrap)
        option = QTextOption.WrapMode
        self.setWordWrapMode(option.WrapAtWordBoundaryOrAnywhere if wrapped else option.NoWrap)

    def height_of_all(self, width: int, rows: int) -> int:
        """Of all `rows` of the text in a view of this width, in pixels, whether all are put in already or not."""
        document = self.document()
        layout = document.documentLayout()
        if not self.wrapped:
            # Asked of the layout: it rounds a line's height up where font metrics do not.
            return round(rows * layout.blockBoundingRect(document.begin()).height())
        self.resize(width, self.height())
        total = 0.0
        block = document.begin()
        while block.isValid():
            total += layout.blockBoundingRect(block).height()
            block = block.next()
        return round(total)

    def createMimeDataFromSelection(self) -> QMimeData:
        cursor = self.textCursor()
        if cursor.selectionEnd() - cursor.selectionStart() < self.document().characterCount() - 1:
            return super().createMimeDataFromSelection()
        data = QMimeData()
        data.setText(self.source)
        return data

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta: QPoint = event.angleDelta()
        if abs(delta.x()) > abs(delta.y()) or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().wheelEvent(event)
        else:
            event.ignore()
