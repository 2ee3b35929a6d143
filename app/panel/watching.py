"""Opens and closes the panel that shows the engine at work, and has the engine tell of it only while it is open."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.assistant.assistant import Assistant
from app.assistant.standing import Standing
from app.chats.conversation import Change, Conversation
from app.chats.shelf import Shelf
from app.panel.engine_panel import EnginePanel
from app.panel.observed import Observed, seconds_saved
from app.window import Window


class Watching(QObject):
    def __init__(self, window: Window, assistant: Assistant, shelf: Shelf) -> None:
        super().__init__(window)
        self._assistant, self._shelf = assistant, shelf
        self.observed = Observed()
        self.panel = EnginePanel(self.observed)
        self.panel.hide()
        window.add_panel(self.panel)
        window.commands.bind("engine", self.toggle)
        self.panel.closed.connect(self.toggle)
        self.observed.listeners.append(self.panel.show_observed)
        assistant.watchers.append(self.observed.take)
        assistant.listeners.append(self._stands)
        shelf.listeners.append(self._changed)

    def toggle(self) -> None:
        opening = self.panel.isHidden()
        self.panel.setVisible(opening)
        self._assistant.watch(opening)
        if opening:
            self.show_current()

    def show_current(self) -> None:
        """Another chat is open, or it has one more answer."""
        if self.panel.isHidden():
            return
        conversation = self._shelf.current
        saved = seconds_saved(message.statistics for message in conversation.messages)
        self.panel.show_chat(conversation.chat.forget_turns, saved)

    def retranslate(self) -> None:
        self.panel.retranslate()

    def restyle(self) -> None:
        self.panel.restyle()

    def _stands(self, standing: Standing) -> None:
        self.observed.use_model(standing.model)

    def _changed(self, conversation: Conversation, change: Change) -> None:
        if change.kind in ("ended", "chat") and conversation is self._shelf.current:
            self.show_current()
