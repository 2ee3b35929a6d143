"""Opens and closes the panel that shows the engine at work, and has the engine tell of it only while it is open."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.assistant.assistant import Assistant
from app.assistant.standing import Standing
from app.chats.context_use import parts_of
from app.look.throttle import Throttle
from app.open_chats.conversation import Change, Conversation
from app.open_chats.shelf import Shelf
from app.panel.engine_panel import EnginePanel
from app.panel.observed import Observed, seconds_saved
from app.window import Window
from engine.protocol import Counted

# Drawing takes time from the engine where it computes on all cores; a plot takes some 4 ms, all the rest 1.
NUMBERS_EVERY_MS = 1000
CURVES_EVERY_MS = 5000


class Watching(QObject):
    def __init__(self, window: Window, assistant: Assistant, shelf: Shelf) -> None:
        super().__init__(window)
        self._assistant, self._shelf = assistant, shelf
        self._dropped: dict[tuple[str, int], int] = {}  # tokens, by a chat's id and the turns that are left out
        self.observed = Observed()
        self.panel = EnginePanel(self.observed, window.commands)
        self.panel.hide()
        window.add_panel(self.panel)
        window.commands.bind("engine", self.toggle)
        for show, every_ms in ((self.panel.show_numbers, NUMBERS_EVERY_MS), (self.panel.show_curves, CURVES_EVERY_MS)):
            self.observed.listeners.append(Throttle(show, every_ms, self).request)
        assistant.watchers.append(self.observed.take)
        assistant.listeners.append(self._stands)
        shelf.listeners.append(self._changed)

    def toggle(self) -> None:
        opening = self.panel.isHidden()
        self.panel.setVisible(opening)
        self._assistant.watch(opening)
        if opening:
            self.show_current()
            self.panel.show_curves()

    def show_current(self) -> None:
        """Another chat is open, or it has one more answer."""
        if self.panel.isHidden():
            return
        conversation = self._shelf.current
        saved = seconds_saved(message.statistics for message in conversation.messages)
        key = conversation.chat.id, conversation.chat.forget_turns
        self.panel.show_chat(self._dropped.get(key, 0), saved)
        if not conversation.chat.forget_turns:
            return

        def counted(event: Counted) -> None:
            self._dropped = {key: event.texts[0]}
            if key == (self._shelf.current.chat.id, self._shelf.current.chat.forget_turns):
                self.panel.show_chat(event.texts[0], saved)

        parts = parts_of("", conversation.prompt(), conversation.chat.forget_turns)
        self._assistant.count((parts.forgotten,), conversation, counted)

    def _stands(self, standing: Standing) -> None:
        self.observed.use_model(standing.model)

    def _changed(self, conversation: Conversation, change: Change) -> None:
        if change.kind in ("ended", "chat", "branch") and conversation is self._shelf.current:
            self.show_current()
