"""The dialog of all settings, with a search; a change takes effect at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from app.dialogs.dialog import Page, PlanLine, Section, heading
from app.dialogs.setting_row import ChoiceControl, SettingRow, SettingsSheet
from app.look.flow import Flow
from app.look.sheet import Button, label
from app.look.theme import SIZES
from app.settings.schema import GROUPS, for_all, group_of, offered
from app.settings.settings import Settings
from app.words import UiText, escaped_html, mark, tr, worded
from common.failures import Failure
from common.planning import Verdict
from engine.protocol.events import DeviceUse
from engine.protocol.settings import Setting, Value

RESET_ALL = mark("Restore defaults")
UNDO_RESET = mark("Undo restore")
RECOMMENDED = mark("Recommended by the makers of {model}. A value that you set here applies to all models.")
RECOMMENDED_FOR = {setting.name for setting in for_all() if setting.fills.startswith("generate.sampling.")}


class SettingsDialog(SettingsSheet):
    def __init__(self, settings: Settings, parent: QWidget) -> None:
        super().__init__(parent)
        self.settings = settings
        self._before_reset: Mapping[str, Value] = {}
        self.search = QLineEdit(self)
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._filter)
        self.problem, self.note = label("problem", self), label("settingHelp", self)
        self.nothing = label("nothingFound", self, lambda: tr("No results"))
        self.rows = {setting.name: SettingRow(setting, self) for setting in offered(for_all())}
        self.titles = dict(GROUPS)
        self.headings = {group: heading(self) for group in GROUPS}
        self.section_buttons: dict[str, QPushButton] = {}
        self._pages: dict[str, Section] = {}
        self._recommended: Mapping[str, Value] = {}
        self._wanted = ""  # the section that the user asked for last
        self.plan = PlanLine(self)  # memory matters to the settings of the engine only, so it stands among those
        for row in self.rows.values():
            row.changed.connect(self._change)
        self.open_file = Button(self, mark("Open file"))
        self.open_file.setToolTip(escaped_html(str(settings.path)))
        self.reset_all = Button(self, work=self._reset_all)
        self.close_button = Button(self, mark("Close"), self.accept)
        self._layout()
        settings.changed.connect(self.show_values)
        self.apply_look()
        self.search.setFocus()

    def add_page(self, name: str, title: str, page: Section) -> None:
        """Add a section below the settings, with a heading and a button that scrolls to it."""
        self.titles[name], self.headings[name] = title, heading(self)
        self._pages[name] = page
        self.page.add(self.headings[name], page)
        self._add_section_button(name)
        self.retranslate()

    def add_to_section(self, name: str, part: Section) -> None:
        """Add what is no setting to the end of a section."""
        self._pages[name] = part
        following = list(GROUPS)[list(GROUPS).index(name) + 1]
        self.page.column.insertWidget(self.page.column.indexOf(self.headings[following]), part)
        self._filter(self.search.text())

    def show_section(self, name: str) -> None:
        """Clear the search, scroll to the section, and focus its button."""
        self.search.clear()
        self._wanted = name
        self.page.scroll_to(self.headings[name])
        self.section_buttons[name].setFocus()
        self._mark_section()

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Settings"))
        self.search.setPlaceholderText(tr("Search settings"))
        self.search.setAccessibleName(tr("Search settings"))
        for name, title in self.titles.items():
            self.headings[name].setText(tr(title))
            self.section_buttons[name].setText(tr(title))
            self.section_buttons[name].setAccessibleName(tr("Go to: {section}", section=tr(title)))
        self.show_values()
        self._filter(self.search.text())

    def show_values(self) -> None:
        for name, row in self.rows.items():
            differs = self.settings.differs(name)
            value = self.settings.values[name] if differs else self._recommended.get(name, self.settings.values[name])
            row.show_value(value, differs)
        self.problem.say(" ".join(map(str, self.settings.problems)))
        self.reset_all.setText(tr(UNDO_RESET if self._before_reset else RESET_ALL))
        self.reset_all.setEnabled(bool(self._before_reset) or any(map(self.settings.differs, self.rows)))

    def show_setting(self, name: str) -> None:
        """Scroll to one setting, and let the user change it."""
        self.search.clear()
        row = self.rows[name]
        self.page.scroll_to(row)
        row.control.setFocus()

    def show_recommended(self, values: Mapping[str, Value], model: str) -> None:
        """Show the values that the makers of `model` recommend, which hold where the user has set nothing."""
        self._recommended = {name: value for name, value in values.items() if name in self.rows}
        for name, row in self.rows.items():
            if name in RECOMMENDED_FOR:
                row.show_effect(tr(RECOMMENDED, model=model) if name in self._recommended else "")
        self.show_values()

    def show_automatic_values(self, words: Mapping[str, str]) -> None:
        """Show the values that Automatic stands for, by the settings' names."""
        for name, row in self.rows.items():
            row.show_automatic_value(words.get(name, ""))

    def show_devices(self, use: DeviceUse | None) -> None:
        """Offer the graphics processors that were found; without one, a line says so. None: nothing is known yet."""
        row, found = self.rows["engine.device"], use.found if use else ()
        if isinstance(row.control, ChoiceControl):
            row.control.offer(found)
        is_chosen = self.settings.differs(row.setting.name)
        row.show_unavailable(partial(worded, use.reason) if use and not found and not is_chosen else "")

    def show_effects(self, words: Mapping[str, str]) -> None:
        """Show what settings cost in memory and speed, by their names."""
        for name, row in self.rows.items():
            if name not in RECOMMENDED_FOR:
                row.show_effect(words.get(name, ""))

    def done(self, result: int) -> None:
        super().done(result)
        self.settings.changed.disconnect(self.show_values)

    def _change(self, name: str, value: Value | None) -> None:
        if value is None:
            self._do(lambda: self.settings.reset([name]))
        elif value != self.settings.values[name] or name in self._recommended:
            self._do(lambda: self.settings.change({name: value}))
        else:
            self.show_values()

    def _reset_all(self) -> None:
        if self._before_reset:
            before = self._before_reset
            self._do(lambda: self.settings.change(before))
            return
        before = {name: value for name, value in self.settings.values.items() if self.settings.differs(name)}
        self._do(self.settings.reset, before)

    def _do(self, work: Callable[[], UiText], undo: Mapping[str, Value] | None = None) -> None:
        """Change the file by `work`, and show the sentence that `work` returns, or that of a Failure.

        `undo` are the values that would undo a reset.
        """
        kept, self._before_reset = self._before_reset, undo or {}
        try:
            self.note.say(work())
        except Failure as failure:
            self._before_reset = kept
            self.note.say(failure.sentence)
        self.show_values()

    def _filter(self, words: str) -> None:
        matching = {name for name, row in self.rows.items() if row.matches(words, self._headings_of(row.setting))}
        for name, row in self.rows.items():
            row.setVisible(name in matching)
        sections = {group_of(self.rows[name].setting) for name in matching}
        sections |= {name for name, page in self._pages.items() if page.search(words, tr(self.titles[name]))}
        for name, title in self.headings.items():
            title.setVisible(name in sections)
            self.section_buttons[name].setEnabled(name in sections)
        for name, page in self._pages.items():
            page.setVisible(name in sections)
        self.plan.setVisible(bool(self.plan.model) and "engine" in sections)
        self.nothing.setVisible(not sections)
        self._mark_section()

    def show_plan(self, verdict: Verdict | None, model: str) -> None:
        """Show the memory that `model` takes with these settings; None while the planner works; "" hides it."""
        self.plan.show_verdict(verdict, model)
        self.plan.setVisible(bool(model) and self.section_buttons["engine"].isEnabled())

    def _mark_section(self) -> None:
        """Mark the button of the section that is at the top of the view."""
        top = self.page.verticalScrollBar().value()
        headings = [(name, title.y()) for name, title in self.headings.items() if not title.isHidden()]
        shown = next((name for name, y in reversed(headings) if 0 < y <= top), headings[0][0] if headings else "")
        if top == self.page.verticalScrollBar().maximum() and self._wanted in self.headings:
            shown = self._wanted  # the last sections are too short to reach the top
        for name, each in self.section_buttons.items():
            each.setChecked(name == shown)

    def _headings_of(self, setting: Setting) -> str:
        """Return the headings under which a search finds the setting."""
        return " ".join(tr(GROUPS[name]) for name in dict.fromkeys((group_of(setting), setting.section)))

    # --- layout -----------------------------------------------------------------------------------------------------

    def _layout(self) -> None:
        self.page = Page(self, always_bar=True)
        self.page.verticalScrollBar().valueChanged.connect(self._mark_section)
        for group, title in self.headings.items():
            rows = [row for row in self.rows.values() if group_of(row.setting) == group]
            self.page.add(title, *rows, *([self.plan] if group == "engine" else []))
        self.page.add(self.nothing)
        self._section_row = Flow(self, gap=0)
        for group in GROUPS:
            self._add_section_button(group)
        buttons = (self.open_file, self.reset_all, None, self.close_button)
        self.lay_out(self.search, self._section_row, self.problem, self.note, self.page, buttons, gap=SIZES.gap)
        self.plan.hide()
        self.nothing.hide()

    def _add_section_button(self, name: str) -> None:
        """Add a button that scrolls to the section."""
        section_button = self.section_buttons[name] = Button(self, work=lambda: self.show_section(name), kind="section")
        section_button.setCheckable(True)
        self._section_row.set_widgets(self.section_buttons.values())
