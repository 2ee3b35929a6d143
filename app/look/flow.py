"""Widgets in rows that are wrapped where there is little room."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QWidget

from app.look.theme import SIZES


class Flow(QWidget):
    """Widgets in rows, as many in each row as fit, `gap` pixels apart; with `right` the rows are at the right edge.

    The room that is left in the row of `moved` is to the left of that widget. A hidden widget takes no place.
    """

    def __init__(self, parent: QWidget | None = None, right: bool = False, gap: int = SIZES.gap) -> None:
        super().__init__(parent)
        self.widgets: list[QWidget] = []
        self.moved: QWidget | None = None
        self._right, self._gap = right, gap
        policy = self.sizePolicy()
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_widgets(self, widgets: Iterable[QWidget]) -> None:
        """Show these widgets instead of the present ones, and delete those that are no longer shown."""
        old, self.widgets = self.widgets, list(widgets)
        for widget in old:
            if widget not in self.widgets:
                widget.hide()
                widget.deleteLater()
        for widget in self.widgets:
            was_hidden = widget.isHidden() and widget.testAttribute(Qt.WidgetAttribute.WA_WState_ExplicitShowHide)
            if widget.parentWidget() is not self:
                widget.setParent(self)
            widget.ensurePolished()  # the size hint needs the style sheet's font size
            widget.setVisible(not was_hidden)
        self.arrange()

    def arrange(self) -> None:
        """Place the widgets again, because their sizes may have changed."""
        top = 0
        for row in self._rows(self.width()):
            widths = [min(widget.sizeHint().width(), self.width()) for widget in row]
            spare = self.width() - sum(widths) - self._gap * (len(row) - 1)
            left = spare if self._right else 0
            for widget, width in zip(row, widths, strict=True):
                left += spare if widget is self.moved else 0
                widget.setGeometry(left, top, width, widget.sizeHint().height())
                left += width + self._gap
            top += _height(row) + SIZES.gap_s
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        rows = self._rows(width)
        return sum(map(_height, rows)) + SIZES.gap_s * max(0, len(rows) - 1)

    def sizeHint(self) -> QSize:
        return QSize(0, self.heightForWidth(self.width()))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # a child's size has changed
            self.arrange()
        return super().event(event)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.arrange()

    def _rows(self, width: int) -> list[list[QWidget]]:
        rows: list[list[QWidget]] = []
        left = 0
        for widget in self.widgets:
            if widget.isHidden():
                continue
            needed = widget.sizeHint().width()
            if not rows or left + needed > width:
                rows.append([])
                left = 0
            rows[-1].append(widget)
            left += needed + self._gap
        return rows


def _height(row: list[QWidget]) -> int:
    return max(widget.sizeHint().height() for widget in row)
