"""Opens a model's options and keeps their plan up to date while they are chosen. Part of the wiring."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.control.effects import Effects
from app.model_library.model_options import ModelOptions
from app.model_library.model_settings import ModelSettings
from app.services.planner import Planner, question
from app.settings.options import Options
from app.settings_view.one_dialog import OneDialog
from common.paths import path_text
from common.planning import Ask
from models.collection import LocalModel


class ModelOptionsControl(QObject):
    """`load` carries the path of a model to load, `changed` that of one whose options are others now."""

    load = Signal(str)
    changed = Signal(object)

    def __init__(
        self, window: QWidget, settings: ModelSettings, planner: Planner, options: Callable[[], Options]
    ) -> None:
        super().__init__(window)
        self.freed = 0
        self._dialog: OneDialog[ModelOptions] = OneDialog(self._closed)
        self._window, self._settings, self._options = window, settings, options
        self._loaded: Path | None = None
        self._effects = Effects(planner, self)
        self._effects.changed.connect(self._show_plan)
        self.close, self.retranslate, self.restyle = self._dialog.close, self._dialog.retranslate, self._dialog.restyle

    @property
    def dialog(self) -> ModelOptions | None:
        """The open one."""
        return self._dialog.open

    def open(self, model: LocalModel, drafters: list[LocalModel], parent: QWidget | None = None) -> None:
        """One model's at a time."""
        self._dialog.close()
        dialog = self._dialog.show(lambda: ModelOptions(model, drafters, self._settings, parent or self._window))
        dialog.changed.connect(self._changed)
        dialog.load.connect(lambda: self.load.emit(path_text(model.path)))
        dialog.show_loaded(model.path == self._loaded)
        self._effects.ask(self.question(model.path))

    def question(self, path: Path) -> Ask:
        """About a model, loaded as its options and the settings say."""
        return question(path, self._settings.tailored(path, self._options()).load, self.freed)

    def stands(self, loaded: Path | None, freed: int) -> None:
        """Which model is in use, and what it gives back when another one is loaded."""
        self._loaded, self.freed = loaded, freed
        if self.dialog is not None:
            self.dialog.show_loaded(self.dialog.model.path == loaded)

    def _show_plan(self) -> None:
        if self.dialog is not None:
            self.dialog.show_plan(self._effects.verdict, self._effects.words)

    def _changed(self) -> None:
        if self.dialog is not None:
            self._effects.ask(self.question(self.dialog.model.path))
            self.changed.emit(self.dialog.model.path)

    def _closed(self) -> None:
        self._effects.forget()
