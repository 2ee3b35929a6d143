"""Opens a model's options and keeps their plan up to date while they are chosen. Part of the wiring."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.assistant.options import Options
from app.assistant.planner import Planner
from app.model_library.model_options import ModelOptions
from app.model_library.model_settings import ModelSettings
from models.collection import LocalModel
from models.verdict import Ask, Verdict


class ModelOptionsControl(QObject):
    """`load` carries the path of a model to load, `changed` that of one whose options are others now."""

    load = Signal(str)
    changed = Signal(object)

    def __init__(
        self, window: QWidget, settings: ModelSettings, planner: Planner, options: Callable[[], Options]
    ) -> None:
        super().__init__(window)
        self.dialog: ModelOptions | None = None
        self.freed = 0
        self._window, self._settings, self._planner, self._options = window, settings, planner, options
        self._loaded: Path | None = None
        planner.answered.connect(self._judged)

    def open(self, model: LocalModel, drafters: list[LocalModel], parent: QWidget | None = None) -> None:
        """One model's at a time."""
        if self.dialog is not None:
            self.dialog.close()
        dialog = self.dialog = ModelOptions(model, drafters, self._settings, parent or self._window)
        dialog.changed.connect(self._changed)
        dialog.load.connect(lambda: self.load.emit(str(model.path)))
        dialog.finished.connect(self._closed)
        dialog.show_loaded(model.path == self._loaded)
        dialog.show()
        dialog.raise_()
        dialog.activateWindow()
        self._ask()

    def question(self, path: Path) -> Ask:
        """About a model, loaded as its options and the settings say."""
        load = self._settings.tailored(path, self._options()).load
        return Ask(
            path=str(path),
            n_ctx=load.n_ctx,
            kv_type=load.kv_type,
            threads=load.threads,
            memory_bytes=load.memory_bytes,
            freed_bytes=self.freed,
            draft=load.draft_model,
            backend=load.backend,
        )

    def stands(self, loaded: Path | None, freed: int) -> None:
        """Which model is in use, and what it gives back when another one is loaded."""
        self._loaded, self.freed = loaded, freed
        if self.dialog is not None:
            self.dialog.show_loaded(self.dialog.model.path == loaded)

    def close(self) -> None:
        if self.dialog is not None:
            self.dialog.close()

    def retranslate(self) -> None:
        if self.dialog is not None:
            self.dialog.retranslate()

    def restyle(self) -> None:
        if self.dialog is not None:
            self.dialog.restyle()

    def _ask(self) -> None:
        if self.dialog is not None:
            path = self.dialog.model.path
            self.dialog.show_verdict(None)
            self._planner.ask(("options", path), self.question(path))

    def _judged(self, key: Hashable, verdict: Verdict) -> None:
        if self.dialog is not None and key == ("options", self.dialog.model.path):
            self.dialog.show_verdict(verdict)

    def _changed(self) -> None:
        self._ask()
        if self.dialog is not None:
            self.changed.emit(self.dialog.model.path)

    def _closed(self) -> None:
        self.dialog = None
