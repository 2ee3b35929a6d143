"""All chats, and which of them are open. Knows the store, no windows and no engine."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

from app.events import Event
from app.state.conversation import Conversation
from app.state.conversation_events import ConversationEvents
from app.state.projects import Projects
from app.store.chat import Chat, ChatMessage, Folder, new_id
from app.store.chat_store import DOOMED, ChatStore
from app.tools.choices import choices_from, choices_text
from app.words import tr
from common.failures import Failure


class OpenChats(ConversationEvents):
    """All chats: the entries of those that are closed, and the one `Conversation` of each that was opened.

    A chat's conversation stays the same object whatever happens to the chat: while it is answered in the background,
    after it was deleted and restored, and when an import changes it. So whoever holds it sees the chat as it is.

    `current_changed` is emitted when another chat is shown or the same one was opened again. The other events are those
    of all open conversations; a view that shows an answer as it grows connects to its conversation. Methods raise
    Failure when the store cannot be used, and then nothing has changed.
    """

    def __init__(self, store: ChatStore) -> None:
        super().__init__()
        self.store = store
        self.current_changed: Event[Conversation] = Event()
        store.forget_folders()
        self._closed = {chat.id: chat for chat in store.chats()}
        self._folders = {folder.id: folder for folder in store.folders()}
        self.projects = Projects(store, self._folders)
        self.projects.changed.connect(self._tell_beginning)
        self._conversations: dict[str, Conversation] = {}
        # Conversations of chats that were deleted permanently, as long as someone holds one: an import may bring the
        # chat back.
        self._gone: WeakValueDictionary[str, Conversation] = WeakValueDictionary()
        for chat_id in store.unsent_ids():
            self._make(Chat(id=chat_id)).state = "new"
        self.current = next(self.unsent(), None) or self.new_beside()

    def follow_current(self, show: Callable[[], object], *events: Event[Conversation, *tuple[Any, ...]]) -> None:
        """Call `show` when another chat is shown, and at these events of the shown one."""

        def if_shown(conversation: Conversation, *_: object) -> None:
            if conversation is self.current:
                show()

        for event in (self.current_changed, *events):
            event.connect(if_shown)

    def chats(self) -> list[Chat]:
        """Return the chats that have messages and are not deleted, the latest first."""
        listed = [each.chat for each in self._conversations.values() if each.state == "listed"]
        return sorted([*self._closed.values(), *listed], key=lambda chat: chat.updated_at, reverse=True)

    def is_listed(self, chat_id: str) -> bool:
        """Return whether the chat has messages and is not deleted."""
        conversation = self._conversations.get(chat_id)
        return chat_id in self._closed or (conversation is not None and conversation.state == "listed")

    def new(self) -> Conversation:
        """Open an empty chat, or the unsent one with a draft or options of its own.

        A chat is listed and stored with its first message.
        """
        with_draft = (each for each in self.unsent() if each.draft and each.draft.has_content)
        return self._make_current(next(with_draft, None) or self.new_beside())

    def new_in(self, folder_id: str) -> Conversation:
        """Open an empty chat in a folder, or the one that is there already."""
        self.projects.of_folder(folder_id)  # a store that cannot be read fails here
        inside = next((each for each in self.unsent() if each.chat.folder_id == folder_id), None) or self.new_beside()
        inside.update_entry(folder_id=folder_id)
        return self._make_current(inside)

    def unsent(self) -> Iterator[Conversation]:
        """Yield the chats without messages, among them those whose drafts an earlier run has stored."""
        return (each for each in self._conversations.values() if each.state == "new" and not each.temporary)

    def new_beside(self) -> Conversation:
        """Return an empty chat and leave the current one open; it is listed and stored with its first message."""
        return self._make()

    def new_temporary(self) -> Conversation:
        """Open an empty chat that is never stored: neither its messages nor its draft."""
        return self._make_current(self._make(temporary=True))

    def branch_off(self, message_id: str) -> Conversation:
        """Open a new chat with copies of the current chat's messages up to this one, and its options and folder.

        A copy of a temporary chat is temporary too.
        """
        source, id, now = self.current, new_id(), time.time()
        copies = source.tree.copies(message_id, id)
        chat = replace(
            source.chat, id=id, title=tr("{title} (branch)", title=source.chat.title), created_at=now, updated_at=now,
            leaf_id=copies[-1].id, chosen="", pinned_at=None, unread_at=None, agreed="", title_from="",
            tools=choices_text(choices_from(source.chat.tools).without_agreements()),
        )  # fmt: skip
        conversation = self._make(chat, copies, temporary=source.temporary)
        conversation.save(*copies)
        return self._make_current(conversation)

    @property
    def busy_ids(self) -> frozenset[str]:
        """Ids of the chats that are being answered or wait for their answer."""
        return frozenset(chat_id for chat_id, each in self._conversations.items() if each.busy)

    @property
    def temporary_ids(self) -> frozenset[str]:
        """Ids of the chats that are never stored."""
        return frozenset(chat_id for chat_id, each in self._conversations.items() if each.temporary)

    def open(self, chat_id: str) -> Conversation:
        """Load the chat if needed and make it the current one; one that was deleted meanwhile is not opened."""
        conversation = self.load(chat_id) if self.is_listed(chat_id) else self._conversations.get(chat_id)
        if conversation is None or conversation.state == "deleted":
            return self.current
        return self._make_current(conversation)

    def load(self, chat_id: str) -> Conversation:
        """Return the conversation of a listed chat; read it from the store the first time."""
        if chat_id not in self._conversations:
            row = self.store.chat_row(chat_id)
            chat = row[0] if row is not None else self._closed[chat_id]
            self.projects.of(chat)  # a store that cannot be read fails here
            self._make(chat, self.store.messages(chat), edits=self.store.edits(chat_id))
            del self._closed[chat_id]
        return self._conversations[chat_id]

    def rename(self, chat_id: str, title: str) -> None:
        title = " ".join(title.split())
        if title:
            self._update_entries([chat_id], title=title, title_from="user")

    def pin(self, chat_ids: Iterable[str], pinned: bool = True) -> None:
        """Pin or unpin the chats; pinned chats stand above all others."""
        self._update_entries(chat_ids, pinned_at=time.time() if pinned else None)

    def conversation(self, chat_id: str) -> Conversation | None:
        """Return the chat's conversation if it was opened, whatever its state."""
        return self._conversations.get(chat_id)

    def delete(self, chat_ids: Iterable[str]) -> list[Chat]:
        """Remove the chats from the list and return those that were on it; `restore` brings them back."""
        ids = [chat_id for chat_id in chat_ids if self.is_listed(chat_id)]
        self.store.delete(*ids)
        deleted = []
        for chat_id in ids:
            conversation = self._conversations.get(chat_id)
            if conversation is not None:
                conversation.state = "deleted"
            deleted.append(conversation.chat if conversation is not None else self._closed.pop(chat_id))
        if self.current.state == "deleted":
            self.new()
        return deleted

    def restore(self, chat_ids: Iterable[str]) -> list[str]:
        """Return deleted chats to the list; return the ids of those that were not deleted permanently meanwhile."""
        ids = list(chat_ids)
        in_store = set(self.store.restore(*ids))
        opened = {id: each for id in ids if (each := self._conversations.get(id)) is not None}
        rows = {id: row for id in in_store - opened.keys() if (row := self.store.chat_row(id)) is not None}
        for conversation in opened.values():
            if conversation.state == "deleted":
                conversation.state = "listed"
        self._closed |= {id: chat for id, (chat, _) in rows.items()}
        return [id for id in dict.fromkeys(ids) if self.is_listed(id)]

    def delete_for_good(self, chat_ids: Iterable[str]) -> None:
        """Delete the deleted ones of these chats permanently."""
        ids = list(chat_ids)
        self.store.delete_for_good(*ids)
        for chat_id in ids:
            conversation = self._conversations.get(chat_id)
            if conversation is not None and conversation.state == "deleted":
                self._forget(conversation)

    def delete_all(self) -> tuple[list[str], list[Conversation]]:
        """Delete all chats permanently, restorable ones included.

        Return the ids of the chats that were listed or open, and the conversations that were open: an answer may be
        under way in one, and others may wait for theirs.
        """
        ids, was_open = list(self._closed | self._conversations), list(self._conversations.values())
        self.store.delete_all()  # first, so that a failure changes nothing here
        for conversation in was_open:
            self._forget(conversation)
        self._closed.clear()
        self.new()
        return ids, was_open

    def retry_unstored(self) -> list[tuple[str, Failure]]:
        """Try once more to store all chats that were open; return the titles of those that still fail, with reasons."""
        tried = [(each.chat.title, each.saver.retry()) for each in self._conversations.values()]
        return [(title, failure) for title, failure in tried if failure is not None]

    def reload(self, chat_ids: Iterable[str] = ()) -> None:
        """Read the list again, and those of these chats that were opened, after an import has changed the store.

        What is not stored yet of a chat stays, and is stored later.
        """
        self._folders.clear()
        self._folders.update({folder.id: folder for folder in self.store.folders()})
        self.projects.reload()
        for chat_id in chat_ids:
            conversation = self._conversations.get(chat_id) or self._gone.get(chat_id)
            row = self.store.chat_row(chat_id) if conversation is not None else None
            if conversation is None or row is None or row[1] == DOOMED:
                continue
            chat, deleted_at = row
            self._conversations[chat_id] = conversation
            conversation.state = "listed" if deleted_at is None else "deleted"
            conversation.reload(chat, self.store.messages(chat))
        self._closed = {chat.id: chat for chat in self.store.chats() if chat.id not in self._conversations}
        if self.current.state in ("deleted", "gone"):
            self.new()

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
            self.projects.of(Chat(folder_id=folder_id))  # a store that cannot be read fails here
            self._update_entries(chat_ids, folder_id=folder_id)

    def change_folder(self, folder_id: str, **values: Any) -> None:
        """Change what the folder's chats begin with: its options, collections or model."""
        self._save_folder(replace(self._folders[folder_id], **values))

    def delete_folder(self, folder_id: str) -> tuple[Folder, list[str]]:
        """Delete the folder but not its chats; return the folder and its chats' ids, which `restore_folder` takes."""
        new = [each.chat for each in self._conversations.values() if each.state == "new"]
        inside = [chat.id for chat in (*self.chats(), *new) if chat.folder_id == folder_id]
        self._update_entries(inside, folder_id=None)
        self.store.delete_folder(folder_id)
        folder = self._folders.pop(folder_id)
        self.projects.reload()
        return folder, inside

    def restore_folder(self, folder: Folder, inside: Iterable[str]) -> None:
        """Undo `delete_folder`; chats that were moved into another folder since then stay there."""
        self._save_folder(folder)
        self.projects.reload()
        new = [each.chat for each in self._conversations.values() if each.state == "new"]
        without_folder = {chat.id for chat in (*self.chats(), *new) if chat.folder_id is None}
        self.move([chat_id for chat_id in inside if chat_id in without_folder], folder.id)

    def _save_folder(self, folder: Folder) -> None:
        self.store.save_folder(folder)
        before, self._folders[folder.id] = self._folders.get(folder.id), folder
        if before is not None and replace(before, folded=folder.folded) != folder:
            self.projects.refresh(folder.id)

    def _tell_beginning(self, folder_id: str | None) -> None:
        """Tell the open chats of this folder, or all, that they begin with something else."""
        for conversation in tuple(self._conversations.values()):
            if folder_id in (None, conversation.chat.folder_id):
                conversation.options_changed.emit(conversation)
                conversation.context_changed.emit(conversation)
                conversation.entry_changed.emit(conversation)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _update_entries(self, chat_ids: Iterable[str], **values: Any) -> None:
        """Change values of these chats' entries; for chats that are not open, all or none are written."""
        ids = list(chat_ids)
        closed = [chat_id for chat_id in ids if chat_id in self._closed]
        self.store.change_chats(closed, values)
        self._closed |= {chat_id: replace(self._closed[chat_id], **values) for chat_id in closed}
        for chat_id in ids:
            if chat_id in self._conversations:
                self._conversations[chat_id].update_entry(**values)

    def _make_current(self, conversation: Conversation) -> Conversation:
        self.current = conversation
        if conversation.chat.unread_at is not None:
            conversation.update_entry(unread_at=None)
        self.current_changed.emit(conversation)
        return conversation

    def _make(self, *values: Any, **options: Any) -> Conversation:
        """Make the one conversation of a chat, and emit its events as ours too."""
        conversation = Conversation(self.store, *values, **options)
        conversation.project_of = self.projects.of
        self._conversations[conversation.chat.id] = conversation
        conversation.answer_ended.connect(self._mark_unread)
        for name in vars(ConversationEvents()):
            getattr(conversation, name).connect(getattr(self, name).emit)
        return conversation

    def _mark_unread(self, conversation: Conversation, answer: ChatMessage) -> None:
        """Mark the chat as unread if its answer ended while another chat was open, unless the user stopped it."""
        is_listed = conversation.state == "listed"
        if conversation is not self.current and is_listed and answer.stop_reason != "cancelled":
            conversation.update_entry(unread_at=time.time())

    def _forget(self, conversation: Conversation) -> None:
        """Keep nothing of a chat that was deleted permanently."""
        conversation.state = "gone"
        conversation.edits.clear()
        conversation.save()  # drops what waits to be stored
        self._gone[conversation.chat.id] = self._conversations.pop(conversation.chat.id)
