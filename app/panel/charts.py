"""What the engine's panel draws: bars of parts, and curves by pyqtgraph, which is imported when the first is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.look.live import Live
from app.look.theme import SIZES, body_font, theme

COLOURS = ("accent", "number", "keyword", "string")  # of lines, in their order


@dataclass(frozen=True, slots=True)
class Part:
    """`amount` in any unit; `text` says it in words; `colour` is the name of one of the theme's colours."""

    name: str
    amount: float
    text: str
    colour: str


class Strip(Live, QWidget):
    """A bar of coloured parts with a legend below: how something whole is divided. Parts without an amount are left out
    of both."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # so that a screen reader comes by
        self.parts: list[Part] = []
        self.apply_look()

    def restyle(self) -> None:
        self.fit()

    def show_parts(self, title: str, parts: Sequence[Part]) -> None:
        shown = [part for part in parts if part.amount > 0]
        if shown == self.parts and self.accessibleName() == title:
            return
        lines = len(shown) != len(self.parts)
        self.parts = shown
        self.setAccessibleName(title)
        self.setAccessibleDescription(", ".join(f"{part.name} {part.text}" for part in shown))
        if lines:
            self.fit()
        self.update()

    def fit(self) -> None:
        """The sizes, or the number of lines, have changed."""
        self.setFixedHeight(SIZES.strip + SIZES.gap + len(self.parts) * self._line())

    def _line(self) -> int:
        return round(SIZES.small * SIZES.line_height / 100)

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_bar(painter)
        self._paint_legend(painter)
        if self.hasFocus():
            painter.setPen(QColor(theme().accent))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), SIZES.gap_s, SIZES.gap_s)

    def _paint_bar(self, painter: QPainter) -> None:
        ground = QRectF(0, 0, self.width(), SIZES.strip)
        outline = QPainterPath()
        outline.addRoundedRect(ground, SIZES.gap_s, SIZES.gap_s)
        painter.save()
        painter.setClipPath(outline)
        painter.fillRect(ground, QColor(theme().hover))
        whole, left = sum(part.amount for part in self.parts), 0.0
        for part in self.parts:
            width = self.width() * part.amount / whole
            painter.fillRect(QRectF(left, 0, max(1.0, width), SIZES.strip), QColor(getattr(theme(), part.colour)))
            left += width
        painter.restore()

    def _paint_legend(self, painter: QPainter) -> None:
        font = body_font()
        font.setPixelSize(SIZES.small)
        painter.setFont(font)
        top, line, mark = SIZES.strip + SIZES.gap, self._line(), SIZES.gap
        for number, part in enumerate(self.parts):
            row = QRectF(0, top + number * line, self.width(), line)
            painter.fillRect(QRectF(0, row.center().y() - mark / 2, mark, mark), QColor(getattr(theme(), part.colour)))
            painter.setPen(QColor(theme().ink))
            words = row.adjusted(mark + SIZES.gap, 0, 0, 0)
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, part.name)
            painter.setPen(QColor(theme().soft))
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, part.text)


class Plot(Live, QWidget):
    """One set of axes with named lines. Cannot be zoomed or dragged: it follows what it shows."""

    LEGEND = (-1, 1)  # from the right edge
    ROOM = 1.8  # times the highest value: the legend stands above the lines

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        import pyqtgraph  # 0.2 s that only those wait for who open the panel

        self._qt = pyqtgraph
        self.plot: Any = pyqtgraph.PlotWidget(self)
        self.plot.setMouseEnabled(x=False, y=False)
        self.plot.setMenuEnabled(False)
        self.plot.hideButtons()
        self.plot.setFrameShape(self.plot.Shape.NoFrame)
        self.plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._lines: dict[str, Any] = {}
        self._axes: dict[str, str] = {}
        self._shown: object = None
        self._top = 0.0
        self._legend: Any = self.plot.addLegend(offset=self.LEGEND)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.plot)
        self.apply_look()

    def show_lines(self, lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> None:
        """`lines`: x and y by name, drawn in their order; nothing where nothing has changed."""
        if lines == self._shown:
            return
        self._shown, known = dict(lines), set(self._lines)
        for name in known - lines.keys():
            self.plot.removeItem(self._lines.pop(name))
        for name, (x, y) in lines.items():
            if name not in self._lines:
                self._lines[name] = self.plot.plot(name=name)
            self._lines[name].setData(list(x), list(y))
        self._fit(max((max(y, default=0.0) for _, y in lines.values()), default=0.0))
        if known != set(self._lines):
            self._colour()

    def _fit(self, highest: float) -> None:
        top = max(1.0, highest) * self.ROOM
        if top != self._top:
            self._top = top
            self.plot.setYRange(0, top, padding=0)

    def keep_range(self, first: float, last: float) -> None:
        """Show this part of the x axis, whatever there is in it."""
        self.plot.setXRange(first, last, padding=0)

    def show_axes(self, bottom: str, left: str) -> None:
        self._axes = {"bottom": bottom, "left": left}
        self._name_axes()

    def _name_axes(self) -> None:
        label = {"color": theme().soft, "font-size": f"{SIZES.small}px"}
        for side, words in self._axes.items():
            self.plot.setLabel(side, words, **label)

    def restyle(self) -> None:
        self.setFixedHeight(SIZES.plot)
        self._name_axes()
        self.plot.setBackground(theme().side)
        font = body_font()
        font.setPixelSize(SIZES.small)
        for side in ("bottom", "left"):
            axis = self.plot.getAxis(side)
            axis.enableAutoSIPrefix(False)  # no "(x0.001)" behind seconds
            axis.setPen(theme().line)
            axis.setTextPen(theme().soft)
            axis.setTickFont(font)
        self._legend.setLabelTextColor(theme().ink)
        self._legend.setLabelTextSize(f"{SIZES.small * 3 // 4}pt")
        for _sample, label in self._legend.items:
            label.setText(label.text)  # only then in the new colour
        self._colour()

    def _colour(self) -> None:
        for number, line in enumerate(self._lines.values()):
            line.setPen(self._qt.mkPen(getattr(theme(), COLOURS[number % len(COLOURS)]), width=2))


class CostPlot(Plot):
    """What passes of several tokens cost, with the last pass marked, and the line above which they gain nothing."""

    LEGEND = (1, 1)  # costs rise: there is room at the left
    ROOM = 1.05
    _point: Any = None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._marked: object = None
        self._point = self.plot.plot([], [], pen=None, symbol="o", symbolSize=SIZES.gap)
        self.apply_look()

    def show_costs(self, names: tuple[str, str], costs: Sequence[tuple[int, float]], batch: int) -> None:
        """`costs`: (tokens, c); `names`: of the curve, and of the line where nothing is gained."""
        ks, cs = [k for k, _ in costs], [c for _, c in costs]
        self.show_lines({names[0]: (ks, cs), names[1]: (ks, ks)} if costs else {})
        if (ks, cs, batch) == self._marked:
            return
        self._marked = ks, cs, batch
        at = [c for k, c in costs if k >= batch][:1] if batch else []
        self._point.setData([batch] if at else [], at)

    def restyle(self) -> None:
        super().restyle()
        if self._point is not None:
            self._point.setSymbolBrush(theme().danger)
            self._point.setSymbolPen(theme().danger)
