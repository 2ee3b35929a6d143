"""The open chat's options: their panel, the personas that save them, and whether the model thinks."""

from __future__ import annotations

from collections.abc import Callable, Collection

from PySide6.QtCore import QObject

from app.dialogs.chat_panel import ChatPanel
from app.notice import UNDO_MS
from app.settings.resolve import PROMPT, ChatOptions, Values, chat_options_from_json
from app.settings.settings import Settings
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.open_chats import OpenChats
from app.state.persona import Personas
from app.window import Window
from app.words import UiText, current_text, mark, tr
from common.failures import Failure
from engine.protocol.events import ThinkingControls
from engine.protocol.requests import ThinkingEffort, ThinkingOptions
from engine.protocol.settings import Value

MODE, EFFORT = "answer.thinking", "answer.thinking_effort"
TOPIC = "chat options"  # of problems with personas
THEIRS = mark("{host} uses its own value until you change this one.")


class ChatOptionsController(QObject):
    """Controller of the open chat's options: their panel, and the think button beside the message.

    The think button is shown only where the loaded model leaves a choice whether or how much it thinks.
    """

    def __init__(
        self, window: Window, open_chats: OpenChats, engine: EngineQueue, settings: Settings, personas: Personas
    ) -> None:
        super().__init__(window)
        self.panel: ChatPanel | None = None
        self._window, self._open_chats, self._engine, self._settings = window, open_chats, engine, settings
        self._personas = personas
        self._hidden: Collection[str] = ()  # options that the loaded model does not have
        self._controls = ThinkingControls()  # of the model that was loaded last: it may be loaded again
        window.commands.bind("chat_options", self.open)
        window.commands.bind("think", self.change_thinking)
        for show in (self.show_options, self.show_thinking):
            open_chats.follow_current(show, open_chats.options_changed)
            settings.changed.connect(show)
        engine.state.phase_changed.connect(self._engine_changed)
        self.show_thinking()

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
        options, name, project = self._options, "", self._open_chats.current.project
        try:
            name = self._personas.name_of(options.persona)
            if self.panel is not None:
                followed = self._personas.find(options.persona)
                self.panel.show_options(options, self._inherited, self._personas.all(), followed)
                self._grey()
        except Failure as failure:
            if self.panel is not None:
                self.panel.problem.say(failure.sentence)
        own: UiText = name or ((lambda: tr("Changed")) if options.values else "")
        inside = project.name if project.contents() else ""
        self._window.header.show_persona(lambda: " · ".join(filter(None, (inside, current_text(own)))))

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
        """The values that the chat has unless it has its own; its own instructions are added to its project's."""
        state, project = self._engine.state, self._open_chats.current.project
        thinks = bool(state.model and state.model.thinking.thinks)
        values = self._settings.inherited(state.path, {**project.options.values, **self._options.values}, thinks)
        return {**values, **project.options.values, PROMPT: "" if project.instructions else values[PROMPT]}

    @property
    def _options(self) -> ChatOptions:
        return chat_options_from_json(self._open_chats.current.chat.options)

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
            self._window.notice.solve(TOPIC)
            if self.panel is not None:
                self.panel.ask_for_name("")
            self.show_options()

    def _show_problem(self, sentence: UiText) -> None:
        if self.panel is not None:
            self.panel.problem.say(sentence)
        else:
            self._window.notice.post(sentence, kind="problem", topic=TOPIC)

    # --- whether and how much the model thinks ----------------------------------------------------------------------

    def change_thinking(self) -> None:
        """Let the model think in this chat, or stop it from thinking; with efforts, take the next one."""
        chosen = self._thinking
        inherited = self._settings.options(self._engine.state.path).generate.thinking
        efforts = self._controls.efforts
        if self._controls.switch:
            mode = "off" if self._thinks(chosen) else "on"
            self.change_option(MODE, None if (mode == "on") == self._thinks(inherited) else mode)
        elif efforts:
            now = self._effort(chosen)
            effort = efforts[(efforts.index(now) + 1) % len(efforts) if now in efforts else 0]
            self.change_option(EFFORT, None if effort == self._effort(inherited) else effort)
        else:
            self._window.notice.post(
                lambda: tr("With the loaded model, thinking cannot be turned on or off."), milliseconds=UNDO_MS
            )

    def show_thinking(self) -> None:
        """Show what the model will do with the open chat's next message."""
        button, chosen = self._window.composer.think_button, self._thinking
        if self._controls.switch:
            button.show_choice(self._thinks(chosen))
        elif self._controls.efforts:
            button.show_choice(None, self._effort(chosen))
        else:
            button.hide()
        choices = {MODE: self._controls.switch, EFFORT: bool(self._controls.efforts)}
        self._hidden = [name for name, offered in choices.items() if not offered]
        if self.panel is not None:
            self.panel.hide_rows(self._hidden)

    @property
    def _thinking(self) -> ThinkingOptions:
        """Whether and how much the model is to think in the open chat."""
        return self._engine.model.options_for(self._open_chats.current).generate.thinking

    def _thinks(self, options: ThinkingOptions) -> bool:
        return self._controls.default if options.mode == "auto" else options.mode == "on"

    def _effort(self, options: ThinkingOptions) -> ThinkingEffort:
        """Return the effort; auto if the model's usual one is not known."""
        return options.effort if options.effort in self._controls.efforts else self._controls.default_effort

    def _engine_changed(self, state: EngineState) -> None:
        self._grey()
        if state.model and state.model.thinking != self._controls:
            self._controls = state.model.thinking
            self.show_thinking()
