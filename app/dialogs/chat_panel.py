"""Panel of one chat's options: persona, instructions and sampling, each as in the settings unless changed here."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from app.dialogs.dialog import Page
from app.dialogs.setting_row import ChoiceControl, SettingRow, SettingsSheet
from app.look.sheet import Button, label
from app.settings.resolve import ChatOptions
from app.settings.schema import for_chat
from app.state.persona import Persona
from app.words import UiText, mark, tr
from engine.protocol.settings import Value

NO_PERSONA = "\0"  # data of the entry "None"; no persona's id contains NUL


class Controller(Protocol):
    """Controller that does what the user asks for in the panel."""

    def change_option(self, name: str, value: Value | None) -> None:
        """Set this option of the chat; None returns to the value in the settings."""

    def choose_persona(self, id: str) -> None:
        """Let the chat follow the persona `id`; "" resets the chat's options."""

    def save_persona(self, name: str) -> None:
        """Save the chat's options as a persona."""

    def rename_persona(self, id: str, name: str) -> None:
        """Rename a persona that the user made."""

    def delete_persona(self, id: str) -> None:
        """Delete a persona that the user made."""


class ChatPanel(SettingsSheet):
    def __init__(self, controller: Controller, parent: QWidget) -> None:
        super().__init__(parent)
        self._controller = controller
        self._own_ids: set[str] = set()
        self._name_purpose = ""  # "save" or "rename" while the field for a name is shown
        self.heading = QLabel(self)
        self.heading.setObjectName("settingTitle")
        self.personas = ChoiceControl((), self)
        self.personas.complete.connect(self._choose)
        self.heading.setBuddy(self.personas)
        self.save = Button(self, mark("Save as persona…"), lambda: self.ask_for_name("save"))
        self.rename = Button(self, mark("Rename…"), lambda: self.ask_for_name("rename"))
        self.remove = Button(self, mark("Delete"), lambda: controller.delete_persona(self._current()))
        self.accept_name = Button(self, mark("Save"), self._name_entered)
        self.cancel_name = Button(self, mark("Cancel"), lambda: self.ask_for_name(""))
        self.close_button = Button(self, mark("Close"), self.close)
        self.name = QLineEdit(self)
        self.name.returnPressed.connect(self._name_entered)
        self.problem = label("problem", self)
        self.rows = {setting.name: SettingRow(setting, self) for setting in for_chat()}
        for row in self.rows.values():
            row.changed.connect(controller.change_option)
        self._layout()
        self.ask_for_name("")
        self.apply_look()

    def show_options(
        self,
        options: ChatOptions,
        settings: Mapping[str, Value],
        personas: Sequence[Persona],
        followed: Persona | None,
    ) -> None:
        """Show the options of the open chat, with the settings as defaults, and the personas to choose from.

        `followed` is the persona that the chat follows.
        """
        self._own_ids = {persona.id for persona in personas if persona.own}
        self.personas.clear()
        self.personas.addItem(tr("None"), NO_PERSONA)
        for persona in personas:
            self.personas.addItem(persona.name, persona.id)
        self.personas.setCurrentIndex(max(0, self.personas.findData(followed.id if followed else NO_PERSONA)))
        for name, row in self.rows.items():
            row.control.mark_settled()
            row.show_value(options.values.get(name, settings[name]), name in options.values)
        own = followed is not None and followed.own
        self.rename.setVisible(own and not self._name_purpose)
        self.remove.setVisible(own and not self._name_purpose)
        self.save.setEnabled(bool(options.values))

    def hide_rows(self, names: Collection[str]) -> None:
        """Show all options but those with these names."""
        for name, row in self.rows.items():
            row.setVisible(name not in names)

    def grey_rows(self, names: Collection[str], reason: UiText) -> None:
        """Grey out the options with these names and say why; all others are available."""
        for name, row in self.rows.items():
            row.show_unavailable(reason if name in names else "")

    def retranslate(self) -> None:
        self.setWindowTitle(tr("This chat"))
        self.heading.setText(tr("Persona"))
        self.personas.setAccessibleName(tr("Persona"))
        for each, help in (
            (self.save, tr("Save these instructions and values as a persona")),
            (self.rename, tr("Rename this persona")),
            (self.remove, tr("Delete this persona; chats that use it keep its settings")),
        ):
            each.setToolTip(help)
            each.setAccessibleDescription(help)
        self.name.setPlaceholderText(tr("Name of the persona"))
        self.name.setAccessibleName(tr("Name of the persona"))

    # --- inside -----------------------------------------------------------------------------------------------------

    def _choose(self) -> None:
        id = self._current()
        self._controller.choose_persona("" if id == NO_PERSONA else id)

    def _current(self) -> str:
        return str(self.personas.currentData())

    def ask_for_name(self, purpose: str) -> None:
        """Show the field for a persona's name instead of the buttons; "" shows the buttons again."""
        had_focus = self.name.hasFocus() or self.accept_name.hasFocus() or self.cancel_name.hasFocus()
        self._name_purpose = purpose
        own = self._current() in self._own_ids
        self.problem.say("")
        for widget in (self.name, self.accept_name, self.cancel_name):
            widget.setVisible(bool(purpose))
        self.save.setVisible(not purpose)
        for widget in (self.rename, self.remove):
            widget.setVisible(own and not purpose)
        if purpose:
            self.name.setText(self.personas.currentText() if own else "")
            self.name.selectAll()
            self.name.setFocus()
        elif had_focus:
            self.save.setFocus()

    def _name_entered(self) -> None:
        if self._name_purpose == "save":
            self._controller.save_persona(self.name.text())
        elif self._name_purpose == "rename":
            self._controller.rename_persona(self._current(), self.name.text())

    def _layout(self) -> None:
        page = Page(self, *self.rows.values())
        saving = (self.save, self.rename, self.remove, self.name, self.accept_name, self.cancel_name, None)
        self.lay_out((self.heading, self.personas, None), saving, self.problem, page, (None, self.close_button))
