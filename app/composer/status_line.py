"""The line below the composer: model, context, speed, memory, as the engine's state says."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QWidget

from app.commands.commands import CommandSet
from app.look.live import Live
from app.look.theme import SIZES, theme
from app.settings.schema import choice_words
from app.state.engine_state import EngineState, Preparing
from app.words import in_bytes, mark, tr, worded
from common.paths import path_text
from engine.protocol import Statistics
from models.titles import title_of

ABOUT_MODEL = mark("{model} · {millions} million parameters · {size}")
COMPUTED = mark("Runs on {library} with {n} threads")
CONTEXT = mark("Context: {used:,} of {n_ctx:,} tokens used")
QUESTION = mark("Last prompt: {read:,} tokens read, {known:,} from the cache")
PREPARING = mark("llama.cpp, which runs more models, is being compiled for this computer. This happens once.")
NAME_ROOM = 160  # pixels for the model's name; where there are fewer, the numbers alone tell of what is prepared
ANSWER = mark("Last answer: {n:,} tokens in {seconds:.1f} s")


class Gauge(Live, QPushButton):
    """A slim bar and two numbers: how much of the context is used. A click asks for more."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("gauge")
        self._used, self._total = 0, 0
        self.apply_look()

    def retranslate(self) -> None:
        self.setAccessibleName(tr("Context used"))
        self.setToolTip(tr("Context used"))
        used = tr("{used:,} of {n_ctx:,} tokens of context used", used=self._used, n_ctx=self._total)
        self.setAccessibleDescription(used if self._total else "")

    def show_use(self, used: int, total: int) -> None:
        """In tokens; nothing where nothing has changed."""
        if (used, total) == (self._used, self._total):
            return
        self._used, self._total = used, total
        self.setText(f"{used:,} / {total:,}")
        self.retranslate()
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(hint.width() + SIZES.gauge + SIZES.gap, hint.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._total:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        bar = QRectF(SIZES.gap, (self.height() - SIZES.bar) / 2, SIZES.gauge, SIZES.bar)
        painter.setBrush(QColor(theme().line))
        painter.drawRoundedRect(bar, SIZES.bar / 2, SIZES.bar / 2)
        bar.setWidth(SIZES.gauge * min(1.0, self._used / self._total))
        painter.setBrush(QColor(theme().accent))
        painter.drawRoundedRect(bar, SIZES.bar / 2, SIZES.bar / 2)


class StatusLine(Live, QWidget):
    """`chosen` carries the path of a model from the menu, which has commands too."""

    chosen = Signal(str)

    def __init__(self, commands: CommandSet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._commands = commands
        self.setObjectName("status")
        self.model, self.preparing, self.speed, self.memory = (QPushButton(self) for _ in range(4))
        self.context = Gauge(self)
        self._chat = ""
        row = QHBoxLayout(self)
        row.setContentsMargins(SIZES.gap, 0, SIZES.gap, SIZES.gap)
        row.setSpacing(0)
        row.addWidget(self.model)
        row.addStretch(1)
        for part in (self.preparing, self.context, self.speed, self.memory):
            row.addWidget(part)
        self._engine = EngineState()
        self._models: list[Path] = []
        self.model.clicked.connect(self._model_menu)
        for part in (self.preparing, self.speed, self.memory):
            part.clicked.connect(lambda _=False, part=part: self._numbers(part))
        self.apply_look()

    def restyle(self) -> None:
        self._fit()

    def retranslate(self) -> None:
        names = (tr("Model"), tr("Speed"), tr("Memory"))
        for part, name in zip((self.model, self.speed, self.memory), names, strict=True):
            part.setAccessibleName(name)
            part.setToolTip(name)
        self.preparing.setToolTip(tr(PREPARING))
        self.show_engine(self._engine)

    def show_chat(self, chat_id: str) -> None:
        """The chat whose use of the context is shown from now on."""
        self._chat = chat_id
        self.show_engine(self._engine)

    def used(self, chat_id: str) -> int:
        """The chat's tokens in the engine's cache; 0 while another chat's are there."""
        return self._engine.context_tokens if self._engine.context_chat == chat_id else 0

    def show_models(self, models: list[Path]) -> None:
        self._models = models

    def show_engine(self, engine: EngineState) -> None:
        self._engine = engine
        loaded, numbers = engine.model, engine.statistics
        self.context.setVisible(loaded is not None)
        if loaded is not None:
            self.context.show_use(self.used(self._chat), loaded.n_ctx)
        speed = engine.live_speed or _speed(numbers)
        self.speed.setVisible(speed > 0)
        self.speed.setText(tr("{n:,.0f} tok/s", n=speed))
        self.memory.setVisible(engine.rss_bytes > 0)
        self.memory.setText(in_bytes(engine.rss_bytes))
        self.preparing.setVisible(engine.preparing is not None)
        self._fit()

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._fit()

    def _fit(self) -> None:
        """The model's name has the room that the numbers leave; its ends tell more than its middle."""
        if self._engine.preparing is not None:
            words = preparing_words(self._engine.preparing)
            self.preparing.setAccessibleName(words)
            self.preparing.setText(words)
            if self._room() < NAME_ROOM:
                self.preparing.setText(preparing_numbers(self._engine.preparing))
        room = self._room()
        mark = "  ▾"
        metrics = self.model.fontMetrics()
        name = metrics.elidedText(
            model_name(self._engine), Qt.TextElideMode.ElideMiddle, room - metrics.horizontalAdvance(mark)
        )
        self.model.setText(name + mark)
        self.model.setMinimumWidth(1)

    def _room(self) -> int:
        """Pixels that are left for the model's name."""
        parts = (self.preparing, self.context, self.speed, self.memory)
        others = sum(part.sizeHint().width() for part in parts if not part.isHidden())
        padding = 2 * SIZES.gap + 2
        return self.width() - others - 2 * SIZES.gap - padding

    def _model_menu(self) -> None:
        menu = QMenu(self)
        menu.addActions([self._commands.actions["models"], self._commands.actions["open_model"]])
        if self._models:
            menu.addSeparator()
        for path in self._models:
            menu.addAction(title_of(path).replace("&", "&&"), partial(self.chosen.emit, path_text(path)))
        self._pop(menu, self.model)

    def _numbers(self, part: QPushButton) -> None:
        menu = QMenu(self)
        for line in lines_of(self._engine):
            menu.addAction(line.replace("&", "&&")).setEnabled(False)
        self._pop(menu, part)

    def _pop(self, menu: QMenu, above: QPushButton) -> None:
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(above.mapToGlobal(QPoint(0, -menu.sizeHint().height())))


def model_name(engine: EngineState) -> str:
    return title_of(engine.path) if engine.path else tr("No model")


def preparing_words(preparing: Preparing) -> str:
    if not preparing.total:
        return tr("Preparing llama.cpp")
    return tr("Preparing llama.cpp: {done:,} of {total:,}", done=preparing.done, total=preparing.total)


def preparing_numbers(preparing: Preparing) -> str:
    return f"{preparing.done:,} / {preparing.total:,}" if preparing.total else "…"


def lines_of(engine: EngineState) -> list[str]:
    """The numbers behind the status line in words."""
    lines = []
    model, numbers = engine.model, engine.statistics
    if model is not None:
        size = f"{model.parameters / 1e6:,.0f}"
        lines.append(tr(ABOUT_MODEL, model=model.name, millions=size, size=in_bytes(model.file_bytes)))
        lines.append(tr(COMPUTED, library=choice_words("backend", model.backend), n=model.threads))
        lines.append(tr(CONTEXT, used=engine.context_tokens, n_ctx=model.n_ctx))
        lines.extend(map(worded, model.notes))
    if numbers is not None:
        read = numbers.prompt_tokens - numbers.reused_tokens
        lines.append(tr(QUESTION, read=read, known=numbers.reused_tokens))
        lines.append(tr(ANSWER, n=numbers.decode_tokens, seconds=numbers.decode_seconds))
    if engine.rss_bytes:
        lines.append(tr("Engine memory: {size}", size=in_bytes(engine.rss_bytes)))
    if engine.preparing is not None:
        lines.append(tr(PREPARING))
    return lines or [tr("No model is loaded")]


def _speed(numbers: Statistics | None) -> float:
    """Tokens per second of the last answer; 0 when it has none to tell it from."""
    if numbers is None or numbers.decode_tokens < 2 or numbers.decode_seconds <= 0:
        return 0
    return numbers.decode_tokens / numbers.decode_seconds
