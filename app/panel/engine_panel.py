"""The engine monitor's panel: what the engine decides, in numbers and curves. All data comes from `MonitorSamples`."""

from __future__ import annotations

import importlib
import threading
import time
from itertools import cycle

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QToolButton, QVBoxLayout, QWidget

from app.commands.commands import CommandSet, with_keys
from app.look.live import Live
from app.look.sheet import Label, fill, label
from app.look.theme import SIZES, icon, theme
from app.panel.charts import BarSegment, CostPlot, Plot, StackedBar
from app.panel.monitor_samples import CacheMap, MemoryParts, MonitorSamples
from app.settings.schema import choice_words
from app.words import mark, tr, worded
from common.byte_sizes import show_bytes
from common.units import exact_seconds, speed
from engine.protocol.events import HeadGroup

IMPORT_MS = 20
DRAFTERS = {
    "history": mark("Prompt lookup"),
    "phrases": mark("Common phrases"),
    "mtp": mark("The model's own drafter"),
    "model": mark("Draft model"),
    "midlayer": mark("Early layers"),
}
ACCEPTED = mark("{name}: {accepted} of {drafted} drafted tokens accepted")
GROUP_COLOURS = ("accent", "number", "keyword")  # names of the theme's colours
ELSEWHERE = mark(
    "{host} computes the answers, so memory, cached tokens and drafts cannot be shown here. Choose a model on this "
    "computer to see them."
)
SAVING = {
    "battery": mark("Saving power (on battery). Threads: {threads} for writing, {prompt_threads} for reading"),
    "always": mark("Saving power (always). Threads: {threads} for writing, {prompt_threads} for reading"),
}
CURVE_SECONDS = 60.0  # seconds of the past that the curve shows


class EnginePanel(Live, QFrame):
    """Panel of the engine monitor.

    Call `show_numbers` and `show_curves` when there is new data, the latter less often because curves cost more to
    draw. Both do nothing while the panel is hidden.
    """

    def __init__(self, samples: MonitorSamples, commands: CommandSet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("enginePanel")
        self._samples = samples
        self._dropped, self._saved = 0, 0.0
        self.title = label("engineTitle", self, lambda: tr("Engine monitor"))
        self.close_button = QToolButton(self)
        self.close_button.clicked.connect(commands.actions["engine"].trigger)
        self.planned, self.now, self.cache, self.groups = StackedBar(), StackedBar(), StackedBar(), StackedBar()
        self.speed, self.drafts, self.saved = (label("engineText", self) for _ in range(3))
        self.elsewhere = label("engineText", self)
        self._groups_label = label("engineText", self, lambda: tr("Memory by head group"))
        self.steps: Plot | None = None
        self.costs: CostPlot | None = None
        self._importing: threading.Thread | None = None
        self._build()
        self.apply_look()

    def show_chat(self, dropped: int, saved_seconds: float) -> None:
        """Show the open chat's tokens that are left out of the context, and the seconds saved in the chat."""
        self._dropped, self._saved = dropped, saved_seconds
        self.show_numbers()

    def show_host(self, host: str, connection: int) -> None:
        """Say why there is nothing to see while the server `host` answers; "" shows what this computer does.

        `connection`: bytes of the process that asks the server.
        """

        def words() -> str:
            lines = [tr(ELSEWHERE, host=host)]
            if connection:
                lines.append(tr("The connection takes {size} of memory here.", size=show_bytes(connection)))
            return "\n\n".join(lines)

        self._area.setVisible(not host)
        self.elsewhere.say(words if host else "")
        self.show_all()

    def show_all(self) -> None:
        self.show_numbers()
        self.show_curves()

    def show_numbers(self) -> None:
        if self.isHidden():
            return
        self._show_memory(self._samples.memory())
        self._show_cache(self._samples.cache(self._dropped))
        self._show_groups()
        self._show_speed()

    # --- what it shows ----------------------------------------------------------------------------------------------

    def _show_memory(self, parts: MemoryParts | None) -> None:
        planned = [
            BarSegment(tr("Weights"), parts.weights, show_bytes(parts.weights), "accent"),
            BarSegment(tr("KV cache"), parts.kv, show_bytes(parts.kv), "number"),
            BarSegment(tr("Other chats"), parts.kept, show_bytes(parts.kept), "soft"),
            BarSegment(tr("Other"), parts.buffers, show_bytes(parts.buffers), "keyword"),
            BarSegment(tr("Local API"), parts.api, show_bytes(parts.api), "string"),
        ] if parts else []  # fmt: skip
        now = [
            BarSegment(tr("Engine"), parts.engine, show_bytes(parts.engine), "accent"),
            BarSegment(tr("Other chats"), parts.kept_now, show_bytes(parts.kept_now), "number"),
            BarSegment(tr("Local API"), parts.front, show_bytes(parts.front), "string"),
            BarSegment(tr("Other programs"), parts.others, show_bytes(parts.others), "soft"),
            BarSegment(tr("Free"), parts.free, show_bytes(parts.free), "chosen"),
        ] if parts else []  # fmt: skip
        self.planned.show_segments(tr("Planned memory"), planned)
        self.now.show_segments(tr("Current memory"), now)

    def _show_cache(self, cache: CacheMap | None) -> None:
        parts = [
            BarSegment(tr("Left out"), cache.dropped, f"{cache.dropped:,}", "danger"),
            BarSegment(tr("Kept, saved to disk"), cache.saved, f"{cache.saved:,}", "accent"),
            BarSegment(tr("Kept, in memory only"), cache.unsaved, f"{cache.unsaved:,}", "string"),
            BarSegment(tr("Pending"), cache.pending, f"{cache.pending:,}", "number"),
            BarSegment(tr("Free"), cache.room, f"{cache.room:,}", "chosen"),
            BarSegment(tr("Room to grow"), cache.growth, f"{cache.growth:,}", "hover"),
        ] if cache else []  # fmt: skip
        self.cache.show_segments(tr("Cached tokens of this chat"), parts)

    def _show_groups(self) -> None:
        """Show the memory of each group of heads; hide the chart if all heads keep every token."""
        groups = self._samples.pulse.head_groups if self._samples.pulse else ()
        self._groups_label.setVisible(bool(groups))
        self.groups.setVisible(bool(groups))
        self.groups.show_segments(tr("Memory by head group"), [
            BarSegment(choice_words("kv_mode", group.mode), group.bytes, group_words(group), colour)
            for colour, group in zip(cycle(GROUP_COLOURS), groups, strict=False)
        ])  # fmt: skip

    def _show_speed(self) -> None:
        pulse, devices = self._samples.pulse, self._samples.model.devices if self._samples.model else None
        placed = [worded(devices.reason)] if devices and devices.found else []
        lines = []
        if pulse and pulse.prompt_rate:
            lines.append(tr("Reading: {speed}", speed=worded(speed(pulse.prompt_rate))))
        if pulse and pulse.decode_seconds > 0:
            lines.append(tr("Writing: {speed}", speed=worded(speed(pulse.tokens / pulse.decode_seconds))))
        if pulse and pulse.steps:
            per_step = tr("{n} tokens per step", n=f"{pulse.tokens / pulse.steps:.2f}")
            lines.append(
                tr("{steps}, ×{gain} from speculative decoding", steps=per_step, gain=f"{pulse.estimated_speedup:.2f}")
            )
        if pulse and pulse.saving_power and pulse.threads:
            lines.append(tr(SAVING[pulse.saving_power], threads=pulse.threads, prompt_threads=pulse.prompt_threads))
        _set_text(self.speed, "\n".join(placed + (lines or [tr("No answers yet")])))
        drafters = [each for each in pulse.drafters if each.drafted] if pulse else []
        lines = [
            tr(ACCEPTED, name=drafter_words(each.name), accepted=each.accepted, drafted=each.drafted)
            for each in drafters
        ]
        _set_text(self.drafts, "\n".join(lines) or tr("No drafted tokens yet"))
        _set_text(self.saved, tr("About {time} in this chat", time=worded(exact_seconds(max(0.0, self._saved)))))

    def show_curves(self) -> None:
        if self.isHidden():
            return
        if self.steps is None or self.costs is None:
            self._import_plots()
            return
        now = time.monotonic()
        history = [sample for sample in self._samples.history if sample.at > now - CURVE_SECONDS]
        x = [sample.at - now for sample in history]
        lines = {tr("tokens"): (x, [sample.tokens_per_step for sample in history])}
        for name in dict.fromkeys(name for sample in history for name in sample.accepted):
            lines[drafter_words(name)] = (x, [sample.accepted.get(name, 0.0) for sample in history])
        self.steps.show_lines(lines if history else {})
        pulse = self._samples.pulse
        names = tr("measured"), tr("no gain")
        self.costs.show_costs(names, pulse.costs if pulse else (), pulse.batch if pulse else 0)

    def _import_plots(self) -> None:
        """Import pyqtgraph in a thread, because that takes longer than a frame, then create the plots."""
        if self._importing is None:
            self._importing = threading.Thread(target=importlib.import_module, args=("pyqtgraph",), daemon=True)
            self._importing.start()
        if self._importing.is_alive():
            QTimer.singleShot(IMPORT_MS, self, self._import_plots)
            return
        if self.steps is None:
            self.steps, self.costs = Plot(), CostPlot()
            self.steps.plot.setXRange(-CURVE_SECONDS, 0, padding=0)
            for plot, place in ((self.steps, self._steps_place), (self.costs, self._costs_place)):
                place.addWidget(plot)
            self.retranslate()

    # --- inside -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        inner = QWidget()
        inner.setObjectName("engineRows")
        self._steps_place, self._costs_place = QVBoxLayout(), QVBoxLayout()
        parts = (
            label("engineHeading", inner, lambda: tr("Memory")),
            label("engineText", inner, lambda: tr("Planned for a full context")),
            self.planned,
            label("engineText", inner, lambda: tr("Now")),
            self.now,
            label("engineHeading", inner, lambda: tr("Cached tokens of this chat")),
            self.cache,
            self._groups_label,
            self.groups,
            label("engineHeading", inner, lambda: tr("Speed")),
            self.speed,
            self._steps_place,
            self.drafts,
            label("engineHeading", inner, lambda: tr("Cost per step")),
            self._costs_place,
            label("engineHeading", inner, lambda: tr("Time saved")),
            self.saved,
        )
        margins = (SIZES.gap_l, SIZES.gap, SIZES.gap_l, SIZES.gap_l)
        fill(QVBoxLayout(inner), *parts, None, gap=SIZES.gap, margins=margins)
        area = self._area = QScrollArea()
        area.setObjectName("engineArea")
        area.setWidgetResizable(True)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setWidget(inner)
        margins = (SIZES.gap_l, SIZES.gap, SIZES.gap, 0)
        top = fill(QHBoxLayout(), (self.title, 1), self.close_button, margins=margins)
        fill(QVBoxLayout(self), top, (area, 1), (self.elsewhere, 1), gap=0, margins=(1, 0, 0, 0))
        self.elsewhere.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.elsewhere.setContentsMargins(SIZES.gap_l, SIZES.gap, SIZES.gap_l, SIZES.gap)
        self.elsewhere.hide()
        for each in self.findChildren(Label):
            each.setIndent(0)

    def restyle(self) -> None:
        self.setFixedWidth(SIZES.panel)
        self.close_button.setIcon(icon("close", theme().soft))
        self.close_button.setIconSize(QSize(SIZES.icon, SIZES.icon))

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Engine monitor"))
        self.close_button.setAccessibleName(tr("Close"))
        self.close_button.setToolTip(with_keys(tr("Close"), "engine"))
        if self.steps is not None and self.costs is not None:
            self.steps.show_axes(tr("seconds"), tr("tokens per step"))
            self.costs.show_axes(tr("tokens in the step"), tr("cost"))
            self.steps.setAccessibleName(tr("Tokens per step over the last minute"))
            self.costs.setAccessibleName(tr("Cost of steps with several tokens"))
        self.show_all()


def _set_text(line: QLabel, text: str) -> None:
    """Set the label's text if it differs, because setting even the same text lays out the whole panel again."""
    if line.text() != text:
        line.setText(text)


def drafter_words(name: str) -> str:
    """Return the drafter's name in the user's language; an unknown drafter, of a newer engine, keeps its own name."""
    return tr(DRAFTERS[name]) if name in DRAFTERS else choice_words("draft", name)


def group_words(group: HeadGroup) -> str:
    """Return the size of a group of heads, such as '67 heads, 81 of 512 entries, 1.2 MB'."""
    held, room, size = f"{group.entries:,}", f"{group.capacity:,}", show_bytes(group.bytes)
    return tr("{heads} heads, {held} of {room} entries, {size}", heads=group.heads, held=held, room=room, size=size)
