"""Charts of the engine monitor: stacked bars, and curves by pyqtgraph, which is imported with the first curve."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.look.live import Live
from app.look.sheet import fill
from app.look.theme import SIZES, font_of, theme

COLOURS = ("accent", "number", "keyword", "string")  # of the lines, in their order


@dataclass(frozen=True, slots=True)
class BarSegment:
    """Segment of a stacked bar.

    `amount` may be in any unit and is worded by `text`; `colour` is the name of one of the theme's colours.
    """

    name: str
    amount: float
    text: str
    colour: str


class StackedBar(Live, QWidget):
    """Stacked bar that shows how a whole is divided, with a legend below it.

    Segments without an amount are left out of both.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # so that a screen reader finds it
        self.segments: list[BarSegment] = []
        self.apply_look()

    def show_segments(self, title: str, segments: Sequence[BarSegment]) -> None:
        shown = [segment for segment in segments if segment.amount > 0]
        if shown == self.segments and self.accessibleName() == title:
            return
        self.segments = shown
        self.setAccessibleName(title)
        self.setAccessibleDescription(", ".join(f"{segment.name} {segment.text}" for segment in shown))
        self.restyle()
        self.update()

    def restyle(self) -> None:
        """Set the height for the number of legend lines and the size of the text."""
        self.setFixedHeight(SIZES.strip + SIZES.gap + len(self.segments) * self._line())

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
        whole, left = sum(segment.amount for segment in self.segments), 0.0
        for segment in self.segments:
            width = self.width() * segment.amount / whole
            painter.fillRect(QRectF(left, 0, max(1.0, width), SIZES.strip), QColor(getattr(theme(), segment.colour)))
            left += width
        painter.restore()

    def _paint_legend(self, painter: QPainter) -> None:
        painter.setFont(font_of(SIZES.small))
        top, line, mark = SIZES.strip + SIZES.gap, self._line(), SIZES.gap
        for number, segment in enumerate(self.segments):
            row = QRectF(0, top + number * line, self.width(), line)
            painter.fillRect(
                QRectF(0, row.center().y() - mark / 2, mark, mark), QColor(getattr(theme(), segment.colour))
            )
            painter.setPen(QColor(theme().ink))
            words = row.adjusted(mark + SIZES.gap, 0, 0, 0)
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, segment.name)
            painter.setPen(QColor(theme().soft))
            painter.drawText(words, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, segment.text)


class Plot(Live, QWidget):
    """Plot with named lines in one pair of axes; the user cannot zoom or drag it, because it follows the data."""

    LEGEND = (-1, 1)  # offset from the right edge
    HEADROOM = 1.8  # times the highest value, so that the legend has room above the lines

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        import pyqtgraph  # takes 0.2 s, spent only when the panel is opened

        self._pyqtgraph = pyqtgraph
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
        fill(QVBoxLayout(self), self.plot)
        self.apply_look()

    def show_lines(self, lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]) -> None:
        """Draw `lines`, x and y values by name, in their order; do nothing if they are unchanged."""
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
            self._colour_lines()

    def _fit(self, highest: float) -> None:
        top = max(1.0, highest) * self.HEADROOM
        if top != self._top:
            self._top = top
            self.plot.setYRange(0, top, padding=0)

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
        for side in ("bottom", "left"):
            axis = self.plot.getAxis(side)
            axis.enableAutoSIPrefix(False)  # no "(x0.001)" behind seconds
            axis.setPen(theme().line)
            axis.setTextPen(theme().soft)
            axis.setTickFont(font_of(SIZES.small))
        self._legend.setLabelTextColor(theme().ink)
        self._legend.setLabelTextSize(f"{SIZES.small * 3 // 4}pt")
        for _sample, label in self._legend.items:
            label.setText(label.text)  # pyqtgraph applies the new colour only with the text
        self._colour_lines()

    def _colour_lines(self) -> None:
        for number, line in enumerate(self._lines.values()):
            line.setPen(self._pyqtgraph.mkPen(getattr(theme(), COLOURS[number % len(COLOURS)]), width=2))


class CostPlot(Plot):
    """Plot of what a pass over several tokens costs, with the last pass marked.

    A second line shows the cost above which such a pass gains nothing.
    """

    LEGEND = (1, 1)  # offset from the left edge, because the costs rise to the right
    HEADROOM = 1.05
    _point: Any = None

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._marked: object = None
        self._point = self.plot.plot([], [], pen=None, symbol="o", symbolSize=SIZES.gap)
        self.apply_look()

    def show_costs(self, names: tuple[str, str], costs: Sequence[tuple[int, float]], batch: int) -> None:
        """Draw `costs`, pairs (tokens, cost), and mark the pass over `batch` tokens.

        `names` are those of the curve and of the line without a gain.
        """
        ks, cs = [k for k, _ in costs], [c for _, c in costs]
        self.show_lines({names[0]: (ks, cs), names[1]: (ks, ks)} if costs else {})
        if (ks, cs, batch) == self._marked:
            return
        self._marked = ks, cs, batch
        marked = [c for k, c in costs if k >= batch][:1] if batch else []
        self._point.setData([batch] if marked else [], marked)

    def restyle(self) -> None:
        super().restyle()
        if self._point is not None:
            self._point.setSymbolBrush(theme().danger)
            self._point.setSymbolPen(theme().danger)
