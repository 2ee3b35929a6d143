"""Consent: a chat asks once for each server before it is sent there, and is sent or stays as the user answers."""

from __future__ import annotations

from PySide6.QtCore import QObject

from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.window import Window


class ConsentController(QObject):
    """Controller of the question above the composer; `EngineQueue` lets a chat wait until it is answered."""

    def __init__(self, window: Window, open_chats: OpenChats, engine: EngineQueue) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine = window, open_chats, engine
        open_chats.current_changed.connect(self._show)
        open_chats.phase_changed.connect(self._show)
        window.consent.agreed.connect(self._agree)
        window.consent.refused.connect(self._refuse)

    def _show(self, conversation: Conversation) -> None:
        if conversation is self._open_chats.current:
            self._window.consent.ask(conversation.asked_host)

    def _agree(self) -> None:
        conversation = self._open_chats.current
        if conversation.asked_host:
            conversation.agree()
            self._engine.submit(conversation)
        self._window.composer.setFocus()

    def _refuse(self) -> None:
        self._engine.stop(self._open_chats.current)
        self._window.composer.setFocus()
