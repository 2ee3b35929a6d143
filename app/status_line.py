"""The line below the composer: model, context, speed, memory. Knows only the assistant's standing."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QPoint, Signal
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QWidget

from app.standing import Standing
from app.theme import SIZES
from engine.protocol import BackendName, Statistics

LIBRARIES: dict[BackendName, str] = {"llama": "llama.cpp", "ik": "ik_llama.cpp"}


class StatusLine(QWidget):
    """`choose` asks for the file dialog, `chosen` carries the path of a model from the menu."""

    choose = Signal()
    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("status")
        self.model = self._part("Model")
        self.context = self._part("Context used")
        self.speed = self._part("Speed")
        self.memory = self._part("Memory")
        row = QHBoxLayout(self)
        row.setContentsMargins(SIZES.gap, 0, SIZES.gap, SIZES.gap)
        row.setSpacing(0)
        row.addWidget(self.model)
        row.addStretch(1)
        for part in (self.context, self.speed, self.memory):
            row.addWidget(part)
        self._standing = Standing()
        self._models: list[Path] = []
        self.model.clicked.connect(self._model_menu)
        for part in (self.context, self.speed, self.memory):
            part.clicked.connect(lambda _=False, part=part: self._numbers(part))
        self.show_standing(self._standing)

    def show_models(self, models: list[Path]) -> None:
        self._models = models

    def show_standing(self, standing: Standing) -> None:
        self._standing = standing
        self.model.setText(f"{model_name(standing)}  ▾")
        loaded, numbers = standing.model, standing.statistics
        self.context.setVisible(loaded is not None)
        if loaded is not None:
            self.context.setText(f"{standing.context_tokens:,} / {loaded.n_ctx:,}")
        speed = standing.live_speed or _speed(numbers)
        self.speed.setVisible(speed > 0)
        self.speed.setText(f"{speed:,.0f} tok/s")
        self.memory.setVisible(standing.rss_bytes > 0)
        self.memory.setText(_bytes(standing.rss_bytes))

    def _part(self, name: str) -> QPushButton:
        part = QPushButton(self)
        part.setAccessibleName(name)
        part.setToolTip(name)
        return part

    def _model_menu(self) -> None:
        menu = QMenu(self)
        menu.addAction("Open model…", self.choose.emit)
        if self._models:
            menu.addSeparator()
        for path in self._models:
            menu.addAction(path.stem.replace("&", "&&"), partial(self.chosen.emit, str(path)))
        self._pop(menu, self.model)

    def _numbers(self, part: QPushButton) -> None:
        menu = QMenu(self)
        for line in lines_of(self._standing):
            menu.addAction(line.replace("&", "&&")).setEnabled(False)
        self._pop(menu, part)

    def _pop(self, menu: QMenu, above: QPushButton) -> None:
        menu.aboutToHide.connect(menu.deleteLater)
        menu.popup(above.mapToGlobal(QPoint(0, -menu.sizeHint().height())))


def model_name(standing: Standing) -> str:
    # The file's name: it is what the user chose, where the header's name is often a note of its makers.
    return standing.path.stem if standing.path else "No model"


def lines_of(standing: Standing) -> list[str]:
    """The numbers behind the status line in words."""
    lines = []
    model, numbers = standing.model, standing.statistics
    if model is not None:
        lines.append(f"{model.name} · {model.parameters / 1e6:,.0f} million parameters · {_bytes(model.file_bytes)}")
        lines.append(f"Computed by {LIBRARIES[model.backend]} with {model.threads} threads")
        lines.append(f"Context: {standing.context_tokens:,} of {model.n_ctx:,} tokens used")
        lines.extend(model.notes)
    if numbers is not None:
        read = numbers.prompt_tokens - numbers.reused_tokens
        lines.append(f"Last question: {read:,} tokens read, {numbers.reused_tokens:,} known from before")
        lines.append(f"Last answer: {numbers.decode_tokens:,} tokens in {numbers.decode_seconds:.1f} s")
    if standing.rss_bytes:
        lines.append(f"Memory of the engine: {_bytes(standing.rss_bytes)}")
    return lines or ["No model is loaded"]


def _speed(numbers: Statistics | None) -> float:
    """Tokens per second of the last answer; 0 when it has none to tell it from."""
    if numbers is None or numbers.decode_tokens < 2 or numbers.decode_seconds <= 0:
        return 0
    return numbers.decode_tokens / numbers.decode_seconds


def _bytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:,.0f} MB"
