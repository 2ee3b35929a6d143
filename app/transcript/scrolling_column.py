"""A column of messages that scrolls: views are made just before they are seen, and nothing in view jumps meanwhile."""

from __future__ import annotations

import math
import time

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QPushButton, QScrollArea, QWidget

from app.chats.chat import ChatMessage
from app.look.icons import icon
from app.look.theme import SIZES, theme
from app.slices import slices
from app.transcript.drag_scroll import DragScroll
from app.transcript.message_column import MessageColumn
from app.transcript.message_view import MessageView
from app.words import tr

AHEAD_PAGES, KEPT_PAGES = 1.5, 4.0  # made before they are seen; kept after they were
PATIENCE_SECONDS = 0.004  # of a step of scrolling; a frame has 16 ms, and painting takes its share
Anchor = tuple[int, int]  # a row, and where it is to be in the view: pixels below the view's upper edge


class ScrollingColumn(QScrollArea):
    """Knows no conversation: a subclass makes the views, and says which messages there are.

    `following`: the end stays in view while it grows."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.column = MessageColumn(self.make)
        self.column.changed.connect(self._resized)
        self.setWidget(self.column)
        DragScroll(self, self.column)
        self.following = True
        self._moving = False
        self._forward = True
        self._value = 0
        self._down = QPushButton(self)
        self._down.setObjectName("down")
        self._down.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._down.clicked.connect(self.to_end)
        self._down.hide()
        self.verticalScrollBar().valueChanged.connect(self._scrolled)

    def make(self, message: ChatMessage, ahead: bool) -> MessageView:
        """The view of a message; `ahead`: it is not in view yet, and may be filled later."""
        raise NotImplementedError

    @property
    def views(self) -> list[MessageView]:
        """The views there are, from top to bottom; the last one is always the last message's."""
        return self.column.views

    @property
    def whole(self) -> bool:
        """Is all that is in view laid out?"""
        if not len(self.column):
            return True
        top = self.view_top()
        rows = range(self.column.row_at(top), self.column.row_at(top + self.viewport().height() - 1) + 1)
        return all((view := self.column.view(row)) is not None and view.filled for row in rows)

    def to_end(self) -> None:
        self.following = True
        self.fill()

    def to_start(self) -> None:
        self.scroll_to(0)

    def scroll_to(self, row: int) -> None:
        """The row at the upper edge of the view, if the column is long enough."""
        if len(self.column):
            self.following = False
            self.fill((row, SIZES.gap_xl))
            self.see_whether_following()

    def restyle(self) -> None:
        self._down.setFixedSize(SIZES.control, SIZES.control)
        self._down.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self._down.setIcon(icon("down", theme().ink))
        for view in self.views:
            view.restyle()
        self.column.remeasure()
        self._relayout()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Messages"))
        self._down.setAccessibleName(tr("To the end"))
        self._down.setToolTip(tr("To the end"))
        for view in self.views:
            view.retranslate()

    def anchor(self) -> Anchor | None:
        """The uppermost row in view that has all of its height, and where it is: it must not jump."""
        if not len(self.column):
            return None
        top = self.verticalScrollBar().value()
        first = row = self.column.row_at(top)
        last = self.column.row_at(top + self.viewport().height())
        while row <= last:
            if self.column.is_whole(row):
                return row, self.column.top(row) - top
            row += 1
        return first, self.column.top(first) - top

    def fill(self, anchor: Anchor | None = None, patience: float = math.inf, least: int = 0) -> None:
        """See that all that is in view is there, at its right height, and that nothing in view jumps meanwhile. What
        is not there after `patience` seconds, and `least` messages, comes in the next turns of the event loop."""
        if self._moving:
            return
        self._moving = True
        until = time.perf_counter() + patience
        try:
            anchor = anchor or self.anchor()
            self._settle(anchor)
            while (least > 0 or time.perf_counter() < until) and (rows := self._rows_in_view()):
                self.column.build(rows[-1 if self.following else 0], ahead=patience < math.inf and least <= 0)
                least -= 1
                self._settle(anchor)
        finally:
            self._moving = False
        self._down.setVisible(not self.following)
        slices().add(self, self._build_ahead)

    def _rows_in_view(self) -> list[int]:
        """Those that are not there yet."""
        return self.column.needed(self.view_top(), self.view_top() + self.viewport().height())

    def _settle(self, anchor: Anchor | None) -> None:
        """Place the views, then scroll to the end or to where the anchor was."""
        self.column.place()
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, self.column.height() - self.viewport().height()))
        if self.following:
            bar.setValue(bar.maximum())
        elif anchor is not None:
            bar.setValue(self.column.top(anchor[0]) - anchor[1])
        self._value = bar.value()

    def view_top(self) -> int:
        return self.verticalScrollBar().value()

    def _build_ahead(self) -> bool:
        """Make what is next in the direction of scrolling, or let go of what is far; is there more to do?"""
        page, top = self.viewport().height(), self.view_top()
        ahead = int(page * AHEAD_PAGES)
        below = self.column.needed(top, top + page + ahead)
        above = self.column.needed(top - ahead, top)[::-1]
        seen = self._rows_in_view()
        wanted = (seen[::-1] if self.following else seen) + (below + above if self._forward else above + below)
        if not wanted:
            kept = int(page * KEPT_PAGES)
            return self.column.let_go(top - kept, top + page + kept)
        anchor = self.anchor()
        self._moving = True
        self.column.build(wanted[0], ahead=True)
        self._settle(anchor)
        self._moving = False
        return True

    def _resized(self, id: str) -> None:
        """A view has another height now; while views are being built that is about to be measured anyway."""
        if not self._moving:
            anchor = self.anchor()
            self.column.measure(id)
            self.fill(anchor, PATIENCE_SECONDS)

    def _scrolled(self, value: int) -> None:
        self._forward, self._value = value >= self._value, value
        if not self._moving:
            self.see_whether_following()
            self.fill(patience=PATIENCE_SECONDS)

    def see_whether_following(self) -> None:
        bar = self.verticalScrollBar()
        self.following = bar.value() >= bar.maximum() - SIZES.gap_l
        self._down.setVisible(not self.following)

    def _relayout(self) -> None:
        anchor = self.anchor()
        self.column.fit(self.width(), self.viewport().width())
        self.fill(anchor)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._down.move((self.width() - SIZES.control) // 2, self.height() - SIZES.control - SIZES.gap_m)
        self._relayout()
