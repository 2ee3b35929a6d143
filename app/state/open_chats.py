"""All chats, and which of them are open. Knows the store, no windows and no engine."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from app.events import Event
from app.state.conversation import Conversation, ConversationEvents
from app.state.saving import EditStore
from app.store.chat import Chat, ChatMessage, Folder
from app.store.chat_store import ChatStore
from common.failures import Failure


class OpenChats(ConversationEvents):
    """All chats, and the conversations opened since the start; an answer continues while another chat is shown.

    `current_changed` is emitted when another chat is shown or the same one was opened again. The other events are those
    of all open conversations; a view that shows an answer as it grows connects to its conversation. Methods raise
    Failure when the store cannot be used.
    """

    def __init__(self, store: ChatStore) -> None:
        super().__init__()
        self.store = store
        self.current_changed: Event[Conversation] = Event()
        self._chats = {chat.id: chat for chat in store.chats()}
        self._folders = {folder.id: folder for folder in store.folders()}
        self._open: dict[str, Conversation] = {}
        self._deleted: dict[str, Conversation] = {}  # were open; an answer may go on in one, or text wait to be stored
        self.current = self.new()

    def chats(self) -> list[Chat]:
        """Return the chats that have messages and are not deleted, the latest first."""
        return sorted(self._chats.values(), key=lambda chat: chat.updated_at, reverse=True)

    def new(self) -> Conversation:
        """Open an empty chat, or the unsent one with a draft or options of its own.

        A chat is listed and stored with its first message.
        """
        unsent = (c for c in self._open.values() if not (c.stored or c.temporary or c.messages))
        with_draft = (c for c in unsent if c.draft and c.draft.has_content)
        return self._make_current(next(with_draft, None) or self._adopt(Conversation(self.store)))

    def new_beside(self) -> Conversation:
        """Return an empty chat and leave the current one open; it is listed and stored with its first message."""
        return self._adopt(Conversation(self.store))

    def new_temporary(self) -> Conversation:
        """Open an empty chat that is never stored: neither its messages nor its draft."""
        return self._make_current(self._adopt(Conversation(self.store, temporary=True)))

    def branch_off(self, message_id: str) -> Conversation:
        """Open a new chat with copies of the current chat's messages up to this one."""
        conversation = self._adopt(self.current.branch_off(message_id))
        self._update_listed_chat(conversation)
        return self._make_current(conversation)

    @property
    def busy_ids(self) -> frozenset[str]:
        """Ids of the chats that are being answered or wait for their answer."""
        return frozenset(chat_id for chat_id, conversation in self._open.items() if conversation.busy)

    @property
    def temporary_ids(self) -> frozenset[str]:
        """Ids of the chats that are never stored."""
        return frozenset(chat_id for chat_id, conversation in self._open.items() if conversation.temporary)

    def open(self, chat_id: str) -> Conversation:
        """Load the chat if needed and make it the current one."""
        if chat_id not in self._open:
            chat = self._chats[chat_id]
            conversation = self._adopt(Conversation(self.store, chat, self.store.messages(chat)))
            conversation.edits = EditStore(self.store).load(chat_id)
        return self._make_current(self._open[chat_id])

    def rename(self, chat_id: str, title: str) -> None:
        title = " ".join(title.split())
        if title:
            self._update_entries([chat_id], title=title, title_from="user")

    def use_first_line(self, chat_id: str) -> tuple[str, str]:
        """Give the chat its first line as its title, which no model changes again; return the title before and now."""
        conversation = self._open.get(chat_id)
        if conversation is None:
            chat = self._chats[chat_id]
            conversation = Conversation(self.store, chat, self.store.messages(chat))
        before, title = conversation.chat.title, conversation.first_line_title or conversation.chat.title
        self._update_entries([chat_id], title=title, title_from="user")
        return before, title

    def pin(self, chat_ids: Iterable[str], pinned: bool = True) -> None:
        """Pin or unpin the chats; pinned chats stand above all others."""
        self._update_entries(chat_ids, pinned_at=time.time() if pinned else None)

    def conversation(self, chat_id: str) -> Conversation | None:
        """Return the chat's conversation if it is open."""
        return self._open.get(chat_id)

    def delete(self, chat_ids: Iterable[str]) -> list[Chat]:
        """Remove the chats from the list and return those that were on it; `restore` brings them back."""
        ids = [chat_id for chat_id in chat_ids if chat_id in self._chats]
        self.store.delete(*ids)
        self._deleted |= {chat_id: self._open.pop(chat_id) for chat_id in ids if chat_id in self._open}
        gone = [self._chats.pop(chat_id) for chat_id in ids]
        if self.current.chat.id in ids:
            self.new()
        return gone

    def restore(self, chats: Iterable[Chat]) -> list[Chat]:
        """Return deleted chats to the list; return those that were not deleted permanently in the meantime.

        One that was open is the same conversation as before, with what has been written in it since.
        """
        by_id = {chat.id: chat for chat in chats}
        only_here = [id for id in by_id if id in self._deleted and not self._deleted[id].is_in_store]
        ids = dict.fromkeys([*self.store.restore(*by_id), *only_here])
        self._open |= {id: self._deleted.pop(id) for id in ids if id in self._deleted}
        restored = {id: self._open[id].chat if id in self._open else by_id[id] for id in ids}
        self._chats |= restored
        return list(restored.values())

    def delete_all(self) -> tuple[list[str], list[Conversation]]:
        """Delete all chats permanently, restorable ones included.

        Return the ids of the chats that were listed or open, and the conversations that were open: an answer may be
        under way in one, and others may wait for theirs.
        """
        ids, was_open = list(self._chats | self._open), [*self._open.values(), *self._deleted.values()]
        self.store.delete_all()  # first, so that a failure changes nothing here
        for conversation in was_open:
            conversation.discard()
        self._open.clear()
        self._deleted.clear()
        self._chats.clear()
        self.new()
        return ids, was_open

    def retry_unstored(self) -> list[tuple[str, Failure]]:
        """Try once more to store all chats that were open; return the titles of those that still fail, with reasons."""
        conversations = (*self._open.values(), *self._deleted.values())
        tried = [(conversation.chat.title, conversation.retry_unstored()) for conversation in conversations]
        return [(title, failure) for title, failure in tried if failure is not None]

    def reload(self, chat_ids: Iterable[str] = ()) -> None:
        """Read the list again after an import, and these chats too if they are open.

        A chat that is being answered, or has text that could not be stored, stays as it is; its next write wins.
        """
        temporary = {chat_id: self._chats[chat_id] for chat_id in self.temporary_ids if chat_id in self._chats}
        self._chats = {chat.id: chat for chat in self.store.chats()} | temporary
        self._folders = {folder.id: folder for folder in self.store.folders()}
        for chat_id in chat_ids:
            conversation = self._open.get(chat_id)
            if conversation is not None and not conversation.busy and conversation.retry_unstored() is None:
                del self._open[chat_id]
        if self.current.chat.id in self._chats:
            self.open(self.current.chat.id)

    # --- folders ----------------------------------------------------------------------------------------------------

    def folders(self) -> list[Folder]:
        """Return all folders, by name."""
        return sorted(self._folders.values(), key=lambda folder: (folder.name.casefold(), folder.created_at))

    def add_folder(self, name: str) -> Folder:
        """Add a folder; a blank name becomes the number of folders."""
        folder = Folder(" ".join(name.split()) or str(len(self._folders) + 1))
        self._save_folder(folder)
        return folder

    def rename_folder(self, folder_id: str, name: str) -> None:
        name = " ".join(name.split())
        if name and folder_id in self._folders:
            self._save_folder(replace(self._folders[folder_id], name=name))

    def fold(self, folder_id: str, folded: bool) -> None:
        """Hide or show the folder's chats in the list."""
        if folder_id in self._folders:
            self._save_folder(replace(self._folders[folder_id], folded=folded))

    def move(self, chat_ids: Iterable[str], folder_id: str | None) -> None:
        """Move the chats into the folder; None takes them out of any folder."""
        if folder_id is None or folder_id in self._folders:
            self._update_entries(chat_ids, folder_id=folder_id)

    def delete_folder(self, folder_id: str) -> tuple[Folder, list[str]]:
        """Delete the folder but not its chats; return the folder and its chats' ids, which `restore_folder` takes."""
        inside = [chat.id for chat in self._chats.values() if chat.folder_id == folder_id]
        self._update_entries(inside, folder_id=None)
        self.store.delete_folder(folder_id)
        return self._folders.pop(folder_id), inside

    def restore_folder(self, folder: Folder, inside: Iterable[str]) -> None:
        self._save_folder(folder)
        self.move([chat_id for chat_id in inside if chat_id in self._chats], folder.id)

    def _save_folder(self, folder: Folder) -> None:
        self.store.save_folder(folder)
        self._folders[folder.id] = folder

    # --- inside -----------------------------------------------------------------------------------------------------

    def _update_entries(self, chat_ids: Iterable[str], **values: Any) -> None:
        """Change values of these chats' entries; for chats that are not open, all or none are written."""
        closed: list[Chat] = []
        for chat_id in chat_ids:
            if chat_id in self._open:
                self._open[chat_id].update_entry(**values)
            elif chat_id in self._chats:
                closed.append(replace(self._chats[chat_id], **values))
        self.store.save_chats(closed)
        self._chats |= {chat.id: chat for chat in closed}

    def _make_current(self, conversation: Conversation) -> Conversation:
        self.current = conversation
        if conversation.chat.unread_at is not None:
            conversation.update_entry(unread_at=None)
        self.current_changed.emit(conversation)
        return conversation

    def _adopt(self, conversation: Conversation) -> Conversation:
        self._open[conversation.chat.id] = conversation
        for event, our_event in (
            (conversation.entry_changed, self.entry_changed),
            (conversation.branch_changed, self.branch_changed),
            (conversation.options_changed, self.options_changed),
            (conversation.context_changed, self.context_changed),
        ):
            event.connect(self._update_listed_chat)
            event.connect(our_event.emit)
        conversation.phase_changed.connect(self.phase_changed.emit)
        conversation.progress_changed.connect(self.progress_changed.emit)
        conversation.message_added.connect(self.message_added.emit)
        conversation.answer_ended.connect(self._mark_unread)
        conversation.answer_ended.connect(self.answer_ended.emit)
        conversation.not_saved.connect(self.not_saved.emit)
        return conversation

    def _mark_unread(self, conversation: Conversation, answer: ChatMessage) -> None:
        """Mark the chat as unread if its answer ended while another chat was open, unless the user stopped it."""
        is_listed = conversation.chat.id in self._open
        if conversation is not self.current and is_listed and answer.stop_reason != "cancelled":
            conversation.update_entry(unread_at=time.time())

    def _update_listed_chat(self, conversation: Conversation) -> None:
        if len(conversation.tree) and conversation.chat.id in self._open:
            self._chats[conversation.chat.id] = conversation.chat
