"""The panel of the open chat's options: opens it, applies changes, and saves, renames and deletes personas."""

from __future__ import annotations

from collections.abc import Callable, Collection

from PySide6.QtCore import QObject

from app.dialogs.chat_panel import ChatPanel
from app.settings.resolve import ChatOptions, Values, chat_options_from_json
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.state.persona import Personas
from app.window import Window
from app.words import UiText, mark, tr
from common.failures import Failure
from engine.protocol.settings import Value

THEIRS = mark("{host} uses its own value until you change this one.")


class ChatOptionsController(QObject):
    def __init__(
        self, window: Window, open_chats: OpenChats, engine: EngineQueue, settings: Settings, personas: Personas
    ) -> None:
        super().__init__(window)
        self.panel: ChatPanel | None = None
        self._window, self._open_chats, self._engine, self._settings = window, open_chats, engine, settings
        self._personas = personas
        self._hidden: Collection[str] = ()
        window.commands.bind("chat_options", self.open)
        open_chats.current_changed.connect(self._changed)
        open_chats.options_changed.connect(self._changed)
        settings.changed.connect(self.show_options)
        engine.state.phase_changed.connect(lambda _state: self._grey())

    def open(self) -> None:
        if self.panel is None:
            self.panel = ChatPanel(self, self._window)
            self.panel.hide_rows(self._hidden)
        self.show_options()
        self.panel.show()
        self.panel.raise_()
        self.panel.activateWindow()

    def show_options(self) -> None:
        """Show the open chat's options in the window's header and in the panel."""
        options, name = self._options, ""
        try:
            name = self._personas.name_of(options.persona)
            if self.panel is not None:
                followed = self._personas.find(options.persona)
                self.panel.show_options(options, self._inherited, self._personas.all(), followed)
                self._grey()
        except Failure as failure:
            if self.panel is not None:
                self.panel.show_problem(failure.sentence)
        self._window.header.show_persona(name or ((lambda: tr("Changed")) if options.values else ""))

    def hide(self, names: Collection[str]) -> None:
        """Hide the options with these names in the panel, because the loaded model does not have them."""
        self._hidden = names
        if self.panel is not None:
            self.panel.hide_rows(names)

    def _grey(self) -> None:
        """Grey out what the server that answers does not do."""
        model = self._engine.state.model
        host = model.host if model else ""
        ignored = {f"generate.{field}" for field in model.ignored} if model else set()
        if self.panel is not None:
            names = {name for name, row in self.panel.rows.items() if row.setting.fills in ignored}
            self.panel.grey_rows(names, lambda: tr("{host} does not offer this.", host=host))
            values = {**self._inherited, **self._options.values}
            for name, row in self.panel.rows.items():
                theirs = host and name not in names and row.setting.fills.startswith("generate.sampling.")
                unchanged = values[name] == row.setting.default and not row.setting.auto
                row.show_effect(tr(THEIRS, host=host) if theirs and unchanged else "")

    # --- what is asked in the panel ---------------------------------------------------------------------------------

    @property
    def _inherited(self) -> Values:
        """The values that the chat has unless it has its own."""
        state = self._engine.state
        return self._settings.inherited(state.path, self._options.values, state.thinks)

    @property
    def _options(self) -> ChatOptions:
        return chat_options_from_json(self._open_chats.current.chat.options)

    def _changed(self, conversation: Conversation) -> None:
        if conversation is self._open_chats.current:
            self.show_options()

    def _use(self, options: ChatOptions) -> None:
        self._open_chats.current.update_entry(options=options.to_json())
        self.show_options()

    def change_option(self, name: str, value: Value | None) -> None:
        """Set this option of the chat; None returns to the value in the settings."""
        self._use(self._options.changed(name, value))

    def choose_persona(self, id: str) -> None:
        """Let the chat follow the persona `id`; "" resets the chat's options."""

        def choose() -> None:
            persona = self._personas.find(id)
            self._use(ChatOptions(persona.id, persona.options.values) if persona else ChatOptions())

        self._do(choose)

    def save_persona(self, name: str) -> None:
        """Save the chat's options as a persona, which the chat follows from now on."""
        options = self._options
        self._do(lambda: self._use(ChatOptions(self._personas.save(name, options), options.values)))

    def rename_persona(self, id: str, name: str) -> None:
        """Rename a persona that the user made."""
        self._do(lambda: self._use(ChatOptions(self._personas.rename(id, name), self._options.values)))

    def delete_persona(self, id: str) -> None:
        """Delete a persona that the user made; the chat keeps its values."""

        def delete() -> None:
            self._personas.delete(id)
            self._use(ChatOptions("", self._options.values))

        self._do(delete)

    def _do(self, work: Callable[[], object]) -> None:
        """Run `work`, then refresh the panel; show the sentence of a ValueError or Failure instead."""
        try:
            work()
        except ValueError as error:
            self._show_problem(str(error))
        except Failure as failure:
            self._show_problem(failure.sentence)
        else:
            if self.panel is not None:
                self.panel.close_name_editor()
            self.show_options()

    def _show_problem(self, sentence: UiText) -> None:
        if self.panel is not None:
            self.panel.show_problem(sentence)
        else:
            self._window.notice.post(sentence, kind="problem")
