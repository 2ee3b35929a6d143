"""Shows a text as a stack of prose, tables and code: finished blocks are laid out once, the open block repeatedly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget
from shiboken6 import delete, isValid

from app.look.live import Live
from app.look.sheet import discard
from app.look.theme import SIZES, theme
from app.markdown.blocks import Block, BlockKind, question_blocks, split_in_steps
from app.markdown.code_view import CodeView
from app.markdown.document import space_between
from app.markdown.inline import import_in_background
from app.markdown.joined import GrowingText, join_neighbours, layout_cost
from app.markdown.prose_view import ProseView
from app.markdown.table_view import TableView
from app.services.frames import slices
from app.services.timers import Debounce, Throttle
from app.words import mark


class NotesView(ProseView):
    """The footnotes below a text, in a quieter colour."""


class PlainView(ProseView):
    """A piece of a user's message, of which only code is marked."""

    def __init__(self, parent: QWidget, soft: bool = False) -> None:
        super().__init__(parent, soft, mark("Your message"))


BlockView = ProseView | CodeView | TableView
VIEW_CLASSES: dict[BlockKind, type[BlockView]] = {
    "prose": ProseView,
    "code": CodeView,
    "table": TableView,
    "notes": NotesView,
    "plain": PlainView,
}
FRAME_MS = 33
END = Block()
WAITING = Block()  # an empty line for the caret, because the answer is on its way
READ_COST = 2_000  # `layout_cost` of reading a piece of a text
WIDGET_COST: dict[BlockKind, int] = {"prose": 800, "code": 2_000, "table": 2_500}  # added to a block's `layout_cost`
IMMEDIATE_COST = 4_000  # `layout_cost` that is laid out at once, the rest in slices: 5 ms


class BlockStack(Live, QWidget):
    """The blocks of one text as widgets. `height_changed`: the height for the present width is another one."""

    height_changed = Signal()

    def __init__(self, parent: QWidget | None = None, soft: bool = False) -> None:
        super().__init__(parent)
        self._soft = soft
        self.block_views: list[BlockView] = []
        self._growing: GrowingText | None = None
        self._lags = False  # whether some of the growing text is still to be shown
        self._throttle = Throttle(self._draw, FRAME_MS, self)
        self._remaining: Iterator[Block | None] | None = None  # blocks of a finished text that are not laid out yet
        self._placing = Debounce(self._place_and_report, 0, self)
        self._reported: tuple[int, int, bool] | None = None  # width, height and `filled`, as last reported
        self._heights: dict[BlockView, tuple[int, int]] = {}  # (width, height at that width)
        self._places: dict[BlockView, tuple[int, int, int]] = {}  # (top, width, height)
        import_in_background()
        self.apply_look()

    @property
    def filled(self) -> bool:
        """Whether all of the text is laid out and all views are in their places."""
        return self._remaining is None and not self._lags and self._incomplete_table is None and self.placed

    @property
    def placed(self) -> bool:
        """Whether all views so far are in their places."""
        return not self._placing.waiting

    def set_text(self, text: str, ahead: bool = False) -> None:
        """Show a finished text.

        A long text, or one that is made `ahead` of being seen, is laid out in slices.
        """
        self._begin(join_neighbours(split_in_steps(text)), ahead)

    def set_plain(self, text: str, ahead: bool = False) -> None:
        """Show a user's message, of which only code is marked, in slices like `set_text`."""
        self._begin(question_blocks(text), ahead)

    def start(self, text: str) -> None:
        """Show the beginning of a text that `grow` will extend."""
        self._growing, self._remaining = GrowingText(text), None
        self._clear(0)
        self._draw()

    def grow(self, piece: str) -> None:
        if self._growing is not None:
            self._growing.append(piece)
            self._throttle.request()

    def finish(self) -> None:
        """Complete the streamed text; what is left of a long text follows in slices."""
        if self._growing is not None:
            self._growing.end()
            self._throttle.cancel()
            self._draw()

    def lay_out(self) -> None:
        """Lay out the next block of a finished text, or more of a table, now instead of in a later slice."""
        if not self.filled:
            self._fill()

    def release_views(self) -> list[BlockView]:
        """Stop laying out and hand over all block views, which the caller has to delete."""
        self._remaining = self._growing = None
        self._throttle.cancel()
        self._placing.cancel()
        tables = (view for view in self.block_views if isinstance(view, TableView))
        block_views = [*self.block_views, *(piece for table in tables for piece in table.release_pieces())]
        self.block_views = []
        for known in (self._heights, self._places):
            known.clear()
        return block_views

    def restyle(self) -> None:
        self._heights.clear()
        self.height_changed.emit()

    def heightForWidth(self, width: int) -> int:
        heights = [self._height(view, width - self._inset(view, width)) for view in self.block_views]
        return sum(heights) + sum(_gap(above, below) for above, below in pairwise(self.block_views))

    def resizeEvent(self, _event: object) -> None:
        self._place()

    def _begin(self, blocks: Iterator[Block | None], ahead: bool) -> None:
        self._growing, self._lags = None, False
        self._clear(0)
        self._remaining = blocks
        cost = 0
        while self._remaining is not None and not ahead and cost < IMMEDIATE_COST:
            cost += self._lay_out_step()
        self._place_and_report()
        if not self.filled:
            slices().add(self, self._fill)

    @property
    def _incomplete_table(self) -> TableView | None:
        """The first table whose rows are not all laid out yet, or None."""
        return next((view for view in self.block_views if isinstance(view, TableView) and not view.filled), None)

    def _fill(self) -> bool:
        """Lay out the next block, or more of the table above it; return whether more is left."""
        if self._growing is not None:
            return self._draw_step()
        count, table = len(self.block_views), self._incomplete_table
        self._lay_out_step()
        if table or len(self.block_views) != count or self._remaining is None:
            self._place_and_report()
        return not self.filled

    def _lay_out_step(self) -> int:
        """Lay out the next block, or do a step towards it; return the cost of that step.

        The block behind a table waits until the table is complete, because the block would move.
        """
        table = self._incomplete_table
        if table is not None:
            table.lay_out()
            return WIDGET_COST["table"]
        block = next(self._remaining, END) if self._remaining is not None else END
        if block is END:
            self._remaining = None
        elif block is not None:
            self._show_block(len(self.block_views), block, complete=True)
            return layout_cost(block) + WIDGET_COST.get(block.kind, WIDGET_COST["prose"])
        return READ_COST

    def _height(self, view: BlockView, width: int) -> int:
        known = self._heights.get(view)
        if known is None or known[0] != width:
            known = self._heights[view] = (width, view.heightForWidth(width))
        return known[1]

    def _draw(self) -> None:
        if self._draw_step():
            slices().add(self, self._draw_step)

    def _draw_step(self) -> bool:
        """Read and show more of the growing text; return whether some of it is still to be shown."""
        text, cost, shown = self._growing, 0, False
        if table := self._incomplete_table:
            table.lay_out()
        while text is not None and cost < IMMEDIATE_COST and not (shown and text.is_read):
            blocks = text.read() or [WAITING]
            cost, shown = self._show_blocks(blocks, cost + READ_COST)
        self._lags = text is not None and not (shown and text.is_read)
        if text is not None and text.state == "ended" and not self._lags:
            self._end()
        if text is not None:
            self._move_caret()
            self._place_and_report()
        return self._lags

    def _show_blocks(self, blocks: list[Block], cost: int) -> tuple[int, bool]:
        """Show blocks in place of the present ones, as far as the cost allows, and none below an incomplete table.

        Returns the cost with theirs, and whether all are shown.
        """
        for number, block in enumerate(blocks):
            view = self.block_views[number] if number < len(self.block_views) else None
            if view is None or view.block != block:  # the last blocks are read anew each time, most of them as before
                if cost >= IMMEDIATE_COST:
                    return cost, False
                cost += layout_cost(block) + WIDGET_COST.get(block.kind, WIDGET_COST["prose"])
                self._show_block(number, block)
            shown = self.block_views[number]
            if number + 1 < len(blocks) and isinstance(shown, TableView) and not shown.filled:
                return cost, False
        self._clear(len(blocks))
        return cost, True

    def _end(self) -> None:
        self._growing = None
        for view in self.block_views:
            if isinstance(view, CodeView):
                view.finish()

    def _show_block(self, number: int, block: Block, complete: bool = False) -> None:
        view = self.block_views[number] if number < len(self.block_views) else None
        if view is not None and view.block is block:
            return
        if view is None or type(view) is not VIEW_CLASSES[block.kind]:
            self._clear(number)
            view = self._make_view(block)
            self.block_views.append(view)
            view.show()
        if view.block != block:
            self._fill_view(view, block, complete)
        view.block = block

    def _fill_view(self, view: BlockView, block: Block, complete: bool = False) -> None:
        self._heights.pop(view, None)
        if isinstance(view, CodeView):
            view.set_code(block.text, block.language, complete)
        else:
            view.set_block(block)

    def _make_view(self, block: Block) -> BlockView:
        kind = VIEW_CLASSES[block.kind]
        view = kind(self, self._soft or kind is NotesView) if issubclass(kind, ProseView) else kind(self)
        view.height_changed.connect(lambda: self._view_resized(view))
        return view

    def _view_resized(self, view: BlockView) -> None:
        """Schedule one placement for all views whose height changes in this turn of the event loop."""
        self._heights.pop(view, None)
        self._reported = None
        self._placing.request()

    def _place_and_report(self) -> None:
        """Place the views; report a new height, or that all of the text is laid out.

        Most words of a streamed text change neither, and nobody above has to measure this stack again.
        """
        self._placing.cancel()
        before, self._reported = self._reported, (self.width(), self._place(), self.filled)
        if self._reported != before or not self.testAttribute(Qt.WidgetAttribute.WA_Resized):
            self.height_changed.emit()

    def _clear(self, first: int) -> None:
        for view in self.block_views[first:]:
            self._discard(view)
        del self.block_views[first:]

    def _discard(self, view: BlockView) -> None:
        for known in (self._heights, self._places):
            known.pop(view, None)
        discard(view)

    def _move_caret(self) -> None:
        for view in self.block_views:
            if isinstance(view, ProseView):
                view.set_caret(self._growing is not None and view is self.block_views[-1])

    def _place(self) -> int:
        """Move the views to their places and return the height of them all."""
        if not self.testAttribute(Qt.WidgetAttribute.WA_Resized):
            return 0  # the width is not set yet, and laying out for a provisional one would be wasted
        top, width, above = 0, self.width(), None
        for view in self.block_views:
            top += _gap(above, view) if above is not None else 0
            left = self._inset(view, width)
            height = self._height(view, width - left)
            if self._places.get(view) != (top, width - left, height):  # hundreds may be in place already
                self._places[view] = (top, width - left, height)
                view.setGeometry(left, top, width - left, height)
            top, above = top + height, view
        return top

    def _inset(self, view: BlockView, width: int) -> int:
        """Return a view's left indentation in pixels: that of the lists and quotations that hold the block."""
        block = view.block
        return min((block.outside + block.depth) * SIZES.indent + block.quote * SIZES.gap_l, width // 3)

    def paintEvent(self, _event: object) -> None:
        """Draw a bar beside each quotation, from its first block to its last."""
        painter = QPainter(self)
        for number, view in enumerate(self.block_views):
            block = view.block
            following = self.block_views[number + 1].block if number + 1 < len(self.block_views) else END
            for level in range(block.quote):
                goes_on = following.quote > level and following.outside == block.outside
                bottom = self.block_views[number + 1].y() if goes_on else view.y() + view.height()
                left = min(block.outside * SIZES.indent + level * SIZES.gap_l, self.width() // 3 - SIZES.gap)
                painter.fillRect(left, view.y(), SIZES.bar, bottom - view.y(), QColor(theme().line))


def _gap(above: BlockView, below: BlockView) -> int:
    """Return the pixels between two views; those between two texts are the same as within one."""
    if isinstance(above, PlainView):
        return 0
    if isinstance(above, ProseView) and isinstance(below, ProseView):
        paragraphs = above.block.paragraphs[-1:], below.block.paragraphs[:1]
        return space_between(*map(next, map(iter, paragraphs))) if all(paragraphs) else SIZES.gap_m
    # A line of prose has its leading below the letters. Without the extra gap, a box would be closer to the prose below
    # it than to the prose above it.
    return SIZES.gap_m + (SIZES.gap if not isinstance(above, ProseView) else 0)


def delete_in_slices(widget: QWidget, stacks: Iterable[BlockStack]) -> None:
    """Hide the widget now and delete it in slices, the views of its `stacks` one by one.

    Deleting hundreds of texts at once takes longer than a frame.
    """
    widget.hide()
    block_views = [view for stack in stacks for view in stack.release_views()]

    def step() -> bool:
        if block_views and isValid(view := block_views.pop()):
            delete(view)
        if not block_views:
            widget.deleteLater()
        return bool(block_views)

    slices().add(widget, step)
