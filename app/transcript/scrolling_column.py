"""A column of messages that scrolls: views are made just before they are seen, and nothing in view jumps meanwhile."""

from __future__ import annotations

import math
import time

from PySide6.QtCore import QEvent, QPoint, QSize, Qt, QTimer
from PySide6.QtWidgets import QPushButton, QScrollArea, QWidget

from app.look.live import Live
from app.look.theme import SIZES, icon, theme
from app.markdown.selection import SelectionScope
from app.services.frames import slices
from app.store.chat import ChatMessage
from app.transcript.message_column import MessageColumn
from app.transcript.message_view import MessageView
from app.words import tr

AHEAD_PAGES, KEEP_PAGES = 1.5, 4.0  # pages above and below: up to where views are made, and kept
PATIENCE_SECONDS = 0.004  # time to build rows per scrolling step; a frame has 16 ms, which painting needs too
DRAG_MS = 16
DRAG_SHARE = 8  # each tick scrolls by this fraction of the pointer's distance from the edge
Anchor = tuple[int, int]  # a row, and its position in pixels below the view's upper edge


class ScrollingColumn(Live, QScrollArea):
    """A scroll area for messages that knows no conversation: a subclass makes the views and sets the messages.

    `following`: the end stays in view while it grows.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.column = MessageColumn(self.make)
        self.column.height_changed.connect(self._view_height_changed)
        self.setWidget(self.column)
        DragScroll(self, self.column)
        self.following = True
        self._building = False
        self._scrolling_down = True
        self._scroll_value = 0
        self._down = QPushButton(self)
        self._down.setObjectName("down")
        self._down.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._down.clicked.connect(self.to_end)
        self._down.hide()
        self.verticalScrollBar().valueChanged.connect(self._scrolled)

    def make(self, message: ChatMessage, ahead: bool) -> MessageView:
        """Make the view of a message; `ahead`: it is not in view yet and may be laid out later."""
        raise NotImplementedError

    @property
    def views(self) -> list[MessageView]:
        """The existing views, from top to bottom; the last one belongs to the last message."""
        return self.column.views

    @property
    def whole(self) -> bool:
        """Whether all rows in view are completely laid out."""
        return all(map(self.column.is_whole, self._in_view()))

    def to_end(self) -> None:
        self.following = True
        self.fill()

    def page(self, key: str) -> None:
        """Scroll by a page (`page_up`, `page_down`), or to the `start` or `end`."""
        bar = self.verticalScrollBar()
        if key in ("start", "end"):
            (self.to_start if key == "start" else self.to_end)()
        elif key in ("page_up", "page_down"):
            step = self.viewport().height() - SIZES.gap_xl
            bar.setValue(bar.value() + (step if key == "page_down" else -step))

    def to_start(self) -> None:
        self.scroll_to(0)

    def scroll_to(self, row: int) -> None:
        """Scroll the row to the upper edge of the view, as far as the column is long enough."""
        if len(self.column):
            self.scroll_row_to(row, SIZES.gap_xl)

    def bring_into_view(self, row: int) -> None:
        """Scroll to the row unless some of it is in view; what does not fit into a frame is built later."""
        if row not in self._in_view():
            self.scroll_row_to(row, SIZES.gap_xl, PATIENCE_SECONDS)

    def show_place(self, row: int, top: int, height: int) -> None:
        """Scroll to a part of the row, `top` pixels below the row's top, unless it is well in view."""
        page, at = self.viewport().height(), self.column.top(row) - self.view_top() + top
        if at < SIZES.gap_xl or at + height > page - SIZES.gap_xl:
            self.scroll_row_to(row, page // 3 - top, PATIENCE_SECONDS)

    def scroll_row_to(self, row: int, place: int, patience: float = math.inf) -> None:
        """Scroll so that the row's top is `place` pixels below the view's upper edge."""
        self.following = False
        self.fill((row, place), patience)
        self.update_following()

    def lay_out_row(self, row: int) -> bool:
        """Build the row, or lay out some more of it, where it is; return whether it is complete."""
        anchor = self.anchor()
        self._building = True
        self._work_on(row, anchor)
        self._building = False
        return self.column.is_whole(row)

    def views_nearby(self) -> list[MessageView]:
        """Return the existing views within a page of what is in view, from top to bottom."""
        page, top = self.viewport().height(), self.view_top()
        views = map(self.column.view, self.column.rows(top - page, top + 2 * page))
        return [view for view in views if view is not None]

    def restyle(self) -> None:
        self._down.setFixedSize(SIZES.control, SIZES.control)
        self._down.setIconSize(QSize(SIZES.icon, SIZES.icon))
        self._down.setIcon(icon("down", theme().ink))
        self._remeasure()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Messages"))
        self._down.setAccessibleName(tr("Go to end"))
        self._down.setToolTip(tr("Go to end"))

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LanguageChange:  # by now the messages have the new texts
            self._remeasure()
        return done

    def anchor(self, before: int | None = None) -> Anchor | None:
        """Return the row that must not jump, and its position: the uppermost row in view that is completely laid out.

        `before` is the scroll position before the last scrolling. A row that was in view there too is preferred to one
        that comes into view, because rows between the two may have estimated heights.
        """
        rows = self._in_view()
        if not rows:
            return None
        whole = [row for row in rows if self.column.is_whole(row)]
        seen = self._in_view(before) if before is not None else rows
        row = next((row for row in whole if row in seen), whole[0] if whole else rows[0])
        return row, self.column.top(row) - self.view_top()

    def fill(self, anchor: Anchor | None = None, patience: float = math.inf, least: int = 0) -> None:
        """Build all rows in view with their right heights, without moving what is in view.

        After `patience` seconds and at least `least` rows, the rest is left to the next turns of the event loop.
        """
        if self._building:
            return
        self._building = True
        until = time.perf_counter() + patience
        try:
            anchor = anchor or self.anchor()
            self._place_and_scroll(anchor)
            while least > 0 or time.perf_counter() < until:
                now = least > 0 or patience == math.inf
                row = self._next_row(self._in_view(), anchor, now)
                if row is None:
                    break
                self._work_on(row, anchor, ahead=not now)
                least -= 1
            self._close_gaps(anchor)
        finally:
            self._building = False
        self._down.setVisible(not self.following)
        slices().add(self, self._build_ahead)

    def _in_view(self, top: int | None = None) -> range:
        """Return the rows in view now, or in a view that begins at `top`."""
        top = self.view_top() if top is None else top
        return self.column.rows(top, top + self.viewport().height())

    def _next_row(self, rows: range, anchor: Anchor | None, now: bool = False) -> int | None:
        """Return the next row to work on, or None: the nearest to the anchor that is not complete.

        No row beyond an incomplete one is worked on, because it would move when that one is completed. `now`: the
        incomplete row itself is worked on until it reaches the edge of the view.
        """
        if not rows or anchor is None:
            return None
        start = rows.stop - 1 if self.following else min(max(anchor[0], rows.start), rows.stop - 1)
        up, down = range(start, rows.start - 1, -1), range(start, rows.stop)
        for side in (up,) if self.following else (down, up) if self._scrolling_down else (up, down):
            for row in side:
                if not self.column.is_ready(row) or (now and self._ends_in_view(row, side.step)):
                    return row
                if not self.column.is_whole(row):
                    break
        return None

    def _ends_in_view(self, row: int, step: int) -> bool:
        """Return whether the row is not completely laid out and its neighbour above (-1) or below (1) is in view."""
        if self.column.is_whole(row):
            return False
        top = self.column.top(row) - self.view_top()
        return top > 0 if step < 0 else top + self.column.height_of(row) < self.viewport().height()

    def _close_gaps(self, anchor: Anchor | None) -> None:
        """Lay out rows that came into view because another row became lower, before they are painted."""
        while (row := self._next_gap()) is not None:
            self._work_on(row, anchor)

    def _next_gap(self) -> int | None:
        """Return an incompletely laid out row in view between two complete ones, or None.

        One of its neighbours would jump as soon as that row is laid out.
        """
        rows = self._in_view()
        whole = [row for row in rows if self.column.is_whole(row)]
        return next((row for row in range(whole[0], whole[-1]) if row not in whole), None) if whole else None

    def _work_on(self, row: int, anchor: Anchor | None, ahead: bool = False) -> None:
        """Build the row, measure it, or lay out some more of it."""
        if self.column.is_ready(row):
            self.column.lay_out(row)
        else:
            self.column.build(row, ahead)
        self._place_and_scroll(anchor)

    def _place_and_scroll(self, anchor: Anchor | None) -> None:
        """Place the views, then scroll to the end, or so that the anchor keeps its position."""
        self.column.place()
        bar = self.verticalScrollBar()
        bar.setRange(0, max(0, self.column.height() - self.viewport().height()))
        if self.following:
            bar.setValue(bar.maximum())
        elif anchor is not None:
            bar.setValue(self.column.top(anchor[0]) - anchor[1])
        self._scroll_value = bar.value()

    def view_top(self) -> int:
        return self.verticalScrollBar().value()

    def _build_ahead(self) -> bool:
        """Build the next row in the direction of scrolling, or delete a distant view; return whether to call again.

        While a row is still being laid out by its own slices, this work continues after them.
        """
        page, top = self.viewport().height(), self.view_top()
        ahead, keep = int(page * AHEAD_PAGES), int(page * KEEP_PAGES)
        anchor = self.anchor()
        row = self._next_row(self._in_view(), anchor)
        if row is None:
            row = self._next_row(self.column.rows(top - ahead, top + page + ahead), anchor)
        if row is None:
            return self.column.delete_distant_view(top - keep, top + page + keep)
        self._building = True
        self._work_on(row, anchor, ahead=True)
        self._close_gaps(anchor)
        self._building = False
        return True

    def _view_height_changed(self, id: str) -> None:
        """Measure a view with a changed height, unless rows are being built, which measures them anyway."""
        if not self._building:
            anchor = self.anchor()
            self.column.measure(id)
            self.fill(anchor, PATIENCE_SECONDS)

    def _scrolled(self, value: int) -> None:
        before, self._scroll_value = self._scroll_value, value
        self._scrolling_down = value >= before
        if not self._building:
            self.update_following()
            self.fill(self.anchor(before), PATIENCE_SECONDS)

    def update_following(self) -> None:
        bar = self.verticalScrollBar()
        self.following = bar.value() >= bar.maximum() - SIZES.gap_l
        self._down.setVisible(not self.following)

    def _remeasure(self) -> None:
        self.column.remeasure()
        self._relayout()

    def _relayout(self) -> None:
        anchor = self.anchor()
        self.column.fit(self.width(), self.viewport().width())
        self.fill(anchor)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._down.move((self.width() - SIZES.control) // 2, self.height() - SIZES.control - SIZES.gap_m)
        self._relayout()


class DragScroll(QTimer):
    """A timer that scrolls while a selection is dragged beyond the view's edge: the further, the faster."""

    def __init__(self, area: QScrollArea, scope: SelectionScope) -> None:
        super().__init__(area)
        self._area, self._scope = area, scope
        self._point = QPoint()
        self.setInterval(DRAG_MS)
        self.timeout.connect(self._scroll)
        scope.dragged.connect(self._dragged)

    def _dragged(self, point: QPoint | None) -> None:
        if point is None:
            self.stop()
            return
        self._point = point
        if self._beyond() and not self.isActive():
            self.start()

    def _beyond(self) -> int:
        """Return the pointer's distance below the view in pixels, negative above it, 0 inside."""
        port = self._area.viewport()
        y = port.mapFromGlobal(self._point).y()
        return min(y, 0) or max(0, y - port.height())

    def _scroll(self) -> None:
        beyond = self._beyond()
        if not beyond:
            self.stop()
            return
        bar = self._area.verticalScrollBar()
        bar.setValue(bar.value() + beyond // DRAG_SHARE + (beyond > 0))
        self._scope.extend(self._point)
