"""Scrolls while a selection is dragged over the edge of what is in view: the further, the faster."""

from __future__ import annotations

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtWidgets import QScrollArea

from app.markdown.selection import SelectionScope

TICK_MS = 16
SHARE = 8  # of the distance from the edge, a tick


class DragScroll(QTimer):
    """Runs while the pointer, with a selection, is above or below the view of `area`."""

    def __init__(self, area: QScrollArea, scope: SelectionScope) -> None:
        super().__init__(area)
        self._area, self._scope = area, scope
        self._point = QPoint()
        self.setInterval(TICK_MS)
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
        bar.setValue(bar.value() + beyond // SHARE + (beyond > 0))
        self._scope.extend(self._point)
