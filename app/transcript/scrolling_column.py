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

AHEAD_PAGES, KEPT_PAGES = 1.5, 4.0  # made before they are seen; kept after they were
PATIENCE_SECONDS = 0.004  # of a step of scrolling; a frame has 16 ms, and painting takes its share
DRAG_MS = 16
DRAG_SHARE = 8  # of the distance from the edge, a tick
Anchor = tuple[int, int]  # a row, and where it is to be in the view: pixels below the view's upper edge


class ScrollingColumn(Live, QScrollArea):
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
        return all(map(self.column.is_whole, self._in_view()))

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
        self._measure_anew()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Messages"))
        self._down.setAccessibleName(tr("Go to end"))
        self._down.setToolTip(tr("Go to end"))

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LanguageChange:  # by now the messages have said theirs
            self._measure_anew()
        return done

    def anchor(self, before: int | None = None) -> Anchor | None:
        """The uppermost row in view that has all of its height, and where it is: it must not jump.

        `before`: from there the view has just been scrolled to where it is. A row that was seen there too goes before
        one that comes into view: between both may be some whose height is a guess."""
        rows = self._in_view()
        if not rows:
            return None
        whole = [row for row in rows if self.column.is_whole(row)]
        seen = self._in_view(before) if before is not None else rows
        row = next((row for row in whole if row in seen), whole[0] if whole else rows[0])
        return row, self.column.top(row) - self.view_top()

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
            while least > 0 or time.perf_counter() < until:
                now = least > 0 or patience == math.inf
                row = self._next(self._in_view(), anchor, now)
                if row is None:
                    break
                self._work_on(row, anchor, ahead=not now)
                least -= 1
            self._close_gaps(anchor)
        finally:
            self._moving = False
        self._down.setVisible(not self.following)
        slices().add(self, self._build_ahead)

    def _in_view(self, top: int | None = None) -> range:
        """The rows in view, or in one that began at `top`."""
        top = self.view_top() if top is None else top
        return self.column.rows(top, top + self.viewport().height())

    def _next(self, rows: range, anchor: Anchor | None, now: bool = False) -> int | None:
        """The one to be worked on next: outward from the anchor, and none beyond one that is not laid out to its end,
        for that would move it. `now`: such a one is worked on too, until it reaches over the edge of the view."""
        if not rows or anchor is None:
            return None
        start = rows.stop - 1 if self.following else min(max(anchor[0], rows.start), rows.stop - 1)
        up, down = range(start, rows.start - 1, -1), range(start, rows.stop)
        for side in (up,) if self.following else (down, up) if self._forward else (up, down):
            for row in side:
                if not self.column.is_ready(row) or (now and self._ends_in_view(row, side.step)):
                    return row
                if not self.column.is_whole(row):
                    break
        return None

    def _ends_in_view(self, row: int, step: int) -> bool:
        """Is the row not laid out to its end, and would what follows above (-1) or below it be seen?"""
        if self.column.is_whole(row):
            return False
        top = self.column.top(row) - self.view_top()
        return top > 0 if step < 0 else top + self.column.height_of(row) < self.viewport().height()

    def _close_gaps(self, anchor: Anchor | None) -> None:
        """Where a row became lower, others came into view: they get their places before anybody has seen them."""
        while (row := self._gap()) is not None:
            self._work_on(row, anchor)

    def _gap(self) -> int | None:
        """A row in view that is not laid out to its end, between two that are: one of them would jump when it is."""
        rows = self._in_view()
        whole = [row for row in rows if self.column.is_whole(row)]
        return next((row for row in range(whole[0], whole[-1]) if row not in whole), None) if whole else None

    def _work_on(self, row: int, anchor: Anchor | None, ahead: bool = False) -> None:
        """Make the row, measure it, or lay out some more of it."""
        if self.column.is_ready(row):
            self.column.lay_out(row)
        else:
            self.column.build(row, ahead)
        self._settle(anchor)

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
        """Make what is next in the direction of scrolling, or let go of what is far; is there more to do? Where a row
        is still being laid out, this goes on when it is."""
        page, top = self.viewport().height(), self.view_top()
        ahead, kept = int(page * AHEAD_PAGES), int(page * KEPT_PAGES)
        anchor = self.anchor()
        row = self._next(self._in_view(), anchor)
        if row is None:
            row = self._next(self.column.rows(top - ahead, top + page + ahead), anchor)
        if row is None:
            return self.column.let_go(top - kept, top + page + kept)
        self._moving = True
        self._work_on(row, anchor, ahead=True)
        self._close_gaps(anchor)
        self._moving = False
        return True

    def _resized(self, id: str) -> None:
        """A view has another height now; while views are being built that is about to be measured anyway."""
        if not self._moving:
            anchor = self.anchor()
            self.column.measure(id)
            self.fill(anchor, PATIENCE_SECONDS)

    def _scrolled(self, value: int) -> None:
        before, self._value = self._value, value
        self._forward = value >= before
        if not self._moving:
            self.see_whether_following()
            self.fill(self.anchor(before), PATIENCE_SECONDS)

    def see_whether_following(self) -> None:
        bar = self.verticalScrollBar()
        self.following = bar.value() >= bar.maximum() - SIZES.gap_l
        self._down.setVisible(not self.following)

    def _measure_anew(self) -> None:
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
    """Scrolls while a selection is dragged over the upper or lower edge of what is in view: the further, the faster."""

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
        """Pixels below the view, negative ones above it, 0 inside."""
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
