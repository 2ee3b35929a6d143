"""The settings in the running window: opens dialog and file, tells what is wrong with the file and what they take."""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from app.control.model_controller import ModelController
from app.dialogs.dialog import OneDialog
from app.dialogs.settings_dialog import SettingsDialog
from app.memory_plan import PlanEffects
from app.notice import Told
from app.services.timers import Debounce
from app.settings.settings import Settings
from app.settings.values import Wrong
from app.state.engine_state import EngineState
from app.window import Window
from app.words import tr
from common.failures import Failure
from models.titles import title_of

log = logging.getLogger(__name__)


class SettingsController(QObject):
    """`settled`: for the time being no more settings change. `opened` carries the dialog when it was made."""

    settled = Signal()
    opened = Signal(object)

    def __init__(self, settings: Settings, window: Window, models: ModelController, settled_ms: int) -> None:
        super().__init__(window)
        self.settings = settings
        self._dialog: OneDialog[SettingsDialog] = OneDialog(lambda: self._effects.forget())
        self._window, self._notice, self._models = window, window.notice, models
        self._suggested: dict[str, str] = {}
        self._problems: tuple[Wrong, ...] = ()
        self._told: Told | None = None  # of them
        self._model: Path | None = None
        self._effects = PlanEffects(models.planner, self)
        self._effects.changed.connect(self._show_effects)
        self._settling = Debounce(self.settled.emit, settled_ms, self)
        settings.changed.connect(self._hear)

    @property
    def dialog(self) -> SettingsDialog | None:
        """The open one."""
        return self._dialog.open

    def open(self) -> SettingsDialog:
        """Show the dialog; an open one comes to the front."""
        self.settings.refresh()
        before, dialog = self.dialog, self._dialog.show(self._make)
        if dialog is not before:
            self._plan()
        return dialog

    def _make(self) -> SettingsDialog:
        dialog = SettingsDialog(self.settings, self._window)
        dialog.open_file.clicked.connect(self.open_file)
        dialog.suggest(self._suggested)
        self.opened.emit(dialog)
        return dialog

    def close(self) -> None:
        """The window is closing; what was typed in the dialog counts."""
        self._settling.cancel()
        self._dialog.close()
        self._settling.cancel()

    def open_file(self) -> None:
        """Have the system open settings.toml, which is made if there is none."""
        try:
            self.settings.make_file()
        except Failure as failure:
            self._notice.tell(failure.sentence, kind="problem", detail=failure.detail)
            return
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.settings.path))):
            path = self.settings.path
            self._notice.tell(lambda: tr("No program could open {file}. Open it in a text editor.", file=path))

    def tell_problems(self) -> None:
        """Say what of the file is not used, once for each state of it."""
        problems, before, self._problems = self.settings.problems, self._problems, self.settings.problems
        if problems == before:
            return
        if problems:
            self._told = self._notice.tell(
                problems[0].__str__,
                lambda: tr("Open settings"),
                self.open,
                kind="problem",
                detail=lambda: "\n".join(map(str, problems[1:])),
            )
        elif self._told is not None:
            self._notice.dismiss(self._told)

    def activated(self, state: Qt.ApplicationState) -> None:
        """Who comes back from an editor has perhaps changed the file there."""
        if state == Qt.ApplicationState.ApplicationActive:
            self.settings.refresh()

    def stands(self, state: EngineState) -> None:
        """Show what automatic comes to with the loaded model, and what the settings come to with it."""
        model = state.model
        numbers = {"engine.context": model.n_ctx, "engine.threads": model.threads} if model else {}
        self._suggested = {name: f"{number:,}" for name, number in numbers.items()}
        if self.dialog is not None:
            self.dialog.suggest(self._suggested)
        if state.phase == "ready" and state.path != self._model:
            self._model = state.path
            self._plan()

    def _hear(self) -> None:
        for problem in self.settings.problems:
            log.warning("%s", problem)
        self.tell_problems()
        self._plan()
        self._settling.request()

    # --- what they come to with the model in use, worked out while somebody looks -----------------------------------

    def _plan(self) -> None:
        if self.dialog is not None and self._model is not None:
            self._effects.ask(self._models.question(self._model))

    def _show_effects(self) -> None:
        dialog = self.dialog
        if dialog is not None:
            dialog.plan.show()
            dialog.plan.show_verdict(self._effects.verdict, title_of(self._model) if self._model else "")
            dialog.show_effects({f"engine.{key}": words for key, words in self._effects.words.items()})
