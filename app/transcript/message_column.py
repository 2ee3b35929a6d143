"""A column of messages: those near the view are widgets, the others only a height, measured or estimated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QFontMetrics

from app.look.theme import SIZES, body_font
from app.markdown.block_stack import delete_in_slices
from app.markdown.selection import SelectionScope
from app.store.chat import ChatMessage
from app.transcript.message_view import MessageView

Maker = Callable[[ChatMessage, bool], MessageView]


class MessageColumn(SelectionScope):
    """The shown messages, numbered by row. The column does not scroll: its user asks for rows and their positions.

    `height_changed` carries the id of a message whose view needs another height.
    """

    height_changed = Signal(object)

    def __init__(self, make: Maker) -> None:
        super().__init__()
        self.setObjectName("column")
        self.setAttribute(Qt.WidgetAttribute.WA_StaticContents)  # when it grows, messages above are not painted again
        self._make = make
        self._messages: list[ChatMessage] = []
        self._rows: dict[str, int] = {}
        self._views: dict[str, MessageView] = {}
        self._measured: dict[str, int] = {}  # heights by id, for the present width
        self._heights = Heights()
        self._width = self._left = 0
        self._unmeasured: set[str] = set()  # ids of views whose height may have changed
        self._incomplete: dict[str, bool] = {}  # id of a view not `filled` when measured: whether it was made ahead

    # --- reading ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self._messages)

    @property
    def views(self) -> list[MessageView]:
        """The existing views, from top to bottom."""
        return [self._views[id] for id in sorted(self._views, key=self._rows.__getitem__)]

    def view(self, row: int) -> MessageView | None:
        return self._views.get(self._messages[row].id)

    def is_whole(self, row: int) -> bool:
        """Return whether the row has a view that was laid out completely when it was measured."""
        id = self._messages[row].id
        return id in self._views and id not in self._incomplete

    def is_ready(self, row: int) -> bool:
        """Return whether the row has a view with its right height so far."""
        id = self._messages[row].id
        return id in self._views and id not in self._unmeasured

    def row_of(self, id: str) -> int | None:
        return self._rows.get(id)

    def top(self, row: int) -> int:
        return SIZES.gap_xl + self._heights.top(row)

    def height_of(self, row: int) -> int:
        return self._heights[row]

    def row_at(self, y: int) -> int:
        return self._heights.row_at(y - SIZES.gap_xl)

    def rows(self, top: int, bottom: int) -> range:
        """Return the rows that lie between `top` and `bottom`, wholly or partly; at least one if there are messages."""
        return range(self.row_at(top), self.row_at(max(top, bottom - 1)) + 1) if self._messages else range(0)

    # --- changing ---------------------------------------------------------------------------------------------------

    def show_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Set the rows; keep the views of messages that are still shown and delete the others."""
        shown = {message.id for message in messages}
        for id in [id for id in self._views if id not in shown]:
            self._delete_view(id)  # before the rows change, because the focus may move among them
        self._messages = list(messages)
        for message in messages:
            if view := self._views.get(message.id):
                view.show_summary(message.summary)
        self._rows = {message.id: row for row, message in enumerate(self._messages)}
        self._estimate_heights()

    def append(self, message: ChatMessage) -> MessageView:
        self._rows[message.id] = len(self._messages)
        self._messages.append(message)
        self._estimate_heights()
        return self.build(len(self._messages) - 1)

    def update_message(self, row: int, message: ChatMessage) -> None:
        """Replace a row's message by its new state."""
        self._messages[row] = message

    def fit(self, page: int, width: int) -> None:
        """Fit the column to another page width; all heights are estimates again.

        `width` is the page's width without the scroll bar. With or without a scroll bar, the column stays above the
        composer.
        """
        column = min(SIZES.column, page - 2 * SIZES.gap_xl)
        self._left = (page - column) // 2 - SIZES.gap
        if column + 2 * SIZES.gap != self._width:
            self._width = column + 2 * SIZES.gap
            self.remeasure()
        self.resize(width, self.height())
        self.place()

    def remeasure(self) -> None:
        """Forget all measured heights, because sizes or fonts have changed."""
        self._measured.clear()
        self._unmeasured = set(self._views)
        self._estimate_heights()

    def build(self, row: int, ahead: bool = False) -> MessageView:
        """Make the row's view if it has none, and measure it; a new height moves the rows below.

        A view that is made `ahead` of being seen is laid out in slices. Until then it is at least as high as estimated,
        so that the rows around it do not move.
        """
        message = self._messages[row]
        view = self._views.get(message.id)
        if view is not None:
            self.measure(message.id)
            return view
        view = self._views[message.id] = self._make(message, ahead)
        if not view.filled:
            self._incomplete[message.id] = ahead
        view.height_changed.connect(lambda: self._view_height_changed(message.id))
        self.measure(message.id)  # before it is shown, so that it is laid out once, for its final width
        self._insert_view(row, view)
        return view

    def lay_out(self, row: int) -> None:
        """Lay out some more of the row's view, now instead of in a later slice."""
        view = self.view(row)
        if view is not None:
            view.lay_out()
            self.measure(view.message.id)

    def delete_distant_view(self, top: int, bottom: int) -> bool:
        """Delete one view above `top` or below `bottom`; return whether there was one.

        The last message's view stays, and so does a view that holds something of the user's (`pinned`).
        """
        for id, view in self._views.items():
            row = self._rows[id]
            outside = self.top(row) + self._heights[row] < top or self.top(row) > bottom
            if outside and row != len(self._messages) - 1 and not view.pinned():
                self._delete_view(id)
                return True
        return False

    def place(self) -> None:
        """Move the views to their present positions."""
        for id, view in self._views.items():
            row = self._rows[id]
            view.setGeometry(self._left, self.top(row), self._width, self._heights[row] - SIZES.gap_s)
        self.resize(self.width(), self.top(len(self._messages)) + SIZES.gap_l)

    def measure(self, id: str) -> None:
        """Measure a view whose height may have changed."""
        view, row = self._views[id], self._rows[id]
        height = view.heightForWidth(self._width) + SIZES.gap_s
        if view.filled:
            self._incomplete.pop(id, None)
        elif self._incomplete.get(id):
            height = max(height, self._heights[row])
        self._measured[id] = height
        if height != self._heights[row]:
            self._heights.set(row, height)
        view.resize(self._width, height - SIZES.gap_s)
        view.place_parts()
        self._unmeasured.discard(id)  # last, because the lines above mark the view as unmeasured again

    # --- inside -----------------------------------------------------------------------------------------------------

    def _view_height_changed(self, id: str) -> None:
        if id in self._rows and id in self._views:
            self._unmeasured.add(id)
            self.height_changed.emit(id)

    def _estimate_heights(self) -> None:
        characters = max(1, self._width) / max(1, QFontMetrics(body_font()).averageCharWidth())
        self._heights = Heights(
            self._measured.get(each.id) or self._estimate_height(each, characters) for each in self._messages
        )

    def _estimate_height(self, message: ChatMessage, characters: float) -> int:
        line = SIZES.body * SIZES.line_height // 100 * 5 // 4  # a font's line is higher than its size
        share = SIZES.user_width if message.role == "user" else 1.0
        padding = SIZES.row + SIZES.gap + (SIZES.gap_m if message.role == "user" else 0)
        return estimate(message.content, characters * share, line) + padding

    def _delete_view(self, id: str) -> None:
        view = self._views.pop(id)
        self._unmeasured.discard(id)
        self._incomplete.pop(id, None)
        delete_in_slices(view, view.stacks)

    def _insert_view(self, row: int, view: MessageView) -> None:
        """Insert the view at its row in the stacking order; Tab follows that order, not the order of creation."""
        view.move(QPoint(self._left, self.top(row)))
        after = next((each for each in self.views if self._rows[each.message.id] > row), None)
        if after is not None:
            view.stackUnder(after)
        view.show()


class Heights:
    """The heights of consecutive rows in pixels, measured or estimated: a Fenwick tree of partial sums.

    Finding a row by its position and changing a height take O(log rows) (P. Fenwick, 1994).
    """

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

    def top(self, row: int) -> int:
        """Return the position of `row`: the sum of all heights before it."""
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
        """Return the row at the position `y`, the first or last row if `y` lies outside, -1 if there are no rows."""
        at, step = 0, 1 << len(self._sums).bit_length()
        while step:
            if at + step < len(self._sums) and self._sums[at + step] <= y:
                at += step
                y -= self._sums[at]
            step >>= 1
        return min(at, len(self._heights) - 1)


def estimate(text: str, characters: float, line: int) -> int:
    """Estimate the height of `text` in pixels, from the `characters` in a line and the height of a `line`."""
    return line * (1 + text.count("\n") + int(len(text) / max(characters, 1)))
