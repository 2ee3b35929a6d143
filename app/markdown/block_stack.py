"""A text as a stack of prose, tables and code. Finished blocks are laid out once, the open one anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import delete, isValid

from app.look.live import Live
from app.look.theme import SIZES
from app.markdown.blocks import Block, BlockSplitter, Kind, joined, may_join, plain_pieces, runs, split_slowly, weight
from app.markdown.code_view import CodeView
from app.markdown.grammar import prepare
from app.markdown.prose_view import ProseView
from app.markdown.table_view import TableView
from app.services.frames import slices
from app.services.timers import Throttle


class NotesView(ProseView):
    """The footnotes below a text, in a quieter colour."""


class PlainView(ProseView):
    """A piece of what the user typed."""


Part = ProseView | CodeView | TableView
KINDS: dict[Kind, type[Part]] = {
    "prose": ProseView,
    "code": CodeView,
    "table": TableView,
    "notes": NotesView,
    "plain": PlainView,
}
FRAME_MS = 33
END = Block("")
SPLITTING = 2_000  # the `weight` of looking for a block
MAKING: dict[Kind, int] = {"prose": 800, "code": 2_000, "table": 2_500}  # the `weight` of a part's widgets
AT_ONCE = 4_000  # the `weight` that is laid out before anybody goes on: 5 ms


class BlockStack(Live, QWidget):
    """`resized` says that the height for the present width has changed."""

    resized = Signal()

    def __init__(self, parent: QWidget | None = None, soft: bool = False) -> None:
        super().__init__(parent)
        self._soft = soft
        self.parts: list[Part] = []
        self._splitter: BlockSplitter | None = None
        self._shown = 0  # how many of the splitter's finished blocks are drawn for good
        self._throttle = Throttle(self._draw, FRAME_MS, self)
        self._left: Iterator[Block | None] | None = None  # of a finished text, what is not laid out yet
        self._placer = QTimer(self)
        self._placer.setSingleShot(True)
        self._placer.timeout.connect(self._placed_anew)
        self._heights: dict[Part, tuple[int, int]] = {}  # for which width, how high
        self._places: dict[Part, tuple[int, int, int]] = {}  # top, width and height
        self._blocks: dict[Part, Block] = {}  # what each of them shows
        prepare()
        self.apply_look()

    @property
    def filled(self) -> bool:
        """Is all of the text laid out, and in its place?"""
        return self._left is None and self._growing is None and not self._placer.isActive()

    def set_text(self, text: str, ahead: bool = False) -> None:
        """Show a finished text; a long one, or one that is made `ahead` of its being seen, in slices."""
        self._begin(runs(split_slowly(text)), ahead)

    def set_plain(self, text: str, ahead: bool = False) -> None:
        """Show what the user typed, likewise."""
        self._begin(plain_pieces(text), ahead)

    def start(self, text: str) -> None:
        """Show a text that `grow` will add to."""
        self._splitter = BlockSplitter()
        self._left = None
        self._shown = 0
        self._clear(0)
        self._splitter.feed(text)
        self._draw()

    def grow(self, piece: str) -> None:
        if self._splitter is not None:
            self._splitter.feed(piece)
            self._throttle.request()

    def finish(self) -> None:
        """The text is complete: join its prose, so that Tab and a screen reader come to few long texts."""
        if self._splitter is None:
            return
        self._throttle.cancel()
        self._splitter.close()
        self._shown = 0  # an address that was named at the end may change any block
        self._draw()
        self._splitter = None
        for part in self.parts:
            if isinstance(part, ProseView):
                part.set_caret(False)
            elif isinstance(part, CodeView):
                part.settle()
        slices().add(self, self._join)

    def lay_out(self) -> None:
        """The next block of a finished text, or more of a table, now and not in a slice of its own."""
        if not self.filled:
            self._fill()

    def give_up(self) -> list[Part]:
        """The parts, which are the caller's to delete now; nothing more is laid out."""
        self._left = self._splitter = None
        self._throttle.cancel()
        self._placer.stop()
        tables = (part for part in self.parts if isinstance(part, TableView))
        parts, self.parts = [*self.parts, *(piece for table in tables for piece in table.give_up())], []
        for known in (self._heights, self._places, self._blocks):
            known.clear()
        return parts

    def restyle(self) -> None:
        self._heights.clear()
        self.resized.emit()

    def heightForWidth(self, width: int) -> int:
        heights = [self._height(part, width - self._inset(part, width)) for part in self.parts]
        return sum(heights) + sum(map(_gap_below, self.parts[:-1]))

    def resizeEvent(self, _event: object) -> None:
        self._place()

    def _begin(self, blocks: Iterator[Block | None], ahead: bool) -> None:
        self._splitter = None
        self._clear(0)
        self._left = blocks
        done = 0
        while self._left is not None and not ahead and done < AT_ONCE:
            done += self._fill_one()
        self._placed_anew()
        if not self.filled:
            slices().add(self, self._fill)

    @property
    def _growing(self) -> TableView | None:
        """The first table that has rows to be laid out still."""
        return next((part for part in self.parts if isinstance(part, TableView) and not part.filled), None)

    def _fill(self) -> bool:
        """Lay out the next block, or more of the table above it; are there more?"""
        count, table = len(self.parts), self._growing
        self._fill_one()
        if table or len(self.parts) != count or self._left is None:
            self._placed_anew()
        return not self.filled

    def _fill_one(self) -> int:
        """The next block, or a step towards it; how heavy that was. What follows a table comes when that is whole, for
        it would move."""
        table = self._growing
        if table is not None:
            table.lay_out()
            return MAKING["table"]
        block = next(self._left, END) if self._left is not None else END
        if block is END:
            self._left = None
        elif block is not None:
            self._put(len(self.parts), block, whole=True)
            return weight(block.text) + MAKING.get(block.kind, MAKING["prose"])
        return SPLITTING

    def _height(self, part: Part, width: int) -> int:
        known = self._heights.get(part)
        if known is None or known[0] != width:
            known = self._heights[part] = (width, part.heightForWidth(width))
        return known[1]

    def _draw(self) -> None:
        assert self._splitter
        finished, tail = self._splitter.finished, self._splitter.tail
        if not finished and not tail:
            tail = [Block("")]  # an empty line for the caret: the answer is on its way
        for number, block in enumerate([*finished[self._shown :], *tail], self._shown):
            self._put(number, block)
        self._shown = len(finished)
        self._clear(self._shown + len(tail))
        self._move_caret()
        self._placed_anew()

    def _join(self) -> bool:
        """Join the next group of neighbouring prose; may there be more?"""
        group = self._next_group()
        if not group:
            return False
        first = self.parts.index(group[0])
        block = joined([self._blocks[part] for part in group])
        part = self._make(block)
        self._fill_part(part, block)
        self.parts[first : first + len(group)] = [part]
        part.show()
        for each in group:
            self._discard(each)
        self._placed_anew()
        return True

    def _next_group(self) -> list[ProseView]:
        group: list[ProseView] = []
        for part in [*self.parts, None]:
            prose = part if type(part) is ProseView else None
            if prose and may_join([self._blocks[each] for each in [*group, prose]]):
                group.append(prose)
                continue
            if len(group) > 1 and not any(member.textCursor().hasSelection() for member in group):
                return group
            group = [prose] if prose else []
        return []

    def _put(self, number: int, block: Block, whole: bool = False) -> None:
        part = self.parts[number] if number < len(self.parts) else None
        if part is None or type(part) is not KINDS[block.kind]:
            self._clear(number)
            part = self._make(block)
            self.parts.append(part)
            part.show()
        if self._blocks.get(part) != block:
            self._fill_part(part, block, whole)

    def _fill_part(self, part: Part, block: Block, whole: bool = False) -> None:
        self._blocks[part] = block
        self._heights.pop(part, None)
        if isinstance(part, CodeView):
            part.set_code(block.text, block.language, whole)
        elif isinstance(part, TableView):
            part.set_table(block.text, block.links)
        elif block.kind == "plain":
            part.set_plain(block.text)
        else:
            part.set_markdown(block.markdown)

    def _make(self, block: Block) -> Part:
        kind = KINDS[block.kind]
        part = kind(self, self._soft or kind is NotesView) if issubclass(kind, ProseView) else kind(self)
        part.resized.connect(lambda: self._grown(part))
        return part

    def _grown(self, part: Part) -> None:
        """Many parts may grow in one turn of the event loop; they get their places once."""
        self._heights.pop(part, None)
        self._placer.start(0)

    def _placed_anew(self) -> None:
        self._placer.stop()
        self._place()
        self.resized.emit()

    def _clear(self, first: int) -> None:
        for part in self.parts[first:]:
            self._discard(part)
        del self.parts[first:]

    def _discard(self, part: Part) -> None:
        for known in (self._heights, self._places, self._blocks):
            known.pop(part, None)
        part.hide()
        part.deleteLater()

    def _move_caret(self) -> None:
        for part in self.parts[-2:]:
            if isinstance(part, ProseView):
                part.set_caret(part is self.parts[-1])

    def _place(self) -> None:
        if not self.testAttribute(Qt.WidgetAttribute.WA_Resized):
            return  # laid out for a width that nobody has asked for, it would be laid out twice
        top, width = 0, self.width()
        for part in self.parts:
            left = self._inset(part, width)
            height = self._height(part, width - left)
            if self._places.get(part) != (top, width - left, height):  # hundreds may be where they belong
                self._places[part] = (top, width - left, height)
                part.setGeometry(left, top, width - left, height)
            top += height + _gap_below(part)

    def _inset(self, part: Part, width: int) -> int:
        """How far in a part begins: below the text of the list item that it belongs to."""
        return min(self._blocks[part].depth * SIZES.indent, width // 3)


def _gap_below(part: Part) -> int:
    if isinstance(part, PlainView):
        return 0
    # A line of prose has its leading below it, so what follows a box would stand closer than what comes before.
    return SIZES.gap_m + (SIZES.gap if not isinstance(part, ProseView) else 0)


def delete_slowly(widget: QWidget, stacks: Iterable[BlockStack]) -> None:
    """Hide the widget now and delete it, the `stacks` in it part by part: hundreds of texts at once take longer than a
    frame."""
    widget.hide()
    parts = [part for stack in stacks for part in stack.give_up()]

    def step() -> bool:
        if parts and isValid(part := parts.pop()):
            delete(part)
        if not parts:
            widget.deleteLater()
        return bool(parts)

    slices().add(widget, step)
