"""Which state of which chat the engine was last told to read, so that it is told once for each. Knows no Qt."""

from __future__ import annotations

from app.state.conversation import Conversation
from engine.protocol import Message


class ReadAhead:
    """`id` is the last Prepare request's, so that its events can be told from older ones'."""

    def __init__(self) -> None:
        self.id = 0
        self._state: object = None

    def wanted(self, conversation: Conversation) -> tuple[Message, ...]:
        """The messages to read for this chat, once; empty when they were asked for, or will not be sent as they are."""
        chat = conversation.chat
        files = conversation.draft.certain() if conversation.draft else ()
        state = (chat.id, chat.leaf_id, chat.forget_turns, chat.options, files)
        if state == self._state or conversation.busy or conversation.remedies:
            return ()
        self._state = state
        return conversation.history()

    def forget(self) -> None:
        """The engine's cache holds something else now."""
        self.id = 0
        self._state = None
