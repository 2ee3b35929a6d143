"""A table in a box of its own: as wide as it needs, scrolled sideways where the column is narrower.

Its rows stand in pieces of a few, so that a table that is still being written never takes long to lay out: only the
last piece changes. The columns are as wide in every piece as the first one makes them, or as the longest word of all
rows needs them.
"""

from __future__ import annotations

from heapq import nlargest
from itertools import zip_longest
from math import ceil
from typing import cast

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QTextCursor, QTextLength, QTextOption, QTextTable, QTextTableCell, QWheelEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.look.theme import SIZES
from app.markdown.grammar import cells, words_of
from app.markdown.math_object import with_sources
from app.markdown.prose_view import ProseView
from app.services.frames import slices
from app.words import mark

SEAM = 4  # pixels: the upper line of a piece falls on the lower one of the piece above
PIECE_CELLS = 20  # laid out in 3 ms
COUNTED = 200  # rows whose words are looked at in one go: 2 ms
LONGEST = 8  # words of a column: “Kraków” is wider than “Tallinn”, but to measure all words would take too long


class TableRows(ProseView):
    """Some rows of a table, the first of them with its head. `widths` are the columns', None: as the rows need them."""

    def __init__(self, parent: QWidget) -> None:
        self._headless = False
        self._widths: tuple[float, ...] | None = None
        super().__init__(parent, name=mark("Table"))

    def set_rows(self, markdown: str, headless: bool, widths: tuple[float, ...] | None) -> None:
        self._headless, self._widths = headless, widths
        self.set_markdown(markdown)

    def set_widths(self, widths: tuple[float, ...] | None) -> None:
        if widths != self._widths:
            self._widths = widths
            self._mend()

    def rendered(self) -> None:
        table = self._table()
        if table is not None and self._headless and table.rows() > 1:
            table.removeRows(0, 1)  # markdown needs a head
        self._mend()

    def createMimeDataFromSelection(self) -> QMimeData:
        """Cells are copied a row a line, with tabs between them, as spreadsheets take them."""
        cursor, table = self.textCursor(), self._table()
        cells = _selected_cells(table, cursor) if table is not None else []
        if len(cells) < 2:
            return super().createMimeDataFromSelection()
        lines: dict[int, list[str]] = {}
        for cell in cells:
            lines.setdefault(cell.row(), []).append(_cell_text(cell))
        data = QMimeData()
        data.setText("\n".join(map("\t".join, lines.values())))
        return data

    def column_widths(self) -> tuple[float, ...]:
        """As they are laid out, in pixels, without what is around a cell's text."""
        table = self._table()
        if table is None:
            return ()
        layout = self.document().documentLayout()
        blocks = (table.cellAt(0, column).firstCursorPosition().block() for column in range(table.columns()))
        return tuple(layout.blockBoundingRect(block).width() + 2 * SIZES.gap + 1 for block in blocks)

    def _table(self) -> QTextTable | None:
        frames = self.document().rootFrame().childFrames()
        return next((frame for frame in frames if isinstance(frame, QTextTable)), None)

    def _break_anywhere(self) -> None:
        """A word longer than the first piece's words must not make its column wider."""
        option = self.document().defaultTextOption()
        if option.wrapMode() != QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere:
            option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
            self.document().setDefaultTextOption(option)

    def _mend(self) -> None:
        """The columns as wide as they shall be, and no space around the rows."""
        table = self._table()
        if table is None:
            return
        edit = QTextCursor(self.document())
        edit.beginEditBlock()  # laid out once
        format = table.format()
        format.setTopMargin(0)
        format.setBottomMargin(0)
        if self._widths and len(self._widths) == table.columns():
            lengths = [QTextLength(QTextLength.Type.FixedLength, width) for width in self._widths]
            format.setColumnWidthConstraints(lengths)
            self._break_anywhere()
        else:
            format.setColumnWidthConstraints([])
        table.setFormat(format)
        for block in (self.document().begin(), self.document().lastBlock()):
            if not block.text():
                cursor = QTextCursor(block)
                plain = block.blockFormat()
                plain.setTopMargin(0)
                plain.setBottomMargin(0)
                cursor.setBlockFormat(plain)
        edit.endEditBlock()


def _selected_cells(table: QTextTable, cursor: QTextCursor) -> list[QTextTableCell]:
    """Those the selection touches; one that runs over several cells is a rectangle of them."""
    first, rows, left, columns = cast("tuple[int, int, int, int]", cursor.selectedTableCells())
    if first >= 0:
        return [table.cellAt(row, left + at) for row in range(first, first + rows) for at in range(columns)]
    cells = [table.cellAt(row, column) for row in range(table.rows()) for column in range(table.columns())]
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    return [cell for cell in cells if cell.firstPosition() < end and cell.lastPosition() >= start]


def _cell_text(cell: QTextTableCell) -> str:
    cursor = cell.firstCursorPosition()
    cursor.setPosition(cell.lastPosition(), QTextCursor.MoveMode.KeepAnchor)
    return with_sources(cursor).replace("\n", " ")


class TableView(QScrollArea):
    """`set_table` may be called again with more rows. `resized`: the height for the present width has changed."""

    resized = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("table")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.markdown = self._links = ""
        self.pieces: list[TableRows] = []
        self._head: list[str] = []
        self._rows: list[str] = []
        self._per_piece = 1
        self._width = 0
        self._longest: list[list[str]] = []  # words of each column
        self._counted = 0  # rows that it knows
        self._placed: list[tuple[int, int]] = []  # of each piece in its place, where the next one begins; the widest
        self._measured: tuple[str, int, int, tuple[float, ...]] | None = None
        self._content = QWidget()
        self._content.setObjectName("tableRows")
        self.setWidget(self._content)

    def set_table(self, markdown: str, links: str = "") -> None:
        """`links`: definitions of addresses that the cells name."""
        if links != self._links:
            self._clear()
        if markdown == self.markdown and links == self._links:
            return
        self.markdown, self._links = markdown, links
        lines = markdown.split("\n")
        self._head, self._rows = lines[:2], lines[2:]
        self._count_words()
        self._per_piece = max(1, PIECE_CELLS // max(1, len(cells(self._head[-1]))))
        self._fill_one(max(0, len(self.pieces) - 1))
        if not self.filled:
            slices().add(self, self.lay_out)

    @property
    def filled(self) -> bool:
        """Are all rows laid out?"""
        return not self._has_uncounted and len(self.pieces) * self._per_piece >= len(self._rows)

    def lay_out(self) -> bool:
        """The next rows' words, or the next piece; are there more? A wider word further down changes all pieces."""
        if self._has_uncounted:
            self._count_words()
            self._width = 0
        elif not self.filled:
            self._fill_one(len(self.pieces) - 1)
            self._fill_one(len(self.pieces))
            self._width = 0
            self.resized.emit()
        return not self.filled

    def give_up(self) -> list[TableRows]:
        """The pieces, which are the caller's to delete now; nothing more is laid out."""
        pieces, self.pieces, self._rows = self.pieces, [], []
        self._placed.clear()
        return pieces

    def heightForWidth(self, width: int) -> int:
        self._lay_out(width)
        wide = self._content.width() > width
        return self._content.height() + (self.horizontalScrollBar().sizeHint().height() + 4 if wide else 0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta()
        if abs(delta.x()) > abs(delta.y()) or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().wheelEvent(event)
        else:
            event.ignore()

    # --- inside -----------------------------------------------------------------------------------------------------

    @property
    def _has_uncounted(self) -> bool:
        return self._counted < len(self._rows) - 1

    def _fill_one(self, number: int) -> None:
        if number == len(self.pieces):
            piece = TableRows(self._content)
            piece.resized.connect(self._grown)
            self.pieces.append(piece)
            piece.show()
        rows = self._rows[number * self._per_piece : (number + 1) * self._per_piece]
        widths = self._measured[3] if number and self._measured else None
        lines = [*self._head, *rows, *(["", self._links] if self._links else [])]
        self.pieces[number].set_rows("\n".join(lines), number > 0, widths)
        del self._placed[number:]
        self._width = 0

    def _clear(self) -> None:
        """All rows are laid out anew."""
        for piece in self.give_up():
            piece.hide()
            piece.deleteLater()
        self._measured = None

    def _grown(self) -> None:
        self._width, self._measured = 0, None
        self._placed.clear()
        self.resized.emit()

    def _count_words(self) -> None:
        """Rows but the last are written to their end: each is looked at once."""
        longest = self._longest or [[] for _ in cells(self._head[-1])]
        until = self._counted + COUNTED
        for row in self._rows[self._counted : until]:
            columns = zip_longest(longest, map(words_of, cells(row)), fillvalue=())
            longest = [nlargest(LONGEST, dict.fromkeys([*a, *b]), key=len) for a, b in columns]
        if longest != self._longest:
            self._longest, self._measured = longest, None
        self._counted = max(0, min(until, len(self._rows) - 1))

    def _wide_enough(self, widths: tuple[float, ...]) -> tuple[float, ...]:
        """At least as wide as the columns' longest words, up to a limit: from there on words are broken."""
        measure = QFontMetricsF(self.pieces[0].document().defaultFont())
        widest = [max(map(measure.horizontalAdvance, words), default=0) for words in self._longest]
        needs = [width + 2 * SIZES.gap + 2 for width in widest]
        return tuple(max(w, min(need, SIZES.table_column)) for w, need in zip(widths, needs, strict=False))

    def _measure(self, width: int) -> tuple[int, tuple[float, ...]]:
        """How much room the columns get in a view of this width, and how wide each is: as the first piece needs it."""
        first = self.pieces[0]
        if self._measured is None or self._measured[:2] != (first.markdown, width):
            self._placed.clear()
            first.set_widths(None)
            natural = first.natural_width()
            columns = max(1, len(cells(self._head[-1])))
            room = width if natural <= width else max(width, min(natural, columns * SIZES.table_column))
            first.heightForWidth(room)
            laid_out = first.column_widths()
            widths = self._wide_enough(laid_out)
            if widths != laid_out:
                first.set_widths(widths)
            self._measured = (first.markdown, width, room, widths)
        return self._measured[2:]

    def _lay_out(self, width: int) -> None:
        if width == self._width or not self.pieces:
            return
        self._width = width
        room, widths = self._measure(width)
        top, widest = self._placed[-1] if self._placed else (0, 0)
        for number in range(len(self._placed), len(self.pieces)):
            piece = self.pieces[number]
            if number:
                piece.set_widths(widths)
            height = piece.heightForWidth(room)
            wide = ceil(piece.document().size().width())
            widest = max(widest, wide)
            piece.setGeometry(0, top, max(wide, room), height)
            top += height - SEAM
            self._placed.append((top, widest))
        self._content.resize(max(widest, 1), max(top + SEAM, 1))
