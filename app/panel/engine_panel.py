"""The panel at the right: what the engine decides, in numbers and curves. Thin: all of it comes from `readings`."""

from __future__ import annotations

import importlib
import threading
import time

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QToolButton, QVBoxLayout, QWidget

from app.commands.commands import CommandSet, with_keys
from app.look.live import Live
from app.look.theme import SIZES, icon, theme
from app.panel.charts import CostPlot, Part, Plot, Strip
from app.panel.readings import CacheMap, EngineReadings, MemoryParts
from app.settings.schema import choice_words
from app.words import in_bytes, mark, tr
from engine.protocol import HeadGroup

IMPORT_MS = 20
DRAFTERS = {
    "history": mark("Prompt lookup"),
    "phrases": mark("Common phrases"),
    "model": mark("Draft model"),
    "midlayer": mark("Early layers"),
}
TOOK = mark("{name}: {accepted} of {drafted} drafted tokens accepted")
GROUPS = ("accent", "number", "keyword")  # colours
AGO = 60.0  # seconds of the past that the curve shows


class EnginePanel(Live, QFrame):
    """Call `show_numbers` and `show_curves` when something is new, the latter less
    often: to draw them costs more. Hidden they do nothing."""

    def __init__(self, readings: EngineReadings, commands: CommandSet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("enginePanel")
        self._readings = readings
        self._dropped, self._saved = 0, 0.0
        self.title = QLabel(self)
        self.close_button = QToolButton(self)
        self.close_button.clicked.connect(commands.actions["engine"].trigger)
        self._headings = [QLabel(self) for _ in range(5)]
        self.planned, self.now, self.cache, self.groups = Strip(), Strip(), Strip(), Strip()
        self.speed, self.drafts, self.saved = QLabel(), QLabel(), QLabel()
        self.steps: Plot | None = None
        self.costs: CostPlot | None = None
        self._importing: threading.Thread | None = None
        self._build()
        self.apply_look()

    def show_chat(self, dropped: int, saved_seconds: float) -> None:
        """Of the open chat: tokens that are left out, and time that was saved in it."""
        self._dropped, self._saved = dropped, saved_seconds
        self.show_numbers()

    def show_readings(self) -> None:
        self.show_numbers()
        self.show_curves()

    def show_numbers(self) -> None:
        if self.isHidden():
            return
        self._show_memory(self._readings.memory())
        self._show_cache(self._readings.cache(self._dropped))
        self._show_groups()
        self._show_speed()

    # --- what it shows ----------------------------------------------------------------------------------------------

    def _show_memory(self, parts: MemoryParts | None) -> None:
        planned = [
            Part(tr("Weights"), parts.weights, in_bytes(parts.weights), "accent"),
            Part(tr("KV cache"), parts.kv, in_bytes(parts.kv), "number"),
            Part(tr("Other"), parts.buffers, in_bytes(parts.buffers), "keyword"),
        ] if parts else []  # fmt: skip
        now = [
            Part(tr("Engine"), parts.engine, in_bytes(parts.engine), "accent"),
            Part(tr("Other programs"), parts.others, in_bytes(parts.others), "soft"),
            Part(tr("Free"), parts.free, in_bytes(parts.free), "chosen"),
        ] if parts else []  # fmt: skip
        self.planned.show_parts(tr("Planned memory"), planned)
        self.now.show_parts(tr("Current memory"), now)

    def _show_cache(self, cache: CacheMap | None) -> None:
        parts = [
            Part(tr("Left out"), cache.dropped, f"{cache.dropped:,}", "danger"),
            Part(tr("Kept, saved to disk"), cache.saved, f"{cache.saved:,}", "accent"),
            Part(tr("Kept, in memory only"), cache.unsaved, f"{cache.unsaved:,}", "string"),
            Part(tr("Pending"), cache.pending, f"{cache.pending:,}", "number"),
            Part(tr("Free"), cache.room, f"{cache.room:,}", "chosen"),
            Part(tr("Room to grow"), cache.growth, f"{cache.growth:,}", "hover"),
        ] if cache else []  # fmt: skip
        self.cache.show_parts(tr("Cached tokens of this chat"), parts)

    def _show_groups(self) -> None:
        """Heads that keep every token, and those that keep less: only where there are such."""
        groups = self._readings.pulse.head_groups if self._readings.pulse else ()
        self._groups_label.setVisible(bool(groups))
        self.groups.setVisible(bool(groups))
        self.groups.show_parts(tr("Memory by head group"), [
            Part(choice_words("kv_mode", group.mode), group.bytes, group_words(group), GROUPS[number % len(GROUPS)])
            for number, group in enumerate(groups)
        ])  # fmt: skip

    def _show_speed(self) -> None:
        pulse = self._readings.pulse
        lines = []
        if pulse and pulse.prompt_rate:
            lines.append(tr("Reading: {rate} tok/s", rate=f"{pulse.prompt_rate:,.0f}"))
        if pulse and pulse.decode_seconds > 0:
            rate = pulse.tokens / pulse.decode_seconds
            lines.append(tr("Writing: {rate} tok/s", rate=f"{rate:,.1f}"))
        if pulse and pulse.steps:
            per_step = tr("{n} tokens per step", n=f"{pulse.tokens / pulse.steps:.2f}")
            lines.append(
                tr("{steps}, ×{gain} from speculative decoding", steps=per_step, gain=f"{pulse.estimated_speedup:.2f}")
            )
        _say(self.speed, "\n".join(lines) or tr("No answers yet"))
        drafters = [each for each in pulse.drafters if each.drafted] if pulse else []
        said = [
            tr(TOOK, name=drafter_words(each.name), accepted=each.accepted, drafted=each.drafted) for each in drafters
        ]
        _say(self.drafts, "\n".join(said) or tr("No drafted tokens yet"))
        _say(self.saved, tr("About {seconds} s in this chat", seconds=f"{max(0.0, self._saved):,.1f}"))

    def show_curves(self) -> None:
        if self.isHidden():
            return
        if self.steps is None or self.costs is None:
            self._import_plots()
            return
        now = time.monotonic()
        moments = [moment for moment in self._readings.moments if moment.at > now - AGO]
        x = [moment.at - now for moment in moments]
        lines = {tr("tokens"): (x, [moment.tokens_per_step for moment in moments])}
        for name in dict.fromkeys(name for moment in moments for name in moment.accepted):
            lines[drafter_words(name)] = (x, [moment.accepted.get(name, 0.0) for moment in moments])
        self.steps.show_lines(lines if moments else {})
        pulse = self._readings.pulse
        names = tr("measured"), tr("no gain")
        self.costs.show_costs(names, pulse.costs if pulse else (), pulse.batch if pulse else 0)

    def _import_plots(self) -> None:
        """In another thread: it takes longer than a frame."""
        if self._importing is None:
            self._importing = threading.Thread(target=importlib.import_module, args=("pyqtgraph",), daemon=True)
            self._importing.start()
        if self._importing.is_alive():
            QTimer.singleShot(IMPORT_MS, self, self._import_plots)
            return
        if self.steps is None:
            self.steps, self.costs = Plot(), CostPlot()
            self.steps.keep_range(-AGO, 0)
            for plot, place in ((self.steps, self._steps_place), (self.costs, self._costs_place)):
                place.addWidget(plot)
            self.retranslate()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        inner = QWidget()
        inner.setObjectName("engineRows")
        rows = QVBoxLayout(inner)
        rows.setContentsMargins(SIZES.gap_l, SIZES.gap, SIZES.gap_l, SIZES.gap_l)
        rows.setSpacing(SIZES.gap)
        self._steps_place, self._costs_place = QVBoxLayout(), QVBoxLayout()
        self._planned_label, self._now_label, self._groups_label = QLabel(), QLabel(), QLabel()
        memory, cache, speed, costs, saved = self._headings
        for widget in (memory, self._planned_label, self.planned, self._now_label, self.now, cache, self.cache):
            rows.addWidget(widget)
        rows.addWidget(self._groups_label)
        rows.addWidget(self.groups)
        rows.addWidget(speed)
        rows.addWidget(self.speed)
        rows.addLayout(self._steps_place)
        rows.addWidget(self.drafts)
        rows.addWidget(costs)
        rows.addLayout(self._costs_place)
        rows.addWidget(saved)
        rows.addWidget(self.saved)
        rows.addStretch(1)
        for label in (
            *self._headings,
            self._planned_label,
            self._now_label,
            self._groups_label,
            self.speed,
            self.drafts,
            self.saved,
        ):
            label.setWordWrap(True)
            label.setIndent(0)
            label.setTextFormat(Qt.TextFormat.PlainText)
            label.setObjectName("engineHeading" if label in self._headings else "engineText")
        self.title.setObjectName("engineTitle")
        area = QScrollArea()
        area.setObjectName("engineArea")
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inner)
        top = QHBoxLayout()
        top.setContentsMargins(SIZES.gap_l, SIZES.gap, SIZES.gap, 0)
        top.addWidget(self.title, 1)
        top.addWidget(self.close_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(top)
        layout.addWidget(area, 1)

    def restyle(self) -> None:
        self.setFixedWidth(SIZES.panel)
        self.close_button.setIcon(icon("close", theme().soft))
        self.close_button.setIconSize(QSize(SIZES.icon, SIZES.icon))

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Engine monitor"))
        self.title.setText(tr("Engine monitor"))
        self.close_button.setAccessibleName(tr("Close"))
        self.close_button.setToolTip(with_keys(tr("Close"), "engine"))
        memory, cache, speed, costs, saved = self._headings
        memory.setText(tr("Memory"))
        cache.setText(tr("Cached tokens of this chat"))
        speed.setText(tr("Speed"))
        costs.setText(tr("Cost per step"))
        saved.setText(tr("Time saved"))
        self._planned_label.setText(tr("Planned for a full context"))
        self._now_label.setText(tr("Now"))
        self._groups_label.setText(tr("Memory by head group"))
        if self.steps is not None and self.costs is not None:
            self.steps.show_axes(tr("seconds"), tr("tokens per step"))
            self.costs.show_axes(tr("tokens in the step"), tr("cost"))
            self.steps.setAccessibleName(tr("Tokens per step over the last minute"))
            self.costs.setAccessibleName(tr("Cost of steps with several tokens"))
        self.show_readings()


def _say(line: QLabel, text: str) -> None:
    """A label lays the whole panel out again, also for the text it has."""
    if line.text() != text:
        line.setText(text)


def drafter_words(name: str) -> str:
    """What the settings call a drafter; one that only a newer engine has, as that calls it."""
    return tr(DRAFTERS[name]) if name in DRAFTERS else choice_words("draft", name)


def group_words(group: HeadGroup) -> str:
    """'67 heads, 81 of 512 entries, 1.2 MB'."""
    held, room, size = f"{group.entries:,}", f"{group.capacity:,}", in_bytes(group.bytes)
    return tr("{heads} heads, {held} of {room} entries, {size}", heads=group.heads, held=held, room=room, size=size)
