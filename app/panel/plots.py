"""The two curves of the engine's panel, drawn by pyqtgraph, which is imported when the first one is wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.look.theme import SIZES, body_font, theme

COLOURS = ("accent", "number", "keyword", "string")  # of lines, in their order


class Plot(QWidget):
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
        self._shown: object = None
        self._top = 0.0
        self._legend: Any = self.plot.addLegend(offset=self.LEGEND)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.plot)
        self.restyle()

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
        label = {"color": theme().soft, "font-size": f"{SIZES.small}px"}
        self.plot.setLabel("bottom", bottom, **label)
        self.plot.setLabel("left", left, **label)

    def restyle(self) -> None:
        self.setFixedHeight(SIZES.plot)
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

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._marked: object = None
        self._point: Any = self.plot.plot([], [], pen=None, symbol="o", symbolSize=SIZES.gap)

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
        if hasattr(self, "_point"):
            self._point.setSymbolBrush(theme().danger)
            self._point.setSymbolPen(theme().danger)
