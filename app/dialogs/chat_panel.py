"""How this chat is answered: persona, instructions and sampling, each as in the settings unless it is changed here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from PySide6.QtWidgets import QLabel, QLineEdit, QVBoxLayout, QWidget

from app.dialogs.dialog import Page, Sheet, button, inset, label
from app.dialogs.setting_row import Choice, SettingRow
from app.look.theme import SIZES
from app.settings.resolve import ChatOptions
from app.settings.schema import for_chat
from app.state.persona import Persona
from app.words import Saying, said, tr
from engine.protocol.settings import Value

OWN_VALUES = "\0"  # the entry for a chat that follows no persona; no name has a zero


class Controller(Protocol):
    """Whoever does what is asked in the panel."""

    def change(self, name: str, value: Value | None) -> None:
        """Another value of this setting, None for the settings' own."""

    def choose(self, name: str) -> None:
        """Follow a persona, "" for none."""

    def save(self, name: str) -> None:
        """Keep the options as a persona."""

    def rename(self, old: str, new: str) -> None:
        """A persona of the user's."""

    def delete(self, name: str) -> None:
        """A persona of the user's."""


class ChatPanel(Sheet):
    def __init__(self, controller: Controller, parent: QWidget) -> None:
        super().__init__(parent)
        self._controller = controller
        self._own: set[str] = set()
        self._asking = ""  # what the name is for: save or rename
        self.heading = QLabel(self)
        self.heading.setObjectName("settingTitle")
        self.personas = Choice((), self)
        self.personas.complete.connect(self._choose)
        self.heading.setBuddy(self.personas)
        self.save, self.rename, self.remove, self.accept_name, self.cancel_name, self.close_button = (
            button(self) for _ in range(6)
        )
        self.name = QLineEdit(self)
        self.problem = label("problem", self)
        self._said: Saying = ""
        self.rows = {setting.name: SettingRow(setting, self) for setting in for_chat()}
        for row in self.rows.values():
            row.changed.connect(controller.change)
        self._layout()
        self._connect()
        self._ask("")
        self.apply_look()

    def show_options(self, options: ChatOptions, settings: Mapping[str, Value], personas: Sequence[Persona]) -> None:
        """What holds for the chat that is open."""
        self._own = {persona.name for persona in personas if persona.own}
        self.personas.clear()
        self.personas.addItem(tr("None"), OWN_VALUES)
        for persona in personas:
            self.personas.addItem(persona.name, persona.name)
        self.personas.setCurrentIndex(max(0, self.personas.findData(options.persona or OWN_VALUES)))
        for name, row in self.rows.items():
            row.control.settle()
            row.show_value(options.values.get(name, settings[name]), name in options.values)
        own = options.persona in self._own
        self.rename.setVisible(own and not self._asking)
        self.remove.setVisible(own and not self._asking)
        self.save.setEnabled(bool(options.values))

    def complain(self, sentence: Saying) -> None:
        self._said = sentence
        self.problem.setText(said(sentence))
        self.problem.setVisible(bool(sentence))

    def name_taken(self) -> None:
        """The persona is saved or renamed: no name is asked for any more."""
        self._ask("")

    def retranslate(self) -> None:
        self.setWindowTitle(tr("This chat"))
        self.problem.setText(said(self._said))
        self.heading.setText(tr("Persona"))
        self.personas.setAccessibleName(tr("Persona"))
        for each, words, help in (
            (self.save, tr("Save as persona…"), tr("Save these instructions and values as a persona")),
            (self.rename, tr("Rename…"), tr("Rename this persona")),
            (self.remove, tr("Delete"), tr("Delete this persona; chats that use it keep its settings")),
            (self.accept_name, tr("Save"), ""),
            (self.cancel_name, tr("Cancel"), ""),
            (self.close_button, tr("Close"), ""),
        ):
            each.setText(words)
            each.setToolTip(help)
            each.setAccessibleDescription(help)
        self.name.setPlaceholderText(tr("Name of the persona"))
        self.name.setAccessibleName(tr("Name of the persona"))

    def done(self, result: int) -> None:
        """Closing: what was typed but not yet confirmed counts."""
        for row in self.rows.values():
            row.commit()
        super().done(result)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        self.save.clicked.connect(lambda: self._ask("save"))
        self.rename.clicked.connect(lambda: self._ask("rename"))
        self.remove.clicked.connect(lambda: self._controller.delete(self._current()))
        self.accept_name.clicked.connect(self._named)
        self.name.returnPressed.connect(self._named)
        self.cancel_name.clicked.connect(lambda: self._ask(""))
        self.close_button.clicked.connect(self.close)

    def _choose(self) -> None:
        name = self._current()
        self._controller.choose("" if name == OWN_VALUES else name)

    def _current(self) -> str:
        return str(self.personas.currentData())

    def _ask(self, purpose: str) -> None:
        """Ask for a name in the place of the buttons, or stop asking."""
        had_focus = self.name.hasFocus() or self.accept_name.hasFocus() or self.cancel_name.hasFocus()
        self._asking = purpose
        own = self._current() in self._own
        self.complain("")
        for widget in (self.name, self.accept_name, self.cancel_name):
            widget.setVisible(bool(purpose))
        self.save.setVisible(not purpose)
        for widget in (self.rename, self.remove):
            widget.setVisible(own and not purpose)
        if purpose:
            self.name.setText(self._current() if own else "")
            self.name.selectAll()
            self.name.setFocus()
        elif had_focus:
            self.save.setFocus()

    def _named(self) -> None:
        if self._asking == "save":
            self._controller.save(self.name.text())
        elif self._asking == "rename":
            self._controller.rename(self._current(), self.name.text())

    def _layout(self) -> None:
        page = Page(self)
        for row in self.rows.values():
            page.column.addWidget(row)
        page.column.addStretch(1)
        naming = (self.name, self.accept_name, self.cancel_name)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, SIZES.gap_l, 0, SIZES.gap_m)
        layout.setSpacing(SIZES.gap_m)
        layout.addLayout(inset(self.heading, self.personas, None))
        layout.addLayout(inset(self.save, self.rename, self.remove, *naming, None))
        layout.addLayout(inset(self.problem, wide=self.problem))
        layout.addWidget(page, 1)
        layout.addLayout(inset(None, self.close_button))
