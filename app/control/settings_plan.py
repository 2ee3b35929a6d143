"""What the settings come to with the model in use, told in their dialog while it is open. Part of the wiring."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from app.control.effects import Effects
from app.control.preferences import Preferences
from app.services.planner import Planner
from app.settings_view.settings_dialog import SettingsDialog
from app.state.engine_state import EngineState
from common.planning import Ask
from models.titles import title_of

SECTION = "engine."


class SettingsPlan(QObject):
    """`question` makes what the planner is asked about a model's file, loaded as the settings say now."""

    def __init__(self, preferences: Preferences, planner: Planner, question: Callable[[Path], Ask]) -> None:
        super().__init__(preferences)
        self._question = question
        self._path: Path | None = None
        self._dialog: SettingsDialog | None = None
        self._effects = Effects(planner, self)
        self._effects.changed.connect(self._show)
        preferences.opened.connect(self._opened)
        preferences.changed.connect(lambda _options: self._ask())

    def stands(self, state: EngineState) -> None:
        """Which model is in use."""
        path = state.path
        if state.phase == "ready" and path != self._path:
            self._path = path
            self._ask()

    def _opened(self, dialog: SettingsDialog) -> None:
        dialog.finished.connect(self._closed)
        self._dialog = dialog
        self._ask()

    def _closed(self) -> None:
        self._dialog = None
        self._effects.forget()

    def _ask(self) -> None:
        if self._dialog is not None and self._path is not None:
            self._effects.ask(self._question(self._path))

    def _show(self) -> None:
        dialog = self._dialog
        if dialog is not None:
            dialog.plan.show()
            dialog.plan.show_verdict(self._effects.verdict, title_of(self._path) if self._path else "")
            dialog.show_effects({SECTION + key: words for key, words in self._effects.words.items()})
