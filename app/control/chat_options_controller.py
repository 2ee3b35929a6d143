"""Opens the panel of the chat's options and does what is asked in it. Part of the wiring."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.dialogs.chat_panel import ChatPanel
from app.settings.resolve import ChatOptions, unpacked
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.state.persona import Personas
from app.window import Window
from app.words import Saying, tr
from common.failures import Failure
from engine.protocol.settings import Value


class ChatOptionsController(QObject):
    def __init__(self, window: Window, open_chats: OpenChats, settings: Settings, personas: Personas) -> None:
        super().__init__(window)
        self.panel: ChatPanel | None = None
        self._window, self._open_chats, self._settings = window, open_chats, settings
        self._personas = personas
        window.commands.bind("chat_options", self.open)
        open_chats.current_changed.connect(self._changed)
        open_chats.options_changed.connect(self._changed)
        settings.changed.connect(self.show)

    def open(self) -> None:
        if self.panel is None:
            self.panel = ChatPanel(self, self._window)
        self.show()
        self.panel.show()
        self.panel.raise_()
        self.panel.activateWindow()

    def show(self) -> None:
        """Another chat is open, or its options or the settings have changed."""
        options = self._options
        self._window.header.show_persona(options.persona or ((lambda: tr("Changed")) if options.values else ""))
        if self.panel is not None:
            try:
                self.panel.show_options(options, self._settings.values, self._personas.all())
            except Failure as failure:
                self.panel.complain(failure.sentence)

    # --- what is asked in the panel ---------------------------------------------------------------------------------

    @property
    def _options(self) -> ChatOptions:
        return unpacked(self._open_chats.current.chat.options)

    def _changed(self, conversation: Conversation) -> None:
        if conversation is self._open_chats.current:
            self.show()

    def _use(self, options: ChatOptions) -> None:
        self._open_chats.current.use_options(options.packed())
        self.show()

    def change(self, name: str, value: Value | None) -> None:
        """Another value of this setting, None for the settings' own."""
        self._use(self._options.changed(name, value))

    def choose(self, name: str) -> None:
        """Follow a persona, "" for none."""

        def choose() -> None:
            persona = self._personas.find(name)
            self._use(ChatOptions(name, persona.options.values) if persona else ChatOptions())

        self._do(choose)

    def save(self, name: str) -> None:
        """Keep the options as a persona, which the chat follows from now on."""
        options = self._options
        self._do(lambda: self._use(ChatOptions(self._personas.save(name, options), options.values)))

    def rename(self, old: str, new: str) -> None:
        """A persona of the user's."""
        self._do(lambda: self._use(ChatOptions(self._personas.rename(old, new), self._options.values)))

    def delete(self, name: str) -> None:
        """A persona of the user's; the chat keeps its values."""

        def delete() -> None:
            self._personas.delete(name)
            self._use(ChatOptions("", self._options.values))

        self._do(delete)

    def _do(self, work: Callable[[], object]) -> None:
        """With the sentence in the panel if it cannot be done."""
        try:
            work()
        except ValueError as error:
            self._complain(str(error))
        except Failure as failure:
            self._complain(failure.sentence)
        else:
            if self.panel is not None:
                self.panel.name_taken()
            self.show()

    def _complain(self, sentence: Saying) -> None:
        if self.panel is not None:
            self.panel.complain(sentence)
        else:
            self._window.notice.tell(sentence, kind="problem")
