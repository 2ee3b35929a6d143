"""A code block: language label, copy button, text in the fixed font, colours that follow when there is time.

What is long and no longer written is folded after FOLDED lines; lines that do not fit can be wrapped.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QMimeData, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetricsF, QGuiApplication, QTextCursor, QTextOption, QWheelEvent
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QPushButton, QWidget

from app.look.live import Live
from app.look.theme import SIZES, code_font, icon, theme
from app.markdown.code_colours import CodeColours
from app.markdown.guard import plain_direction
from app.markdown.selection import SelectedWithOthers
from app.services.frames import slices
from app.words import tr

COPIED_MS = 1500
FOLDED = 40  # lines
PIECE = 4_000  # characters that are put in at once
LONG_LINE = 400  # characters; one of 20,000 would take 40 ms to lay out and 15 ms to paint, with each token
BROKEN = 80  # characters of it in a row: what lies beside the view is painted with it, what lies below is not


class CodeView(Live, QFrame):
    """`set_code` may be called again with a longer text: only what is new is appended. `settle`: it is whole now.

    `resized`: the height for the present width has changed."""

    resized = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("codePanel")
        self.code = ""
        self.language = ""
        self.folded = False
        self._settled = False
        self._shown = self._wanted = ""
        self._rows = 1
        self._lines = 1
        self._label = QLabel(self)
        self._label.setObjectName("codeLabel")
        self._copy = self._button(self.copy)
        self._wrap = self._button(self._toggle_wrap)
        self._wrap.setCheckable(True)
        self._wrap.hide()
        self.text = CodeText(self)
        self.colours = CodeColours(self.text.document())
        self._fold = self._button(self._toggle_fold)
        self._fold.hide()
        self._longest = 0
        self.apply_look()

    def set_code(self, code: str, language: str, whole: bool = False) -> None:
        """`whole`: no more is coming, and nobody has watched it being written, so a long one is folded."""
        if language != self.language:
            self.language = language
            self._label.setText(language[:40] or tr("code"))
            self.colours.set_language(language)
        if code != self.code:
            self.code = code
            self.text.source = code
            rows = _rows(code)
            self._lines = len(rows)
            self.folded = whole and self._lines > FOLDED
            self._show(rows)
        if whole:
            self.settle()

    def settle(self) -> None:
        """No more code is coming."""
        self._settled = True
        self._name_fold()
        self._fold.setVisible(self._can_fold)
        self._place()
        if self._can_fold:
            self.resized.emit()

    def copy(self) -> None:
        QGuiApplication.clipboard().setText(self.code)
        self._copy.setText(tr("Copied"))
        self._copy.setIcon(icon("done", theme().soft))
        QTimer.singleShot(COPIED_MS, self, self._copy_again)

    def restyle(self) -> None:
        self._copy_again()
        self.colours.restyle()
        self._place()
        self.resized.emit()

    def retranslate(self) -> None:
        self.text.setAccessibleName(tr("Code"))
        self._copy.setAccessibleName(tr("Copy code"))
        self._label.setText(self.language[:40] or tr("code"))
        self._wrap.setText(tr("Wrap lines"))
        self._wrap.setAccessibleName(tr("Wrap long lines of code"))
        self._name_fold()
        self._copy_again()

    def heightForWidth(self, width: int) -> int:
        self._wrap.setVisible(self._is_wide(width))
        text = self.text.height_of_all(width - 2 * SIZES.gap_m, self._rows)
        fold = SIZES.row if self._can_fold else SIZES.gap_s
        return SIZES.row + text + SIZES.gap_m + fold + self._bar_height(width)

    def resizeEvent(self, _event: object) -> None:
        self._place()

    # --- inside -----------------------------------------------------------------------------------------------------

    @property
    def _can_fold(self) -> bool:
        return self._settled and self._lines > FOLDED

    def _show(self, rows: list[str]) -> None:
        """Put what is to be seen of the code's rows into the text, a long one in slices."""
        rows = rows[:FOLDED] if self.folded else rows
        wanted = self._wanted = "\n".join(rows)
        if not wanted.startswith(self._shown):
            self.text.clear()
            self._shown = ""
        if self._insert():
            slices().add(self, self._insert)
        # Counted rather than asked of the layout, which knows a line's width only after it was drawn.
        self._rows, self._longest = len(rows), max(len(row.expandtabs(4)) for row in rows)
        self.colours.refresh(wanted)

    def _insert(self) -> bool:
        """The next piece of what is to be seen; are there more?"""
        piece = self._wanted[len(self._shown) : len(self._shown) + PIECE]
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(piece)
        self._shown += piece
        if self.text.wrapped and piece:
            self.resized.emit()
        return len(self._shown) < len(self._wanted)

    def _set_folded(self, folded: bool) -> None:
        if folded != self.folded:
            self.folded = folded
            self._show(_rows(self.code))
        self._name_fold()
        self._fold.setVisible(self._can_fold)
        self._place()
        self.resized.emit()

    def _toggle_fold(self) -> None:
        self._set_folded(not self.folded)

    def _name_fold(self) -> None:
        text = tr("Show all {lines} lines", lines=f"{self._lines:,}") if self.folded else tr("Show less")
        self._fold.setText(text)
        self._fold.setAccessibleName(text)

    def _toggle_wrap(self) -> None:
        self.text.set_wrapped(self._wrap.isChecked())
        self.resized.emit()

    def _is_wide(self, width: int) -> bool:
        character = QFontMetricsF(code_font()).horizontalAdvance("0")
        return self._longest * character > width - 2 * SIZES.gap_m

    def _bar_height(self, width: int) -> int:
        bar = self._is_wide(width) and not self.text.wrapped
        return self.text.horizontalScrollBar().sizeHint().height() + SIZES.gap_s if bar else 0

    def _button(self, work: Callable[[], None]) -> QPushButton:
        button = QPushButton(self)
        button.setProperty("kind", "quiet")
        button.clicked.connect(lambda: work())
        return button

    def _place(self) -> None:
        width, height = self.width(), self.height()
        self._label.setGeometry(SIZES.gap_m, 0, width // 2, SIZES.row)
        right = width - 6
        for button in (self._copy, self._wrap):
            size = button.sizeHint()
            right -= size.width()
            button.setGeometry(right, (SIZES.row - size.height()) // 2, size.width(), size.height())
        below = SIZES.row if self._can_fold else SIZES.gap
        size = self._fold.sizeHint()
        self._fold.setGeometry(6, height - (SIZES.row + size.height()) // 2, size.width(), size.height())
        self.text.setGeometry(SIZES.gap_m, SIZES.row, width - 2 * SIZES.gap_m, height - SIZES.row - below)

    def _copy_again(self) -> None:
        self._copy.setText(tr("Copy"))
        self._copy.setIcon(icon("copy", theme().soft))


class CodeText(Live, SelectedWithOthers, QPlainTextEdit):
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
        self.apply_look()

    def restyle(self) -> None:
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


def _rows(code: str) -> list[str]:
    """The code's lines, very long ones broken, with every sign that turns the direction named."""
    rows = []
    for line in plain_direction(code).split("\n"):
        long = len(line) > LONG_LINE
        rows += [line[at : at + BROKEN] for at in range(0, len(line), BROKEN)] if long else [line]
    return rows
