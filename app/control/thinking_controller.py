"""Whether and how much the model thinks in the open chat: shows it beside the message, and changes it."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.control.chat_options_controller import ChatOptionsController
from app.notice import UNDO_MS
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.open_chats import OpenChats
from app.window import Window
from app.words import tr
from engine.protocol.events import ThinkingControls
from engine.protocol.requests import ThinkingEffort, ThinkingOptions
from engine.protocol.settings import Value

MODE, EFFORT = "answer.thinking", "answer.thinking_effort"


class ThinkingController(QObject):
    """Controller of the think button, which is shown only where the loaded model leaves a choice.

    What the user chooses is an option of the open chat.
    """

    def __init__(
        self,
        window: Window,
        open_chats: OpenChats,
        engine: EngineQueue,
        settings: Settings,
        options: ChatOptionsController,
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine = window, open_chats, engine
        self._settings, self._options = settings, options
        self._controls = ThinkingControls()  # of the model that was loaded last: it may be loaded again
        window.commands.bind("think", self.change)
        open_chats.current_changed.connect(self._show_if_open)
        open_chats.options_changed.connect(self._show_if_open)
        settings.changed.connect(self.show_choice)
        engine.state.phase_changed.connect(self._engine_changed)
        self.show_choice()

    def change(self) -> None:
        """Let the model think in this chat, or stop it from thinking; with efforts, take the next one."""
        chosen = self._chosen()
        inherited = self._settings.options(self._engine.state.path).generate.thinking
        efforts = self._controls.efforts
        if self._controls.switch:
            on = not self._thinks(chosen)
            self._use(MODE, "on" if on else "off", on == self._thinks(inherited))
        elif efforts:
            now = self._effort(chosen)
            effort = efforts[(efforts.index(now) + 1) % len(efforts) if now in efforts else 0]
            self._use(EFFORT, effort, effort == self._effort(inherited))
        else:
            self._window.notice.post(
                lambda: tr("The loaded model leaves no choice whether it thinks."), milliseconds=UNDO_MS
            )

    def show_choice(self) -> None:
        """Show what the model will do with the open chat's next message."""
        button, chosen = self._window.composer.think_button, self._chosen()
        if self._controls.switch:
            button.show_switch(self._thinks(chosen))
        elif self._controls.efforts:
            button.show_effort(self._effort(chosen))
        else:
            button.offer_nothing()
        choices = {MODE: self._controls.switch, EFFORT: bool(self._controls.efforts)}
        self._options.hide(frozenset(name for name, offered in choices.items() if not offered))

    # --- inside -----------------------------------------------------------------------------------------------------

    def _chosen(self) -> ThinkingOptions:
        """Return whether and how much the model is to think in the open chat."""
        return self._engine.model.options_for(self._open_chats.current).generate.thinking

    def _use(self, name: str, value: Value, inherited: bool) -> None:
        """Set the chat's option, or remove it if the settings say the same."""
        self._options.change_option(name, None if inherited else value)

    def _thinks(self, options: ThinkingOptions) -> bool:
        return self._controls.default if options.mode == "auto" else options.mode == "on"

    def _effort(self, options: ThinkingOptions) -> ThinkingEffort:
        """Return the effort; auto if the model's usual one is not known."""
        return options.effort if options.effort in self._controls.efforts else self._controls.default_effort

    def _show_if_open(self, conversation: Conversation) -> None:
        if conversation is self._open_chats.current:
            self.show_choice()

    def _engine_changed(self, state: EngineState) -> None:
        if state.model and state.model.thinking != self._controls:
            self._controls = state.model.thinking
            self.show_choice()
