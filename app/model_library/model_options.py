"""One model's options: each with a sentence of help, and what they come to in memory while they are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.look.theme import SIZES
from app.model_library.model_rows import local_title
from app.model_library.model_settings import ModelSettings, settings_for
from app.settings.schema import GROUPS
from app.settings.setting import ADVANCED, Setting, Value
from app.settings_view.page import Page, Sheet, button, fit, heading, inset, label
from app.settings_view.plan_line import PlanLine
from app.settings_view.setting_row import SettingRow
from app.words import tr, worded
from common.failures import Failure
from common.planning import Verdict
from models.collection import LocalModel


class ModelOptions(Sheet):
    """`changed` says that the plan is another one now; `load` asks to load the model."""

    changed = Signal()
    load = Signal()

    def __init__(
        self, model: LocalModel, drafters: Iterable[LocalModel], settings: ModelSettings, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self.model = model
        self._settings, self._known = settings, settings_for(drafters)
        self.rows = {setting.key: SettingRow(setting, self) for setting in self._known}
        for row in self.rows.values():
            row.changed.connect(self._change)
            row.reset.connect(lambda name: self._change(name, self._setting(name).default))
        self.advanced = heading(self)
        self.plan, self.problem = PlanLine(self), label("problem", self)
        self.reset_button = button(self, self._reset)
        self.load_button = button(self, self.load.emit)
        self.close_button = button(self, self.accept)
        self._layout()
        self.retranslate()
        self.restyle()
        self.show_values()

    @property
    def values(self) -> dict[str, Value]:
        return self._settings.values(self.model.path, self._known)

    def show_values(self) -> None:
        values = self.values
        for setting in self._known:
            value = values[setting.key]
            self.rows[setting.key].show_value(value, value != setting.default)
        self.reset_button.setEnabled(any(values[setting.key] != setting.default for setting in self._known))

    def show_plan(self, verdict: Verdict | None, effects: Mapping[str, str]) -> None:
        """What the options come to; None while it is being worked out. `effects`: of single ones, by their keys."""
        self.plan.show_verdict(verdict)
        for key, number in (("context", verdict.n_ctx), ("threads", verdict.threads)) if verdict else ():
            self.rows[key].suggest(f"{number:,}" if number else "")
        for key, row in self.rows.items():
            row.show_effect(effects.get(key, ""))

    def show_loaded(self, loaded: bool) -> None:
        """A loaded model takes its options over by itself."""
        self.load_button.setVisible(not loaded)

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Options for {model}", model=local_title(self.model)))
        for row in self.rows.values():
            row.retranslate()
        self.advanced.setText(tr(GROUPS[ADVANCED]))
        self.reset_button.setText(tr("Use global settings"))
        self.load_button.setText(tr("Load"))
        self.close_button.setText(tr("Close"))
        self.plan.retranslate()

    def restyle(self) -> None:
        for row in self.rows.values():
            row.restyle()
        fit(self)

    def done(self, result: int) -> None:
        """Closing: a value that was typed but not yet confirmed counts."""
        for row in self.rows.values():
            row.control.commit()
        super().done(result)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _setting(self, name: str) -> Setting:
        return next(setting for setting in self._known if setting.name == name)

    def _change(self, name: str, value: Value) -> None:
        setting = self._setting(name)
        if value != self.values[setting.key]:
            self._do(lambda: self._settings.change(self.model.path, setting, value))
        else:
            self.show_values()

    def _reset(self) -> None:
        self._do(lambda: self._settings.reset(self.model.path))

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
            self.problem.setText("")
        except Failure as failure:
            self.problem.setText(worded(failure.sentence))
        self.problem.setVisible(bool(self.problem.text()))
        self.show_values()
        self.changed.emit()

    def _layout(self) -> None:
        page = Page(self)
        ordinary = [row for row in self.rows.values() if not row.setting.advanced]
        advanced = [row for row in self.rows.values() if row.setting.advanced]
        for widget in (*ordinary, self.advanced, *advanced):
            page.column.addWidget(widget)
        page.column.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, SIZES.gap_l, 0, SIZES.gap_m)
        layout.setSpacing(SIZES.gap)
        layout.addWidget(page, 1)
        for line in (self.plan, self.problem):
            layout.addLayout(inset(line, wide=line))
        self.problem.hide()
        layout.addLayout(inset(self.reset_button, None, self.load_button, self.close_button))
