"""Dialog of one model's options, each with a sentence of help, and the memory that they take."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from PySide6.QtWidgets import QWidget

from app.dialogs.dialog import Page, PlanLine, heading
from app.dialogs.model_list import local_title
from app.dialogs.setting_row import SettingRow, SettingsSheet
from app.look.sheet import Button, label
from app.look.theme import SIZES
from app.settings.schema import ADVANCED, GROUPS, for_model, offered
from app.settings.settings import Settings
from app.words import mark, tr
from common.failures import Failure
from common.paths import path_text
from common.planning import Verdict
from engine.protocol.settings import Setting, Value
from models.collection import LocalModel


class ModelOptions(SettingsSheet):
    """Dialog of one model's options; `drafters` are the models that can draft for this one."""

    def __init__(self, model: LocalModel, drafters: Iterable[LocalModel], settings: Settings, parent: QWidget) -> None:
        super().__init__(parent)
        self.model, self._settings = model, settings
        files = [(path_text(drafter.path), local_title(drafter)) for drafter in drafters]
        self.rows = {setting.key: SettingRow(setting, self) for setting in offered(for_model(files))}
        for row in self.rows.values():
            row.changed.connect(self._change)
        self.advanced = heading(self)
        self.plan, self.problem = PlanLine(self), label("problem", self)
        self.reset_button = Button(self, mark("Use global settings"), self._reset)
        self.load_button = Button(self, mark("Load"))
        self.close_button = Button(self, mark("Close"), self.accept)
        self._layout()
        self.apply_look()
        self.show_values()

    def show_values(self) -> None:
        own = self._settings.of_model(self.model.path)
        for row in self.rows.values():
            row.show_value(own.get(row.setting.name, row.setting.default), row.setting.name in own)
        self.reset_button.setEnabled(bool(own))

    def show_plan(self, verdict: Verdict | None, effects: Mapping[str, str]) -> None:
        """Show the verdict for the options, None while the planner works; `effects` are texts by the options' keys."""
        self.plan.show_verdict(verdict)
        for key, number in (("context", verdict.n_ctx), ("threads", verdict.threads)) if verdict else ():
            self.rows[key].show_automatic_value(f"{number:,}" if number else "")
        for key, row in self.rows.items():
            row.show_effect(effects.get(key, ""))

    def show_loaded(self, loaded: bool) -> None:
        """Hide the Load button for a loaded model, which takes over changed options without it."""
        self.load_button.setVisible(not loaded)

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Options for {model}", model=local_title(self.model)))
        self.advanced.setText(tr(GROUPS[ADVANCED]))

    # --- inside -----------------------------------------------------------------------------------------------------

    def _setting(self, name: str) -> Setting:
        return next(row.setting for row in self.rows.values() if row.setting.name == name)

    def _change(self, name: str, value: Value | None) -> None:
        setting = self._setting(name)
        before = self._settings.of_model(self.model.path).get(name, setting.default)
        after = setting.default if value is None else value
        if after != before:
            self._do(lambda: self._settings.change_model(self.model.path, setting, after))
        else:
            self.show_values()

    def _reset(self) -> None:
        self._do(lambda: self._settings.reset_model(self.model.path))

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
            self.problem.say("")
        except Failure as failure:
            self.problem.say(failure.sentence)
        self.show_values()

    def _layout(self) -> None:
        ordinary = [row for row in self.rows.values() if not row.setting.advanced]
        advanced = [row for row in self.rows.values() if row.setting.advanced]
        page = Page(self, *ordinary, self.advanced, *advanced)
        buttons = (self.reset_button, None, self.load_button, self.close_button)
        self.lay_out(page, self.plan, self.problem, buttons, gap=SIZES.gap)
        self.problem.hide()
