"""A text as a stack of prose, tables and code. Finished blocks are laid out once, the open one anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QWidget
from shiboken6 import delete, isValid

from app.look.theme import SIZES
from app.markdown.blocks import (
    JOINED,
    Block,
    BlockSplitter,
    Kind,
    plain_pieces,
    runs,
    split_slowly,
    weight,
)
from app.markdown.code_view import CodeView
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


class BlockStack(QWidget):
    """`resized` says that the height for the present width has changed; `link` carries a clicked address."""

    resized = Signal()
    link = Signal(str)

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

    @property
    def filled(self) -> bool:
        """Is all of the text laid out?"""
        return self._left is None

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
        self._draw()
        self._splitter = None
        for part in self.parts:
            if isinstance(part, ProseView):
                part.set_caret(False)
            elif isinstance(part, CodeView):
                part.settle()
        slices().add(self, self._join)

    def lay_out(self) -> None:
        """The next block of a finished text now, and not in a slice of its own."""
        if self._left is not None:
            self._fill()

    def give_up(self) -> list[Part]:
        """The parts, which are the caller's to delete now; nothing more is laid out."""
        self._left = self._splitter = None
        self._throttle.cancel()
        self._placer.stop()
        tables = (part for part in self.parts if isinstance(part, TableView))
        parts, self.parts = [*self.parts, *(piece for table in tables for piece in table.give_up())], []
        self._heights.clear()
        self._places.clear()
        return parts

    def restyle(self) -> None:
        self._heights.clear()
        for part in self.parts:
            part.restyle()
        self.resized.emit()

    def retranslate(self) -> None:
        for part in self.parts:
            part.retranslate()

    def heightForWidth(self, width: int) -> int:
        heights = [self._height(part, width) for part in self.parts]
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
        if self._left is not None:
            slices().add(self, self._fill)
        self._placed_anew()

    def _fill(self) -> bool:
        """Lay out the next block; are there more?"""
        count = len(self.parts)
        self._fill_one()
        if len(self.parts) != count or self._left is None:
            self._placed_anew()
        return self._left is not None

    def _fill_one(self) -> int:
        """The next block, or a step towards it; how heavy that was."""
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
        finished, open_block = self._splitter.finished, self._splitter.open
        for number in range(self._shown, len(finished)):
            self._put(number, finished[number])
        self._shown = len(finished)
        if open_block is None and not finished:
            open_block = Block("")  # an empty line for the caret: the answer is on its way
        if open_block is not None:
            self._put(self._shown, open_block)
        self._clear(self._shown + (open_block is not None))
        self._move_caret()
        self._placed_anew()

    def _join(self) -> bool:
        """Join the next group of neighbouring prose; may there be more?"""
        group = self._next_group()
        if not group:
            return False
        first = self.parts.index(group[0])
        joined = self._prose()
        joined.set_markdown("\n\n".join(part.markdown for part in group))
        self.parts[first : first + len(group)] = [joined]
        joined.show()
        for part in group:
            self._discard(part)
        self._placed_anew()
        return True

    def _next_group(self) -> list[ProseView]:
        group: list[ProseView] = []
        for part in [*self.parts, None]:
            prose = part if type(part) is ProseView else None
            if prose and sum(weight(each.markdown) for each in [*group, prose]) <= JOINED:
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
        self._heights.pop(part, None)
        if isinstance(part, CodeView):
            part.set_code(block.text, block.language, whole)
        elif isinstance(part, TableView):
            part.set_table(block.text)
        elif block.kind == "plain":
            part.set_plain(block.text)
        else:
            part.set_markdown(block.text)

    def _make(self, block: Block) -> Part:
        if block.kind == "code":
            return self._code()
        return self._table() if block.kind == "table" else self._prose(KINDS[block.kind])

    def _table(self) -> TableView:
        view = TableView(self)
        view.link.connect(self.link)
        view.resized.connect(lambda: self._grown(view))
        return view

    def _prose(self, kind: type[Part] = ProseView) -> ProseView:
        view = PlainView(self) if kind is PlainView else ProseView(self, self._soft)
        if kind is NotesView:
            view = NotesView(self, soft=True)
        view.link.connect(self.link)
        view.grown.connect(lambda: self._grown(view))
        return view

    def _grown(self, part: Part) -> None:
        """Many parts may grow in one turn of the event loop; they get their places once."""
        self._heights.pop(part, None)
        self._placer.start(0)

    def _placed_anew(self) -> None:
        self._place()
        self.resized.emit()

    def _code(self) -> CodeView:
        view = CodeView(self)
        view.resized.connect(lambda: self._grown(view))
        return view

    def _clear(self, first: int) -> None:
        for part in self.parts[first:]:
            self._discard(part)
        del self.parts[first:]

    def _discard(self, part: Part) -> None:
        self._heights.pop(part, None)
        self._places.pop(part, None)
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
            height = self._height(part, width)
            if self._places.get(part) != (top, width, height):  # hundreds of parts may be where they belong
                self._places[part] = (top, width, height)
                part.setGeometry(0, top, width, height)
            top += height + _gap_below(part)


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
