"""A code block: language label, copy button, text in the fixed font, colours that follow when there is time."""

from __future__ import annotations

from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QFontMetricsF, QGuiApplication, QTextCursor, QTextOption, QWheelEvent
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QPushButton, QWidget

from app.code_colours import CodeColours
from app.icons import icon
from app.theme import SIZES, code_font, theme
from app.words import tr

COPIED_MS = 1500


class CodeText(QPlainTextEdit):
    """Read-only code; vertical wheel turns go to the transcript."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)  # the message's menu has more
        self.setFont(code_font())
        self.setStyleSheet(f"font-family: '{code_font().family()}'; font-size: {code_font().pixelSize()}px;")
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setWordWrapMode(QTextOption.WrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUndoRedoEnabled(False)
        self.setTabStopDistance(4 * QFontMetricsF(code_font()).horizontalAdvance(" "))
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta: QPoint = event.angleDelta()
        if abs(delta.x()) > abs(delta.y()) or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().wheelEvent(event)
        else:
            event.ignore()


class CodeView(QFrame):
    """`set_code` may be called again with a longer text: only what is new is appended."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("codePanel")
        self.code = ""
        self.language = ""
        self._label = QLabel(self)
        self._label.setObjectName("codeLabel")
        self._copy = QPushButton(self)
        self._copy.setProperty("kind", "quiet")
        self._copy.clicked.connect(self.copy)
        self.text = CodeText(self)
        self.colours = CodeColours(self.text.document())
        self._longest = 0
        self._character = QFontMetricsF(code_font()).horizontalAdvance("0")
        self.restyle()
        self.retranslate()

    def set_code(self, code: str, language: str) -> None:
        if language != self.language or not self._label.text():
            self.language = language
            self._label.setText(language[:40] or tr("code"))
            self.colours.set_language(language)
        if code == self.code:
            return
        if code.startswith(self.code):
            cursor = QTextCursor(self.text.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            cursor.insertText(code[len(self.code) :])
        else:
            self.text.setPlainText(code)
        # Counted rather than asked of the layout, which knows a line's width only after it was drawn.
        self._longest = max(len(line.expandtabs(4)) for line in code.split("\n"))
        self.code = code
        self.colours.refresh(code)

    def copy(self) -> None:
        QGuiApplication.clipboard().setText(self.code)
        self._copy.setText(tr("Copied"))
        self._copy.setIcon(icon("done", theme().soft))
        QTimer.singleShot(COPIED_MS, self, self._copy_again)

    def restyle(self) -> None:
        self._copy_again()
        self.colours.restyle()

    def retranslate(self) -> None:
        self.text.setAccessibleName(tr("Code"))
        self._copy.setAccessibleName(tr("Copy code"))
        self._label.setText(self.language[:40] or tr("code"))
        self._copy_again()

    def has_selection(self) -> bool:
        return self.text.textCursor().hasSelection()

    def heightForWidth(self, width: int) -> int:
        document = self.text.document()
        # Asked of the layout: it rounds a line's height up where font metrics do not.
        line = document.documentLayout().blockBoundingRect(document.begin()).height()
        return SIZES.row + round(document.blockCount() * line) + SIZES.gap_m + SIZES.gap_s + self._bar_height(width)

    def _bar_height(self, width: int) -> int:
        wide = self._longest * self._character > width - 2 * SIZES.gap_m
        return self.text.horizontalScrollBar().sizeHint().height() + SIZES.gap_s if wide else 0

    def resizeEvent(self, _event: object) -> None:
        width, height = self.width(), self.height()
        copy = self._copy.sizeHint()
        self._label.setGeometry(SIZES.gap_m, 0, width // 2, SIZES.row)
        self._copy.setGeometry(width - copy.width() - 6, (SIZES.row - copy.height()) // 2, copy.width(), copy.height())
        top = SIZES.row
        self.text.setGeometry(SIZES.gap_m, top, width - 2 * SIZES.gap_m, height - top - SIZES.gap)

    def _copy_again(self) -> None:
        self._copy.setText(tr("Copy"))
        self._copy.setIcon(icon("copy", theme().soft))
