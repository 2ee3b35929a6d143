"""Tab through widgets in the order in which they stand, whenever each of them was made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtWidgets import QApplication, QWidget


def step_inside(area: QWidget, views: Sequence[QWidget], forward: bool) -> bool:
    """Move the focus to the next stop among `views` in `area`, or out of the area at its end; False if it is not there.

    Qt's own order is that of creation, and views come and go as one scrolls."""
    focused = QApplication.focusWidget()
    if focused is None or not (focused is area or area.isAncestorOf(focused)):
        return False
    groups = [_stops(view) for view in views]
    stops = [*([area] if _takes_focus(area) else []), *(stop for group in groups for stop in group)]
    at = stops.index(focused) if focused in stops else (-1 if forward else len(stops))
    at += 1 if forward else -1
    target = stops[at] if 0 <= at < len(stops) else _outside(area, forward)
    if target is not None:
        view = next((view for view, group in zip(views, groups, strict=True) if target in group[-1:]), None)
        _go(target, forward, view)
    return target is not None


def step_around(parts: Sequence[QWidget], forward: bool) -> bool:
    """Move the focus to the next stop in `parts`, in their order and round again; False if it is in none of them.

    Qt's own order would go from the last part to the views that were made last, and past what stands before them."""
    groups = [_stops(part) for part in parts]
    stops = [stop for group in groups for stop in group]
    focused = QApplication.focusWidget()
    if focused not in stops:
        return False
    target = stops[(stops.index(focused) + (1 if forward else -1)) % len(stops)]
    _go(target, forward, next((part for part, group in zip(parts, groups, strict=True) if target in group[-1:]), None))
    return True


def _go(target: QWidget, forward: bool, ends: QWidget | None) -> None:
    """Backwards one comes to the end of what `ends` there first: its last stop may only show with the focus in it."""
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    target.setFocus(reason)
    last = _stops(ends)[-1:] if ends is not None and not forward else []
    if last and last[0] is not target:
        last[0].setFocus(reason)


def _stops(view: QWidget) -> list[QWidget]:
    """The view, if it takes the focus, and what does so in it, as one reads."""
    inside = [child for child in view.findChildren(QWidget) if _takes_focus(child)]
    places = {child: QRect(child.mapTo(view, QPoint(0, 0)), child.size()) for child in inside}
    return [*([view] if _takes_focus(view) else []), *(child for row in _rows(places) for child in row)]


def _rows(places: Mapping[QWidget, QRect]) -> list[list[QWidget]]:
    """From above, each from the left: what has its middle beside any of a row stands in that row."""
    rows: list[list[QWidget]] = []
    for widget in sorted(places, key=lambda widget: places[widget].top()):
        beside = bool(rows) and places[widget].center().y() <= max(places[other].bottom() for other in rows[-1])
        if not beside:
            rows.append([])
        rows[-1].append(widget)
    return [sorted(row, key=lambda widget: places[widget].left()) for row in rows]


def _takes_focus(widget: QWidget) -> bool:
    by_tab = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    return by_tab and widget.isVisible() and widget.isEnabled() and widget.focusProxy() is None


def _outside(area: QWidget, forward: bool) -> QWidget | None:
    widget: QWidget | None = area
    while widget is not None:
        widget = widget.nextInFocusChain() if forward else widget.previousInFocusChain()
        if widget is area:
            return None
        if widget is not None and not area.isAncestorOf(widget) and _takes_focus(widget):
            return widget
    return None
