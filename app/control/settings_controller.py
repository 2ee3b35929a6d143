"""The settings in the running window: opens the dialog and the file, reports problems of the file, plans memory."""

from __future__ import annotations

import logging
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from app.control.model_controller import ModelController
from app.dialogs.settings_dialog import RECOMMENDED_FOR, SettingsDialog
from app.look.sheet import HasDialog, OneDialog
from app.model_fit import PlanEffects
from app.services.timers import Debounce
from app.settings.settings import Settings
from app.settings.values import Wrong
from app.state.engine_state import EngineState
from app.window import Window
from app.words import tr, worded
from common.failures import Failure
from engine.protocol.events import DeviceUse
from engine.recommended import Recommended, recommended_for
from models.titles import title_of

log = logging.getLogger(__name__)
TOPIC = "settings"  # of the notice about entries that cannot be used
UNSAVED_SETTINGS = "unsaved settings"  # topic of problems with storing them


class SettingsController(QObject, HasDialog[SettingsDialog]):
    """Controller of the settings.

    Signals: `settled` comes when no setting has changed for `settled_ms`; `opened` carries a dialog that was created.
    """

    settled = Signal()
    opened = Signal(object)

    def __init__(self, settings: Settings, window: Window, models: ModelController, settled_ms: int) -> None:
        super().__init__(window)
        self.settings = settings
        self._dialog = OneDialog[SettingsDialog](lambda: self._effects.forget())
        self._window, self._notice, self._models = window, window.notice, models
        self._automatic_values: dict[str, str] = {}
        self._devices: DeviceUse | None = None
        self._problems: tuple[Wrong, ...] = ()
        self._model: Path | None = None
        self._effects = PlanEffects(models.planner, self)
        self._effects.changed.connect(self._show_effects)
        self._settling = Debounce(self.settled.emit, settled_ms, self)
        settings.changed.connect(self._settings_changed)

    def open(self) -> SettingsDialog:
        """Show the settings dialog, or raise it if it is open, and return it."""
        self.settings.refresh()
        return self._dialog.show(self._create_dialog, lambda _dialog: self._plan())

    def use(self, name: str, value: str) -> None:
        """Give the setting this value, or show it in the dialog if there is none."""
        if not value:
            self.open().show_setting(name)
            return
        try:
            self.settings.change({name: value})
        except Failure as failure:
            self._notice.post_failure(failure, UNSAVED_SETTINGS)
        else:
            self._notice.solve(UNSAVED_SETTINGS)

    def _create_dialog(self) -> SettingsDialog:
        dialog = SettingsDialog(self.settings, self._window)
        dialog.open_file.clicked.connect(self.open_file)
        dialog.show_automatic_values(self._automatic_values)
        dialog.show_devices(self._devices)
        self.opened.emit(dialog)
        return dialog

    def close(self) -> None:
        """Close the dialog before the window closes; a value that is still being typed is stored."""
        self._dialog.close()
        self._settling.cancel()

    def open_file(self) -> None:
        """Create settings.toml if it is missing, and have the system open it in an editor."""
        try:
            self.settings.make_file()
        except Failure as failure:
            self._notice.post_failure(failure, UNSAVED_SETTINGS)
            return
        self._notice.solve(UNSAVED_SETTINGS)
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.settings.path))):
            path = self.settings.path
            self._notice.post(lambda: tr("No program could open {file}. Open it in a text editor.", file=path))

    def report_problems(self) -> None:
        """Report the entries of settings.toml that cannot be used, once for each set of problems.

        Dismiss the notice when there are none left.
        """
        problems, before, self._problems = self.settings.problems, self._problems, self.settings.problems
        if problems == before:
            return
        self._notice.solve(TOPIC)
        if problems:
            self._notice.post(
                problems[0].__str__,
                lambda: tr("Open settings"),
                self.open,
                kind="problem",
                detail=lambda: "\n".join(map(str, problems[1:])),
                topic=TOPIC,
            )

    def application_state_changed(self, state: Qt.ApplicationState) -> None:
        """Read settings.toml again when the window becomes active: the user may come back from an editor."""
        if state == Qt.ApplicationState.ApplicationActive:
            self.settings.refresh()

    def engine_changed(self, state: EngineState) -> None:
        """Show the loaded model's automatic values in the dialog.

        If another model was loaded, ask the planner how the settings would work with that model.
        """
        model = state.model
        local = model if model and not model.host else None
        numbers = {"engine.context": local.n_ctx, "engine.threads": local.threads} if local else {}
        self._automatic_values = {name: f"{number:,}" for name, number in numbers.items()}
        self._devices = local.devices if local else None
        if self.dialog is not None:
            self.dialog.show_automatic_values(self._automatic_values)
            self.dialog.show_devices(self._devices)
            self._show_effects()
        if state.phase == "ready" and state.path != self._model:
            self._model = None if state.host else state.path
            self._plan()

    def _settings_changed(self) -> None:
        for problem in self.settings.problems:
            log.warning("%s", problem.log_text)
        self.report_problems()
        self._plan()
        self._settling.request()

    # --- what they come to with the model in use, worked out while somebody looks -----------------------------------

    def _plan(self) -> None:
        dialog, model = self.dialog, self._model
        if dialog is None:
            return
        title = title_of(model) if model else ""
        recommended = self.settings.inherited(model) if recommended_for(model) != Recommended() else {}
        dialog.show_recommended({name: recommended[name] for name in RECOMMENDED_FOR if name in recommended}, title)
        if model is None:
            dialog.show_plan(None, "")
        else:
            self._effects.ask(self._models.question(model))

    def _show_effects(self) -> None:
        dialog = self.dialog
        if dialog is not None:
            dialog.show_plan(self._effects.verdict, title_of(self._model) if self._model else "")
            words = {f"engine.{key}": words for key, words in self._effects.words.items()}
            if self._devices and self._devices.found:
                words["engine.device"] = worded(self._devices.reason)
            dialog.show_effects(words)
