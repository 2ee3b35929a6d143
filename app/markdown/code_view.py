"""A code block: language label, copy button, text in the fixed font; colours follow when there is time.

Complete code is folded after FOLDED lines; long lines can be wrapped.
"""

from __future__ import annotations

from PySide6.QtCore import QMimeData, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QFontMetricsF, QGuiApplication, QShowEvent, QTextCursor, QTextOption, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QWidget

from app.look.live import Live
from app.look.sheet import Button, fill
from app.look.theme import SIZES, code_font, icon, theme
from app.markdown.blocks import Block
from app.markdown.code_colours import CodeColours
from app.markdown.guard import name_direction_marks
from app.markdown.selection import SelectedWithOthers
from app.services.frames import slices
from app.words import mark, tr

COPIED_MS = 1500
FOLDED = 40  # lines that folded code shows
PIECE = 4_000  # characters that are inserted in one slice
LONG_LINE = 400  # characters; with 20,000, each token would take 40 ms to lay out and 15 ms to paint
BROKEN = 80  # characters in each row of a broken line: Qt paints text beside the view, but not below it


class CodeView(Live, QFrame):
    """A panel with code; `set_code` may be called again with a longer text and then only appends the new part.

    `height_changed`: the height for the present width is another one.
    """

    height_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("codePanel")
        self.block = Block("code")
        self.code = ""
        self.language = ""
        self.folded = False
        self._finished = False
        self._inserted = self._visible_code = ""
        self._row_count = 1
        self._lines = 1
        self.text = CodeText(self)
        self.colours = CodeColours(self.text.document())
        self._fold_button = Button(self, work=lambda: self._set_folded(not self.folded), kind="quiet")
        self._fold_button.hide()
        self._header = QFrame(self)
        self._header.setObjectName("codeHeader")
        self._label = QLabel(self._header)
        self._label.setObjectName("codeLabel")
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._copy_button = Button(self, work=self.copy_code, kind="quiet")
        self._wrap_button = Button(self, mark("Wrap lines"), self._toggle_wrap, kind="quiet")
        self._wrap_button.setCheckable(True)
        self._wrap_button.setChecked(CodeText.wraps)
        parts = ((self._label, 1), self._wrap_button, self._copy_button)
        fill(QHBoxLayout(self._header), *parts, gap=0, margins=(SIZES.gap_m, 0, SIZES.gap_s, 0))
        self._scrolled: QAbstractScrollArea | None = None  # the area whose scrolling moves the header
        self._longest = 0
        self.apply_look()

    def set_code(self, code: str, language: str, complete: bool = False) -> None:
        """Show the code; `complete` code was never seen while it was written, so long code is folded."""
        if language != self.language:
            self.language = language
            self._label.setText(language[:40] or tr("code"))
            self.colours.set_language(language)
        if code != self.code:
            self.code = code
            self.text.source = code
            rows = display_rows(code)
            self._lines = len(rows)
            self.folded = complete and self._lines > FOLDED
            self._show_rows(rows)
        if complete:
            self.finish()

    def finish(self) -> None:
        """Offer to fold long code, because no more is coming."""
        self._finished = True
        self._name_fold()
        self._fold_button.setVisible(self._can_fold)
        self._place_parts()
        if self._can_fold:
            self.height_changed.emit()

    def unfold(self) -> None:
        """Show all lines."""
        self._set_folded(False)

    def copy_code(self) -> None:
        QGuiApplication.clipboard().setText(self.code)
        self._copy_button.setText(tr("Copied"))
        self._copy_button.setIcon(icon("done", theme().soft))
        QTimer.singleShot(COPIED_MS, self, self._reset_copy_button)

    def restyle(self) -> None:
        self._reset_copy_button()
        self.colours.restyle()
        self._place_parts()
        self.height_changed.emit()

    def retranslate(self) -> None:
        self.text.setAccessibleName(tr("Code"))
        self._copy_button.setAccessibleName(tr("Copy code"))
        self._label.setText(self.language[:40] or tr("code"))
        self._wrap_button.setAccessibleName(tr("Wrap long lines of code"))
        self._name_fold()
        self._reset_copy_button()

    def heightForWidth(self, width: int) -> int:
        self._wrap_button.setVisible(self._is_wide(width))
        text = self.text.height_of_all(width - 2 * SIZES.gap_m, self._row_count)
        fold = SIZES.row if self._can_fold else SIZES.gap_s
        return SIZES.row + text + SIZES.gap_m + fold + self._bar_height(width)

    def resizeEvent(self, _event: object) -> None:
        self._place_parts()

    def showEvent(self, event: QShowEvent) -> None:
        """Follow the scrolling of the page, so that the header stays in view while the code is."""
        super().showEvent(event)
        area = self.parentWidget()
        while area is not None and not (isinstance(area, QAbstractScrollArea) and area.verticalScrollBar().isEnabled()):
            area = area.parentWidget()
        if isinstance(area, QAbstractScrollArea) and area is not self._scrolled:
            self._scrolled = area
            area.verticalScrollBar().valueChanged.connect(self._place_header)

    # --- inside -----------------------------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether all visible rows are in the text."""
        return len(self._inserted) == len(self._visible_code)

    @property
    def _can_fold(self) -> bool:
        return self._finished and self._lines > FOLDED

    def _show_rows(self, rows: list[str]) -> None:
        """Put the visible rows into the text; many rows follow in slices."""
        rows = rows[:FOLDED] if self.folded else rows
        visible_code = self._visible_code = "\n".join(rows)
        if not visible_code.startswith(self._inserted):
            self.text.clear()
            self._inserted = ""
        if self._insert_piece():
            slices().add(self, self._insert_piece)
        # The rows are counted because the layout knows a line's width only after drawing it.
        self._row_count, self._longest = len(rows), max(len(row.expandtabs(4)) for row in rows)
        self.colours.refresh(visible_code)

    def _insert_piece(self) -> bool:
        """Insert the next piece of the visible rows; return whether more is left."""
        piece = self._visible_code[len(self._inserted) : len(self._inserted) + PIECE]
        cursor = QTextCursor(self.text.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.insertText(piece)
        self._inserted += piece
        if self.text.wrapped and piece:
            self.height_changed.emit()
        return len(self._inserted) < len(self._visible_code)

    def _set_folded(self, folded: bool) -> None:
        if folded != self.folded:
            self.folded = folded
            self._show_rows(display_rows(self.code))
        self._name_fold()
        self._fold_button.setVisible(self._can_fold)
        self._place_parts()
        self.height_changed.emit()

    def _name_fold(self) -> None:
        text = tr("Show all {lines} lines", lines=f"{self._lines:,}") if self.folded else tr("Show less")
        self._fold_button.setText(text)
        self._fold_button.setAccessibleName(text)

    def _toggle_wrap(self) -> None:
        CodeText.wraps = self._wrap_button.isChecked()
        self.text.set_wrapped(CodeText.wraps)
        self.height_changed.emit()

    def _is_wide(self, width: int) -> bool:
        character = QFontMetricsF(code_font()).horizontalAdvance("0")
        return self._longest * character > width - 2 * SIZES.gap_m

    def _bar_height(self, width: int) -> int:
        bar = self._is_wide(width) and not self.text.wrapped
        return self.text.horizontalScrollBar().sizeHint().height() + SIZES.gap_s if bar else 0

    def _place_parts(self) -> None:
        width, height = self.width(), self.height()
        below = SIZES.row if self._can_fold else SIZES.gap
        size = self._fold_button.sizeHint()
        self._fold_button.setGeometry(6, height - (SIZES.row + size.height()) // 2, size.width(), size.height())
        self.text.setGeometry(SIZES.gap_m, SIZES.row, width - 2 * SIZES.gap_m, height - SIZES.row - below)
        self._place_header()

    def _place_header(self) -> None:
        """Move the header to the top of what is in view of the code."""
        area = self._scrolled
        hidden = -self.mapTo(area.viewport(), QPoint()).y() if area is not None and area.isAncestorOf(self) else 0
        top = max(0, min(hidden, self.height() - 2 * SIZES.row))
        self._header.setGeometry(1, max(1, top), self.width() - 2, SIZES.row)

    def _reset_copy_button(self) -> None:
        self._copy_button.setText(tr("Copy"))
        self._copy_button.setIcon(icon("copy", theme().soft))


class CodeText(Live, SelectedWithOthers, QPlainTextEdit):
    """The text of a code block; `source` is copied when all is selected, because shown code may be folded."""

    wraps = False  # whether the user last chose to wrap lines: remembered until the program ends

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.wrapped = False
        self.source = ""
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setUndoRedoEnabled(False)
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)
        self.set_wrapped(CodeText.wraps)
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
        """Return the height in pixels of all `rows` in a view of this width, even of rows that are not inserted yet."""
        document = self.document()
        layout = document.documentLayout()
        if not self.wrapped:
            # The layout's height, because it rounds a line's height up; font metrics do not.
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


def display_rows(code: str) -> list[str]:
    """Return the code's lines; very long lines are broken, and characters that change the text direction are named."""
    rows = []
    for line in name_direction_marks(code).split("\n"):
        long = len(line) > LONG_LINE
        rows += [line[at : at + BROKEN] for at in range(0, len(line), BROKEN)] if long else [line]
    return rows
