"""Opens the panel of the chat's options and does what is asked in it. Part of the wiring."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.chats.chat_options import ChatOptions, unpacked
from app.dialogs.chat_panel import ChatPanel
from app.open_chats.conversation import Change, Conversation
from app.open_chats.persona import Personas
from app.open_chats.shelf import Shelf
from app.settings.settings import Settings
from app.window import Window
from app.words import Saying, tr
from common.failures import Failure
from engine.protocol.settings import Value


class ChatOptionsController(QObject):
    """`certain` is called when the next message will be answered in another way."""

    def __init__(
        self, window: Window, shelf: Shelf, settings: Settings, personas: Personas, certain: Callable[[], object]
    ) -> None:
        super().__init__(window)
        self.panel: ChatPanel | None = None
        self._window, self._shelf, self._settings = window, shelf, settings
        self._personas, self._certain = personas, certain
        window.commands.bind("chat_options", self.open)
        window.header.options.clicked.connect(lambda: window.commands.run("chat_options"))
        shelf.listeners.append(self._changed)
        settings.listeners.append(self.show)

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
        self._window.header.show_persona(options.persona or (tr("Changed") if options.values else ""))
        if self.panel is not None:
            try:
                self.panel.show_options(options, self._settings.values, self._personas.all())
            except Failure as failure:
                self.panel.complain(failure.__str__)

    # --- what is asked in the panel ---------------------------------------------------------------------------------

    @property
    def _options(self) -> ChatOptions:
        return unpacked(self._shelf.current.chat.options)

    def _changed(self, conversation: Conversation, change: Change) -> None:
        if change.kind == "chat" and conversation is self._shelf.current and self.panel is not None:
            self.show()

    def _use(self, options: ChatOptions) -> None:
        self._shelf.current.use_options(options.packed())
        self.show()
        self._certain()

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
            self._complain(failure.__str__)
        else:
            if self.panel is not None:
                self.panel.name_taken()
            self.show()

    def _complain(self, sentence: Saying) -> None:
        if self.panel is not None:
            self.panel.complain(sentence)
        else:
            self._window.notice.tell(sentence, kind="problem")
