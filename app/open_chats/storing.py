"""Writes one chat to the library; what cannot be stored is kept and tried again with the next write. Knows no Qt."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from app.chats.chat import Chat, ChatMessage
from app.library.library import Library
from models.failures import Failure

log = logging.getLogger(__name__)


class Storing:
    """`failed` is told the reason once, until a write succeeds again. `stored`: is the chat in the library?"""

    def __init__(self, library: Library, stored: bool, failed: Callable[[Failure], None]) -> None:
        self.stored = stored
        self._library = library
        self._failed = failed
        self._unsaved: dict[str, ChatMessage] = {}
        self._told = False
        self._ended = False

    def end(self) -> None:
        """The chat was deleted for good: nothing of it is written any more."""
        self._ended = True
        self._unsaved.clear()

    def save(self, chat: Chat, messages: Iterable[ChatMessage] = ()) -> None:
        """Store the chat's entry, these messages, and those that could not be stored before."""
        if self._ended:
            return
        self._unsaved.update((message.id, message) for message in messages)
        try:
            self._library.save(chat, list(self._unsaved.values()))
        except Failure as failure:
            log.warning("not stored: %s (%s)", failure, failure.detail)
            told, self._told = self._told, True
            if not told:
                self._failed(failure)
            return
        self._unsaved.clear()
        self._told = False
        self.stored = True
