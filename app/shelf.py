"""Which chats there are and which of them are open. Knows the library, no windows and no engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from app.chat import Chat
from app.conversation import Change, Conversation
from app.library import Library


class Shelf:
    """All chats, and the conversations opened since the start: an answer goes on while another chat is looked at.

    `listeners` hear every change of every open conversation, with the conversation. Methods raise Failure when the
    library cannot be used.
    """

    def __init__(self, library: Library) -> None:
        self.library = library
        self.listeners: list[Callable[[Conversation, Change], None]] = []
        self._chats = {chat.id: chat for chat in library.chats()}
        self._open: dict[str, Conversation] = {}
        self.current = self.new()

    def chats(self) -> list[Chat]:
        """The chats that have messages and are not deleted, the latest first."""
        return sorted(self._chats.values(), key=lambda chat: chat.updated_at, reverse=True)

    def new(self) -> Conversation:
        """An empty chat; it is listed and stored with its first message."""
        self.current = self._adopt(Conversation(self.library))
        return self.current

    def open(self, chat_id: str) -> Conversation:
        """Make the chat the current one."""
        if chat_id not in self._open:
            chat = self._chats[chat_id]
            self._adopt(Conversation(self.library, chat, self.library.messages(chat)))
        self.current = self._open[chat_id]
        return self.current

    def rename(self, chat_id: str, title: str) -> None:
        if chat_id in self._open:
            self._open[chat_id].rename(title)
            return
        title = " ".join(title.split())
        if title and chat_id in self._chats:
            chat = replace(self._chats[chat_id], title=title)
            self.library.save(chat)
            self._chats[chat_id] = chat

    def conversation(self, chat_id: str) -> Conversation | None:
        """The chat's conversation if it is open."""
        return self._open.get(chat_id)

    def delete(self, chat_id: str) -> Chat:
        """Take the chat off the list; `restore` brings it back."""
        self.library.delete(chat_id)
        if self.current.chat.id == chat_id:
            self.new()
        self._open.pop(chat_id, None)
        return self._chats.pop(chat_id)

    def restore(self, chat: Chat) -> None:
        self.library.restore(chat.id)
        self._chats[chat.id] = chat

    def _adopt(self, conversation: Conversation) -> Conversation:
        self._open[conversation.chat.id] = conversation
        conversation.listeners.append(lambda change: self._changed(conversation, change))
        return conversation

    def _changed(self, conversation: Conversation, change: Change) -> None:
        listed = conversation.chat.id in self._open
        if change.kind == "chat" and len(conversation.tree) and listed:
            self._chats[conversation.chat.id] = conversation.chat
        for listener in tuple(self.listeners):
            listener(conversation, change)
