"""A table in a box of its own: as wide as it needs, scrolled sideways where the column is narrower.

The rows are laid out in pieces of a few rows each, so that a table that is still being written never takes long: only
its last piece changes. All pieces have the column widths of the first piece, or wider ones where the longest words of
all rows need them.
"""

from __future__ import annotations

from dataclasses import replace
from heapq import nlargest
from math import ceil
from typing import cast

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QTextCursor, QTextLength, QTextOption, QTextTable, QTextTableCell, QWheelEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.look.sheet import discard
from app.look.theme import SIZES
from app.markdown.blocks import Block
from app.markdown.document import plain_text
from app.markdown.math_object import text_with_sources
from app.markdown.prose_view import ProseView
from app.markdown.selection import cursor_over
from app.services.frames import slices
from app.words import mark

SEAM = 4  # pixels: the upper border of a piece covers the lower border of the piece above
PIECE_CELLS, PIECE_LETTERS = 20, 2_000  # of a piece with more than one row, laid out in 3 to 10 ms
COUNTED = 400  # cells whose words are compared in one slice: 2 ms
PLACED = 3  # pieces that get other widths in one slice: 10 ms
LONGEST = 8  # longest words of a column that are measured in pixels: “Kraków” is wider than “Tallinn”


class TableRows(ProseView):
    """A piece of a table: some of its rows; only the first piece has the head."""

    def __init__(self, parent: QWidget) -> None:
        self._widths: tuple[float, ...] | None = None  # of the columns, in pixels; None: as wide as these rows need
        super().__init__(parent, name=mark("Table"))

    def set_rows(self, rows: Block, widths: tuple[float, ...] | None) -> None:
        self._widths = widths
        self.set_block(rows)

    def set_widths(self, widths: tuple[float, ...] | None) -> None:
        if widths != self._widths:
            self._widths = widths
            self.after_render()

    def createMimeDataFromSelection(self) -> QMimeData:
        """Return the selected cells as spreadsheets expect them: one row a line, tabs between cells."""
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
        """Return the columns' widths in pixels, as they are laid out."""
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
        """Allow breaks inside words: a word longer than those of the first piece must not widen its column."""
        option = self.document().defaultTextOption()
        if option.wrapMode() != QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere:
            option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
            self.document().setDefaultTextOption(option)

    def after_render(self) -> None:
        """Apply the column widths."""
        table = self._table()
        if table is None:
            return
        format = table.format()
        if self._widths and len(self._widths) == table.columns():
            lengths = [QTextLength(QTextLength.Type.FixedLength, width) for width in self._widths]
            format.setColumnWidthConstraints(lengths)
            self._break_anywhere()
        else:
            format.setColumnWidthConstraints([])
        table.setFormat(format)


def _selected_cells(table: QTextTable, cursor: QTextCursor) -> list[QTextTableCell]:
    """Return the cells that the selection touches; a selection over several cells is a rectangle."""
    first, rows, left, columns = cast("tuple[int, int, int, int]", cursor.selectedTableCells())
    if first >= 0:
        return [table.cellAt(row, left + at) for row in range(first, first + rows) for at in range(columns)]
    cells = [table.cellAt(row, column) for row in range(table.rows()) for column in range(table.columns())]
    start, end = cursor.selectionStart(), cursor.selectionEnd()
    return [cell for cell in cells if cell.firstPosition() < end and cell.lastPosition() >= start]


def _cell_text(cell: QTextTableCell) -> str:
    document = cell.firstCursorPosition().document()
    return text_with_sources(cursor_over(document, cell.firstPosition(), cell.lastPosition())).replace("\n", " ")


class TableView(QScrollArea):
    """A whole table; `set_block` may be called again with more rows.

    `height_changed`: the height for the present width is another one.
    """

    height_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("table")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.pieces: list[TableRows] = []
        self.block = Block("table")
        self._ends: list[int] = []  # of each piece, the row after its last
        self._width = 0
        self._longest: list[list[str]] = []  # the longest words of each column
        self._counted = 0  # rows whose words `_longest` includes
        # For each placed piece: the top of the next piece, and the greatest width so far.
        self._placed_pieces: list[tuple[int, int]] = []
        self._column_measurement: tuple[Block, int, int, tuple[float, ...]] | None = None
        self._content = QWidget()
        self._content.setObjectName("tableRows")
        self.setWidget(self._content)

    def set_block(self, block: Block) -> None:
        """Show the table, or its further rows."""
        if (block.links, block.aligns) != (self.block.links, self.block.aligns):
            self._clear()
        if block == self.block:
            return
        self.block = block
        self._measure_words()
        self._fill_piece(max(0, len(self.pieces) - 1))
        if not self.filled:
            slices().add(self, self.lay_out)

    @property
    def filled(self) -> bool:
        """Whether all rows are laid out."""
        return not self._has_uncounted and (self._ends or [0])[-1] == len(self.block.rows)

    def lay_out(self) -> bool:
        """Measure the words of the next rows, or lay out the next piece; return whether more is left.

        A wider word further down changes the widths of all pieces.
        """
        if self._has_uncounted:
            self._measure_words()
            self._width = 0
        elif not self.filled:
            self._fill_piece(len(self.pieces) - 1)
            self._fill_piece(len(self.pieces))
            self._width = 0
            self.height_changed.emit()
        return not self.filled

    def release_pieces(self) -> list[TableRows]:
        """Stop laying out and hand over the pieces, which the caller has to delete."""
        pieces, self.pieces, self.block = self.pieces, [], Block("table")
        self._placed_pieces.clear()
        self._ends.clear()
        return pieces

    def heightForWidth(self, width: int) -> int:
        self._place_pieces(width)
        content_width = self._content.width() > width
        return self._content.height() + (self.horizontalScrollBar().sizeHint().height() + 4 if content_width else 0)

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta()
        if abs(delta.x()) > abs(delta.y()) or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            super().wheelEvent(event)
        else:
            event.ignore()

    # --- inside -----------------------------------------------------------------------------------------------------

    @property
    def _has_uncounted(self) -> bool:
        return self._counted < len(self.block.rows) - 1

    def _fill_piece(self, number: int) -> None:
        if number == len(self.pieces):
            piece = TableRows(self._content)
            piece.height_changed.connect(self._piece_resized)
            self.pieces.append(piece)
            piece.show()
        start = self._ends[number - 1] if number else 0
        end = self._end_of_piece(start)
        self._ends[number:] = [end]
        rows = self.block.rows[start:end]
        widths = self._column_measurement[3] if number and self._column_measurement else None
        self.pieces[number].set_rows(replace(self.block, rows=rows, has_head=number == 0), widths)
        del self._placed_pieces[number:]
        self._width = 0

    def _end_of_piece(self, start: int) -> int:
        """Return the row after the last one of the piece that begins with the row `start`."""
        cells = letters = 0
        for at, row in enumerate(self.block.rows[start : start + PIECE_CELLS + 1], start):
            cells, letters = cells + len(row), letters + sum(map(len, row))
            if at > start and (cells > PIECE_CELLS or letters > PIECE_LETTERS):
                return at
        return len(self.block.rows)

    def _clear(self) -> None:
        """Discard all pieces, so that all rows are laid out again."""
        self._longest, self._counted = [], 0
        for piece in self.release_pieces():
            discard(piece)
        self._column_measurement = None

    def _piece_resized(self) -> None:
        self._width, self._column_measurement = 0, None
        self._placed_pieces.clear()
        self.height_changed.emit()

    def _measure_words(self) -> None:
        """Remember the longest words of each column in the next rows.

        Each row is looked at once. The last row is looked at again, because it may not be complete.
        """
        longest = self._longest or [[] for _ in self.block.aligns]
        until = self._counted + max(1, COUNTED // len(self.block.aligns))
        for row in self.block.rows[self._counted : until]:
            words = (plain_text(cell, self.block.links).split() for cell in row)
            pairs = zip(longest, words, strict=True)
            longest = [nlargest(LONGEST, dict.fromkeys([*a, *b]), key=len) for a, b in pairs]
        if longest != self._longest:
            widest, self._longest = self._widest_words(), longest
            if self._widest_words() != widest:
                self._column_measurement = None
        self._counted = max(0, min(until, len(self.block.rows) - 1))

    def _widest_words(self) -> list[float]:
        """Return the width in pixels of each column's widest word."""
        if not self.pieces:
            return []
        measure = QFontMetricsF(self.pieces[0].document().defaultFont())
        return [max(map(measure.horizontalAdvance, words), default=0) for words in self._longest]

    def _wide_enough(self, widths: tuple[float, ...]) -> tuple[float, ...]:
        """Widen columns to their longest words, up to a limit, at the cost of columns with room to spare.

        Longer words are broken.
        """
        needs = [width + 2 * SIZES.gap + 2 for width in self._widest_words()]
        least = [min(need, SIZES.table_column) for need in needs]
        wider = [max(pair) for pair in zip(widths, least, strict=False)]
        excess = sum(wider) - sum(widths)
        for column in sorted(range(len(wider)), key=lambda column: least[column] - wider[column]):
            taken = min(excess, wider[column] - least[column])
            wider[column] -= taken
            excess -= taken
        return tuple(wider)

    def _measure(self, width: int) -> tuple[int, tuple[float, ...]]:
        """Return the table's width in a view of this width, and the columns' widths, both in pixels.

        The columns are as wide as the first piece needs them, or as the longest words of all rows need them.
        """
        first = self.pieces[0]
        if self._column_measurement is None or self._column_measurement[:2] != (first.block, width):
            self._placed_pieces.clear()
            first.set_widths(None)
            natural = first.natural_width()
            columns = len(self.block.aligns)
            room = width if natural <= width else max(width, min(natural, columns * SIZES.table_column))
            first.heightForWidth(room)
            laid_out = first.column_widths()
            widths = self._wide_enough(laid_out)
            if widths != laid_out:
                first.set_widths(widths)
            self._column_measurement = (first.block, width, room, widths)
        return self._column_measurement[2:]

    def _place_pieces(self, width: int) -> None:
        if width != self._width and self.pieces:
            self._width = width
            if self._place_next():
                slices().add(self, self._place_more)

    def _place_more(self) -> bool:
        more = self._place_next()
        self.height_changed.emit()
        return more

    def _place_next(self) -> bool:
        """Lay out and place the next pieces; return whether more are left, which keep their heights until then."""
        if not self.pieces or not self._width:  # `heightForWidth` goes on as soon as there is a width again
            return False
        room, widths = self._measure(self._width)
        top, widest = self._placed_pieces[-1] if self._placed_pieces else (0, 0)
        first = len(self._placed_pieces)
        end = min(len(self.pieces), first + PLACED)
        for number in range(first, end):
            piece = self.pieces[number]
            if number:
                piece.set_widths(widths)
            height = piece.heightForWidth(room)
            content_width = ceil(piece.document().size().width())
            widest = max(widest, content_width)
            piece.setGeometry(0, top, max(content_width, room), height)
            top += height - SEAM
            self._placed_pieces.append((top, widest))
        for piece in self.pieces[end:]:
            piece.move(0, top)
            top += piece.height() - SEAM
        self._content.resize(max(widest, 1), max(top + SEAM, 1))
        return end < len(self.pieces)
