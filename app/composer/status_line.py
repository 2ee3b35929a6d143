"""The line below the composer: model, context, speed and memory, as the engine's state says."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QIcon, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QWidget

from app.commands.commands import CommandSet
from app.look.live import Live
from app.look.sheet import fill
from app.look.theme import SIZES, icon, theme
from app.settings.schema import choice_words
from app.state.engine_state import CompileProgress, EngineState
from app.words import escaped_html, mark, tr, worded
from common.byte_sizes import show_bytes
from common.units import exact_seconds, speed
from engine.protocol.events import Statistics
from models.titles import title_of

ABOUT_MODEL = mark("{model} · {millions} million parameters · {size}")
COMPUTED = mark("Runs on {library} with {n} threads")
REMOTE = mark("Answers come from {host}: your messages are sent there")
CONTEXT = mark("Context: {used:,} of {n_ctx:,} tokens used")
QUESTION = mark("Last prompt: {read:,} tokens read, {known:,} from the cache")
PREPARING = mark("llama.cpp, which runs more models, is being compiled for this computer. This happens once.")
NAME_ROOM = 160  # pixels for the model's name; with less room, the compilation shows only numbers
ANSWER = mark("Last answer: {n:,} tokens in {time}")
SAVING = {
    "battery": mark("Saving power: the computer runs on its battery"),
    "always": mark("Saving power: set to “Always” in the settings"),
}


class Gauge(Live, QPushButton):
    """Button with a slim bar and two numbers: how many tokens of the context are used."""

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
        """Show the used and the available tokens; do nothing if both are unchanged."""
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
    """Line of numbers about the engine, each with a menu of details.

    `chosen` carries the path of a model from the menu.
    """

    chosen = Signal(object)

    def __init__(self, commands: CommandSet, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._commands = commands
        self.setObjectName("status")
        self.model, self.preparing, self.download, self.power, self.speed, self.memory = (
            QPushButton(self) for _ in range(6)
        )
        self.download.hide()
        self._download_words: Callable[[], tuple[str, str]] = lambda: ("", "")
        self.context = Gauge(self)
        self._chat = ""
        right = (self.preparing, self.download, self.power, self.context, self.speed, self.memory)
        fill(QHBoxLayout(self), self.model, None, *right, gap=0, margins=(SIZES.gap, 0, SIZES.gap, SIZES.gap))
        self._engine = EngineState()
        self._models: list[Path] = []
        self._about_model: Callable[[Path], str] = lambda _path: ""
        self.model.clicked.connect(self._show_model_menu)
        for part in (self.preparing, self.power, self.speed, self.memory):
            part.clicked.connect(lambda _=False, part=part: self._show_numbers(part))
        self.apply_look()

    def restyle(self) -> None:
        self._elide_model()

    def retranslate(self) -> None:
        names = (tr("Model"), tr("Speed"), tr("Memory"))
        for part, name in zip((self.model, self.speed, self.memory), names, strict=True):
            part.setAccessibleName(name)
            part.setToolTip(name)
        self.preparing.setToolTip(tr(PREPARING))
        self.show_download(self._download_words)
        self.show_engine(self._engine)

    def show_chat(self, chat_id: str) -> None:
        """Show how much of the context this chat uses, from now on."""
        self._chat = chat_id
        self.show_engine(self._engine)

    def used_tokens(self, chat_id: str) -> int:
        """Return the number of the chat's tokens in the engine's cache; 0 while another chat is cached."""
        return self._engine.context_tokens if self._engine.context_chat == chat_id else 0

    def show_download(self, words: Callable[[], tuple[str, str]]) -> None:
        """Show a download: `words` returns a few words and a sentence, both empty if there is none."""
        self._download_words = words
        short, sentence = words()
        self.download.setVisible(bool(short))
        self.download.setText(short)
        self.download.setToolTip(escaped_html(sentence))
        self.download.setAccessibleName(sentence)
        self._elide_model()

    def show_models(self, models: list[Path], about: Callable[[Path], str]) -> None:
        """Offer these models in the menu, each with what `about` says of it when the menu opens."""
        self._models, self._about_model = models, about

    def show_engine(self, engine: EngineState) -> None:
        self._engine = engine
        loaded, numbers = engine.model, engine.statistics
        self.context.setVisible(loaded is not None and loaded.n_ctx > 0)
        self.model.setIcon(icon("globe", theme().soft) if engine.host else QIcon())
        if loaded is not None:
            self.context.show_use(self.used_tokens(self._chat), loaded.n_ctx)
        rate = engine.live_speed or (_speed(numbers) if loaded is not None else 0)  # else it is another model's
        self.speed.setVisible(rate > 0)
        self.speed.setText(worded(speed(rate)))
        self.memory.setVisible(engine.rss_bytes > 0)
        self.memory.setText(show_bytes(engine.rss_bytes))
        self.preparing.setVisible(engine.preparing is not None)
        self.power.setVisible(bool(engine.power.reason) and not engine.host)
        self.power.setText(tr("Saving power"))
        self.power.setToolTip(saving_words(engine))
        self.power.setAccessibleName(saving_words(engine))
        self._elide_model()

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._elide_model()

    def _elide_model(self) -> None:
        """Give the model's name the room that the numbers leave, and elide the middle of a name that is too long."""
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
        """Return the pixels that are left for the model's name."""
        parts = (self.preparing, self.download, self.power, self.context, self.speed, self.memory)
        others = sum(part.sizeHint().width() for part in parts if not part.isHidden())
        padding = 2 * SIZES.gap + 2 + (SIZES.icon + SIZES.gap_s) * bool(self._engine.host)
        return self.width() - others - 2 * SIZES.gap - padding

    def _show_model_menu(self) -> None:
        self._show_menu(self.model_menu(), self.model)

    def model_menu(self) -> QMenu:
        """Return the menu of models: the commands about models, then the recent ones; the one in use has a tick."""
        menu = QMenu(self)
        menu.addActions([self._commands.actions["models"], self._commands.actions["open_model"]])
        if self._models:
            menu.addSeparator()
        for path in self._models:
            # Qt shows what follows a tab at the right.
            words = "\t".join(filter(None, (title_of(path), self._about_model(path))))
            action = menu.addAction(words.replace("&", "&&"), partial(self.chosen.emit, path))
            action.setCheckable(True)
            action.setChecked(path == self._engine.path)
        return menu

    def _show_numbers(self, part: QPushButton) -> None:
        menu = QMenu(self)
        for line in detail_lines(self._engine):
            menu.addAction(line.replace("&", "&&")).setEnabled(False)
        self._show_menu(menu, part)

    def _show_menu(self, menu: QMenu, above: QPushButton) -> None:
        menu.aboutToHide.connect(menu.deleteLater)
        room, size, place = self.screen().availableGeometry(), menu.sizeHint(), above.mapToGlobal(QPoint())
        left = max(room.left(), min(place.x(), room.right() - size.width()))
        menu.popup(QPoint(left, max(room.top(), place.y() - size.height())))


def model_name(engine: EngineState) -> str:
    return title_of(engine.path) if engine.path else tr("No model")


def preparing_words(preparing: CompileProgress) -> str:
    if not preparing.total:
        return tr("Preparing llama.cpp")
    return tr("Preparing llama.cpp: {done:,} of {total:,}", done=preparing.done, total=preparing.total)


def preparing_numbers(preparing: CompileProgress) -> str:
    return f"{preparing.done:,} / {preparing.total:,}" if preparing.total else "…"


def detail_lines(engine: EngineState) -> list[str]:
    """Return the lines of the menu that explains the numbers."""
    lines = []
    model, numbers = engine.model, engine.statistics
    if model is not None:
        size = f"{model.parameters / 1e6:,.0f}"
        if model.host:
            lines += [model.name, tr(REMOTE, host=model.host), model.software]
        else:
            lines.append(tr(ABOUT_MODEL, model=model.name, millions=size, size=show_bytes(model.file_bytes)))
            threads = (numbers.threads if numbers else 0) or model.threads
            lines.append(tr(COMPUTED, library=choice_words("backend", model.backend), n=threads))
            lines.append(saving_words(engine))
        if model.n_ctx:
            lines.append(tr(CONTEXT, used=engine.context_tokens, n_ctx=model.n_ctx))
        lines.extend(map(worded, model.notes))
    if numbers is not None:
        lines.append(tr(QUESTION, read=numbers.read_tokens, known=numbers.reused_tokens))
        lines.append(tr(ANSWER, n=numbers.decode_tokens, time=worded(exact_seconds(numbers.decode_seconds))))
    if engine.rss_bytes:
        lines.append(tr("Engine memory: {size}", size=show_bytes(engine.rss_bytes)))
    if engine.preparing is not None:
        lines.append(tr(PREPARING))
    return list(filter(None, lines)) or [tr("No model is loaded")]


def saving_words(engine: EngineState) -> str:
    """Return that power is saved and why; "" if it is not."""
    return tr(SAVING[engine.power.reason]) if engine.power.reason else ""


def _speed(numbers: Statistics | None) -> float:
    """Return the decode speed of the last answer in tokens/s; 0 if it has fewer than two tokens."""
    if numbers is None or numbers.decode_tokens < 2 or numbers.decode_seconds <= 0:
        return 0
    return numbers.decode_tokens / numbers.decode_seconds
