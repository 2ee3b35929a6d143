"""A column of messages: those near the view are widgets, the others only a height, measured or estimated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QFontMetrics

from app.look.theme import SIZES, body_font
from app.markdown.block_stack import delete_slowly
from app.markdown.selection import SelectionScope
from app.store.chat import ChatMessage
from app.transcript.message_view import MessageView

Maker = Callable[[ChatMessage, bool], MessageView]


class MessageColumn(SelectionScope):
    """`rows` are the shown messages by number. Nothing here scrolls: who does asks for rows and their places.

    `changed`: the view of this message says that its height is another one now."""

    changed = Signal(object)

    def __init__(self, make: Maker) -> None:
        super().__init__()
        self.setObjectName("column")
        self.setAttribute(Qt.WidgetAttribute.WA_StaticContents)  # when it grows, messages above are not painted again
        self._make = make
        self._messages: list[ChatMessage] = []
        self._rows: dict[str, int] = {}
        self._live: dict[str, MessageView] = {}
        self._measured: dict[str, int] = {}  # heights by id, for the present width
        self._heights = Heights()
        self._width = self._left = 0
        self._dirty: set[str] = set()  # views whose height may be another one now
        self._filling: dict[str, bool] = {}  # views that were not filled when they were measured: made ahead?

    # --- looking ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def views(self) -> list[MessageView]:
        """The views there are, from top to bottom."""
        return [self._live[id] for id in sorted(self._live, key=self._rows.__getitem__)]

    @property
    def last(self) -> MessageView | None:
        """The view of the last message, which is the one that grows."""
        return self.view(-1) if self._messages else None

    def view(self, row: int) -> MessageView | None:
        return self._live.get(self._messages[row].id)

    def is_whole(self, row: int) -> bool:
        """Has the row a view that was laid out to its end when it was measured?"""
        id = self._messages[row].id
        return id in self._live and id not in self._filling

    def is_ready(self, row: int) -> bool:
        """Has the row a view that is as high as it must be so far?"""
        id = self._messages[row].id
        return id in self._live and id not in self._dirty

    def row_of(self, id: str) -> int | None:
        return self._rows.get(id)

    def top(self, row: int) -> int:
        return SIZES.gap_xl + self._heights.top(row)

    def height_of(self, row: int) -> int:
        return self._heights[row]

    def row_at(self, y: int) -> int:
        return self._heights.row_at(y - SIZES.gap_xl)

    def rows(self, top: int, bottom: int) -> range:
        """Those that lie between, wholly or in part; at least one where there are any."""
        return range(self.row_at(top), self.row_at(max(top, bottom - 1)) + 1) if self._messages else range(0)

    # --- changing ---------------------------------------------------------------------------------------------------

    def show_messages(self, messages: Sequence[ChatMessage]) -> None:
        """From now on the rows are these; views of messages that are still shown stay, the others go."""
        shown = {message.id for message in messages}
        for id in [id for id in self._live if id not in shown]:
            self._let_go(id)  # while the rows are still the old ones: the focus may move
        self._messages = list(messages)
        self._rows = {message.id: row for row, message in enumerate(self._messages)}
        self._reckon()

    def append(self, message: ChatMessage) -> MessageView:
        self._rows[message.id] = len(self._messages)
        self._messages.append(message)
        self._reckon()
        return self.build(len(self._messages) - 1)

    def update_message(self, row: int, message: ChatMessage) -> None:
        """The same message in a new state."""
        self._messages[row] = message

    def fit(self, page: int, width: int) -> None:
        """The page has another width: all heights are guesses again. `width` is the page's without the scroll bar:
        with or without one, the column stays above the composer."""
        column = min(SIZES.column, page - 2 * SIZES.gap_xl)
        self._left = (page - column) // 2 - SIZES.gap
        if column + 2 * SIZES.gap != self._width:
            self._width = column + 2 * SIZES.gap
            self.remeasure()
        self.resize(width, self.height())
        self.place()

    def remeasure(self) -> None:
        """Sizes or fonts have changed."""
        self._measured.clear()
        self._dirty = set(self._live)
        self._reckon()

    def build(self, row: int, ahead: bool = False) -> MessageView:
        """See that the row has a view as high as it must be; the rows below it move. One that is made `ahead` is laid
        out little by little, and meanwhile as high as it was believed to be, so that what is around it stays."""
        message = self._messages[row]
        view = self._live.get(message.id)
        if view is not None:
            self._measure(message.id)
            return view
        view = self._live[message.id] = self._make(message, ahead)
        if not view.filled:
            self._filling[message.id] = ahead
        view.resized.connect(lambda: self._resized(message.id))
        self._measure(message.id)  # before it is shown: it is laid out once, for the width it will have
        self._stack(row, view)
        return view

    def lay_out(self, row: int) -> None:
        """Some more of a view that is not laid out to its end, now."""
        view = self.view(row)
        if view is not None:
            view.lay_out()
            self._measure(view.message.id)

    def measure(self, id: str) -> None:
        """The view's height has changed, or may have."""
        if id in self._live:
            self._measure(id)

    def let_go(self, top: int, bottom: int) -> bool:
        """A view that lies outside goes, but not the last one and none that holds something of the user's. Was there
        one?"""
        for id, view in self._live.items():
            row = self._rows[id]
            outside = self.top(row) + self._heights[row] < top or self.top(row) > bottom
            if outside and row != len(self._messages) - 1 and not view.pinned():
                self._let_go(id)
                return True
        return False

    def place(self) -> None:
        """Put the views where they belong now."""
        for id, view in self._live.items():
            row = self._rows[id]
            view.setGeometry(self._left, self.top(row), self._width, self._heights[row] - SIZES.gap_s)
        self.resize(self.width(), self.top(len(self._messages)) + SIZES.gap_l)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _measure(self, id: str) -> None:
        view = self._live[id]
        row = self._rows[id]
        height = view.heightForWidth(self._width) + SIZES.gap_s
        if view.filled:
            self._filling.pop(id, None)
        elif self._filling.get(id):
            height = max(height, self._heights[row])
        self._measured[id] = height
        if height != self._heights[row]:
            self._heights.set(row, height)
        view.resize(self._width, height - SIZES.gap_s)
        view.place_parts()
        self._dirty.discard(id)  # last: what is set meanwhile is what was just measured

    def _resized(self, id: str) -> None:
        if id in self._rows and id in self._live:
            self._dirty.add(id)
            self.changed.emit(id)

    def _reckon(self) -> None:
        characters = max(1, self._width) / max(1, QFontMetrics(body_font()).averageCharWidth())
        self._heights = Heights(self._measured.get(each.id) or self._guess(each, characters) for each in self._messages)

    def _guess(self, message: ChatMessage, characters: float) -> int:
        line = SIZES.body * SIZES.line_height // 100 * 5 // 4  # a font's own lines are higher than its size
        share = SIZES.user_width if message.role == "user" else 1.0
        around = SIZES.row + SIZES.gap + (SIZES.gap_m if message.role == "user" else 0)
        return estimate(message.content, characters * share, line) + around

    def _let_go(self, id: str) -> None:
        view = self._live.pop(id)
        self._dirty.discard(id)
        self._filling.pop(id, None)
        delete_slowly(view, view.stacks)

    def _stack(self, row: int, view: MessageView) -> None:
        """Tab leads from message to message in their order, whenever their views were made."""
        view.move(QPoint(self._left, self.top(row)))
        after = next((each for each in self.views if self._rows[each.message.id] > row), None)
        if after is not None:
            view.stackUnder(after)
        view.show()


class Heights:
    """The heights of rows that follow each other, measured or estimated ones, in pixels: a Fenwick tree of partial sums
    (P. Fenwick, 1994). Finding a row by its place, and changing a height, take time in the order of log(rows)."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._sums = [0, *self._heights]
        for at in range(1, len(self._sums)):
            above = at + (at & -at)
            if above < len(self._sums):
                self._sums[above] += self._sums[at]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, row: int) -> int:
        return self._heights[row]

    @property
    def total(self) -> int:
        return self.top(len(self._heights))

    def top(self, row: int) -> int:
        """Where `row` begins: the sum of all heights before it."""
        total = 0
        while row:
            total += self._sums[row]
            row &= row - 1
        return total

    def set(self, row: int, height: int) -> None:
        change, self._heights[row] = height - self._heights[row], height
        at = row + 1
        while at < len(self._sums):
            self._sums[at] += change
            at += at & -at

    def row_at(self, y: int) -> int:
        """The row that holds `y`, the first or the last one where `y` lies outside; -1 when there are no rows."""
        at, step = 0, 1 << len(self._sums).bit_length()
        while step:
            if at + step < len(self._sums) and self._sums[at + step] <= y:
                at += step
                y -= self._sums[at]
            step >>= 1
        return min(at, len(self._heights) - 1)


def estimate(text: str, characters: float, line: int) -> int:
    """About how high `text` will be, with so many characters in a line that is `line` pixels high."""
    return line * (1 + text.count("\n") + int(len(text) / max(characters, 1)))
