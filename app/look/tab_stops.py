"""Moves the focus with Tab in the order in which widgets are arranged, whenever each of them was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QApplication, QWidget


def step_inside(area: QWidget, views: Sequence[QWidget], forward: bool) -> bool:
    """Move the focus to the next stop among `views` in `area`, or out of the area at its end.

    Return False if the focus is not in the area or cannot move. Qt's own order is the order of creation, but views are
    created and deleted while the user scrolls.
    """
    focused = QApplication.focusWidget()
    if focused is None or not (focused is area or area.isAncestorOf(focused)):
        return False
    stops = [*([area] if _takes_focus(area) else []), *(stop for view in views for stop in _stops(view))]
    at = stops.index(focused) if focused in stops else (-1 if forward else len(stops))
    at += 1 if forward else -1
    target = stops[at] if 0 <= at < len(stops) else _stop_outside(area, forward)
    if target is not None:
        _focus(target, forward, views)
    return target is not None


def step_around(parts: Sequence[QWidget], forward: bool) -> bool:
    """Move the focus to the next stop in `parts`, in their order and from the last to the first.

    Return False if the focus is in none of them. Qt's own order would lead from the last part to the views that were
    made last, and past everything before them.
    """
    stops = [stop for part in parts for stop in _stops(part)]
    focused = QApplication.focusWidget()
    if focused not in stops:
        return False
    target = stops[(stops.index(focused) + (1 if forward else -1)) % len(stops)]
    _focus(target, forward, parts)
    return True


def _focus(target: QWidget, forward: bool, views: Sequence[QWidget]) -> None:
    """Focus the target; backwards, focus the last stop of that of the views which `target` ends.

    That last stop may become visible only once the focus is in the view.
    """
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    ended_view = None if forward else next((view for view in views if target in _stops(view)[-1:]), None)
    target.setFocus(reason)
    last = _stops(ended_view)[-1:] if ended_view is not None else []
    if last and last[0] is not target:
        last[0].setFocus(reason)


def _stops(view: QWidget) -> list[QWidget]:
    """Return the view, if it takes the focus, and the widgets in it that do, in reading order."""
    inside = [child for child in view.findChildren(QWidget) if _takes_focus(child)]
    places = {child: QRect(child.mapTo(view, QPoint(0, 0)), child.size()) for child in inside}
    return [*([view] if _takes_focus(view) else []), *(child for row in _rows(places) for child in row)]


def _rows(places: Mapping[QWidget, QRect]) -> list[list[QWidget]]:
    """Group widgets into rows from top to bottom, each from left to right.

    A widget belongs to a row if its middle is above the lower edge of one of the row's widgets.
    """
    rows: list[list[QWidget]] = []
    for widget in sorted(places, key=lambda widget: places[widget].top()):
        in_last_row = bool(rows) and places[widget].center().y() <= max(places[other].bottom() for other in rows[-1])
        if not in_last_row:
            rows.append([])
        rows[-1].append(widget)
    return [sorted(row, key=lambda widget: places[widget].left()) for row in rows]


def _takes_focus(widget: QWidget) -> bool:
    by_tab = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return by_tab and widget.isVisible() and widget.isEnabled() and widget.focusProxy() is None


def _stop_outside(area: QWidget, forward: bool) -> QWidget | None:
    widget: QWidget | None = area
    while widget is not None:
        widget = widget.nextInFocusChain() if forward else widget.previousInFocusChain()
        if widget is area:
            return None
        if widget is not None and not area.isAncestorOf(widget) and _takes_focus(widget):
            return widget
    return None
