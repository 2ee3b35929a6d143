"""The dialog of all facts about the user: those that the model proposes, and those that the user has approved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from app.dialogs.dialog import Page
from app.dialogs.setting_row import ChoiceControl, SettingRow, SettingsSheet
from app.look.live import Live
from app.look.sheet import Button, fill, label
from app.look.theme import SIZES
from app.settings.schema import SETTINGS
from app.state.memory import MOST_LENGTH
from app.words import UiText, mark, tr
from engine.protocol.settings import Value

SETTING = "window.memory"
EMPTY = mark("Nothing is remembered about you.")


@dataclass(frozen=True, slots=True)
class FactLine:
    """Content of a row: a fact, or a proposal of the model; without `folder_id` it is for all chats."""

    id: str
    text: str
    folder_id: str | None
    is_proposed: bool


class FactRow(Live, QFrame):
    """Row of one fact: its text, which can be changed, the chats that it is for, and its buttons."""

    def __init__(self, line: FactLine, folders: Sequence[tuple[str, str]], dialog: MemoryDialog) -> None:
        super().__init__(dialog.page.rows)
        self.setObjectName("settingRow")
        self._line, self._dialog = line, dialog
        self.text = QLineEdit(line.text, self)
        self.text.setMaxLength(MOST_LENGTH)
        self.place = ChoiceControl((), self)
        for folder_id, name in (("", ""), *folders):
            self.place.addItem(name, folder_id)
        self.place.setCurrentIndex(max(0, self.place.findData(line.folder_id or "")))
        remember = Button(self, mark("Remember"), partial(self._hand_on, dialog.approved))
        refuse = Button(self, mark("Refuse"), lambda: dialog.refused.emit(line.id))
        forget = Button(self, mark("Forget"), lambda: dialog.forgotten.emit(line.id))
        self.buttons: tuple[Button, ...] = (remember, refuse) if line.is_proposed else (forget,)
        for each in {remember, refuse, forget} - set(self.buttons):
            each.hide()
        self.proposed = label("settingHelp", self)
        self.proposed.say((lambda: tr("The model proposes:")) if line.is_proposed else "")
        if not line.is_proposed:
            self.text.editingFinished.connect(self._changed)
            self.place.complete.connect(self._changed)
        row = fill(QHBoxLayout(), self.place, None, *self.buttons, gap=SIZES.gap)
        margins = (0, SIZES.gap, 0, SIZES.gap)
        fill(QVBoxLayout(self), self.proposed, self.text, row, gap=SIZES.gap_s, margins=margins)
        self.apply_look()

    def retranslate(self) -> None:
        self.place.setItemText(0, tr("In all chats"))
        self.place.setAccessibleName(tr("Chats in which this is known"))
        self.text.setAccessibleName(tr("Proposed fact") if self._line.is_proposed else tr("Fact"))
        for each in self.buttons:
            each.setAccessibleName(tr("{action}: {name}", action=each.text(), name=self._line.text))

    def _changed(self) -> None:
        if (self.text.text(), self.place.currentData() or None) != (self._line.text, self._line.folder_id):
            self._hand_on(self._dialog.changed)

    def _hand_on(self, signal: object) -> None:
        signal.emit(self._line.id, self.text.text(), self.place.currentData() or None)  # type: ignore[attr-defined]


class MemoryDialog(SettingsSheet):
    """Dialog of facts.

    Signals: `approved` and `changed` carry a fact's id, its text and the id of its folder, None for all chats;
    `refused` and `forgotten` its id; `added` a text; `setting_changed` whether the model proposes facts.
    """

    approved = Signal(str, str, object)
    changed = Signal(str, str, object)
    refused = Signal(str)
    forgotten = Signal(str)
    added = Signal(str)
    undo_requested = Signal()
    setting_changed = Signal(str, object)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.hint, self.note, self.problem = (label(name, self) for name in ("settingHelp", "settingHelp", "problem"))
        setting = SettingRow(SETTINGS[SETTING], self)
        setting.changed.connect(self.setting_changed)
        self.rows = {SETTING: setting}
        self.page = Page(self)
        self.facts: list[FactRow] = []
        self.empty = label("settingHelp", self, lambda: tr(EMPTY))
        self.text = QLineEdit(self)
        self.text.setMaxLength(MOST_LENGTH)
        self.text.returnPressed.connect(self._add)
        self.add_button = Button(self, mark("Add"), self._add)
        self.undo_button = Button(self, mark("Undo"), self.undo_requested.emit)
        self.close_button = Button(self, mark("Close"), self.close)
        adding, below = (self.text, self.add_button), (self.note, self.undo_button)
        self.lay_out(setting, self.hint, self.empty, self.page, adding, below, self.problem, (None, self.close_button))
        self.show_note("", can_undo=False)
        self.apply_look()

    def show_setting(self, value: Value, differs: bool) -> None:
        self.rows[SETTING].show_value(value, differs)

    def show_facts(self, lines: Sequence[FactLine], folders: Sequence[tuple[str, str]]) -> None:
        """Show proposals and facts, in this order; `folders` are ids and names of the folders to choose from."""
        for row in self.facts:
            row.hide()
            row.deleteLater()
        self.facts = [FactRow(line, folders, self) for line in lines]
        self.page.add(*self.facts)
        self.empty.setVisible(not lines)

    def show_note(self, words: UiText, can_undo: bool, problem: UiText = "") -> None:
        """Show what was done, with an Undo button if `can_undo`, or the problem."""
        self.note.say(words)
        self.problem.say(problem)
        self.undo_button.setVisible(can_undo)

    def retranslate(self) -> None:
        self.setWindowTitle(tr("Memory"))
        words = mark("Models read these sentences before each chat that is not temporary. Nothing else is remembered.")
        self.hint.setText(tr(words))
        self.text.setPlaceholderText(tr("Something to remember"))
        self.text.setAccessibleName(tr("Something to remember"))

    def _add(self) -> None:
        if text := self.text.text().strip():
            self.text.clear()
            self.added.emit(text)
