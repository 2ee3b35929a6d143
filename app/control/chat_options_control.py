"""Opens the panel of the chat's options and does what is asked in it. Part of the wiring."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.chats.chat_options import ChatOptions, unpacked
from app.settings.settings import Settings
from app.settings_view.chat_panel import ChatPanel
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.state.persona import Personas
from app.window import Window
from app.words import Saying, tr
from common.failures import Failure


class ChatOptionsControl(QObject):
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
            panel = self.panel = ChatPanel(self._window)
            panel.changed.connect(self._change)
            panel.chosen.connect(self.choose)
            panel.saved.connect(lambda name: self._do(lambda: self._save(name)))
            panel.renamed.connect(lambda old, new: self._do(lambda: self._rename(old, new)))
            panel.deleted.connect(lambda name: self._do(lambda: self._delete(name)))
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
                self.panel.complain(failure.__str__)

    def retranslate(self) -> None:
        if self.panel is not None:
            self.panel.retranslate()
        self.show()

    def restyle(self) -> None:
        if self.panel is not None:
            self.panel.restyle()

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

    def _change(self, name: str, value: object) -> None:
        if value is None or isinstance(value, int | float | str):
            self._use(self._options.changed(name, value))

    def choose(self, name: str) -> None:
        """Follow a persona, "" for none."""

        def choose() -> None:
            persona = self._personas.find(name)
            self._use(ChatOptions(name, persona.options.values) if persona else ChatOptions())

        self._do(choose)

    def _save(self, name: str) -> None:
        options = self._options
        name = self._personas.save(name, options)
        self._use(ChatOptions(name, options.values))

    def _rename(self, old: str, new: str) -> None:
        new = self._personas.rename(old, new)
        self._use(ChatOptions(new, self._options.values))

    def _delete(self, name: str) -> None:
        self._personas.delete(name)
        self._use(ChatOptions("", self._options.values))

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
