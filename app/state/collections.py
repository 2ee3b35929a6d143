"""The user's collections, how far each is indexed, and which of them a chat has switched on. Knows no Qt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from app.collections.collection import Collection, outermost
from app.collections.messages import FolderProgress
from app.events import Event
from app.state.conversation import Conversation
from app.store.chat_store import ChatStore
from app.store.collection_store import CollectionStore


@dataclass(frozen=True, slots=True)
class IndexState:
    """Progress of indexing a collection: numbers of files, and folders that are not there.

    `postponed`: indexing waits until the computer is plugged in.
    """

    files: int = 0
    done: int = 0
    refused: int = 0
    working: bool = False
    known: bool = False
    missing: tuple[str, ...] = ()
    full: bool = False
    postponed: bool = False


class Collections:
    """All collections. `changed`: their names, folders or switches; `progress_changed`: how far they are indexed.

    Methods raise Failure when the store cannot be used.
    """

    def __init__(self, store: ChatStore) -> None:
        self.changed: Event[()] = Event()
        self.progress_changed: Event[()] = Event()
        self._store = CollectionStore(store)
        self._all = {each.id: each for each in self._store.load()}
        self._removed: dict[str, Collection] = {}
        self._progress: dict[str, FolderProgress] = {}
        self._postponed = False

    # --- what the user does -------------------------------------------------------------------------------------------

    def all(self) -> list[Collection]:
        """Return the collections by name."""
        return sorted(self._all.values(), key=lambda each: (each.name.casefold(), each.created_at))

    def add(self, folder: Path) -> Collection:
        """Make a collection of a folder, with the folder's name."""
        collection = Collection(folder.name or str(folder)).with_folder(folder)
        return self._put(collection)

    def add_folder(self, collection_id: str, folder: Path) -> None:
        self._put(self._all[collection_id].with_folder(folder))

    def remove_folder(self, collection_id: str, folder: str) -> None:
        self._put(self._all[collection_id].without_folder(folder))

    def rename(self, collection_id: str, name: str) -> None:
        """Give a collection another name; a blank one changes nothing."""
        if name := " ".join(name.split()):
            self._put(replace(self._all[collection_id], name=name))

    def pause(self, collection_id: str, paused: bool) -> None:
        """Stop or go on looking for changes in a collection's folders."""
        self._put(replace(self._all[collection_id], paused=paused))

    def remove(self, collection_id: str) -> Collection:
        """Remove a collection; `restore` brings it back, also where chats use it."""
        self._store.mark_removed(collection_id, True)
        removed = self._removed[collection_id] = self._all.pop(collection_id)
        self.changed.emit()
        return removed

    def restore(self, collection_id: str) -> None:
        """Undo `remove`."""
        self._store.mark_removed(collection_id, False)
        self._all[collection_id] = self._removed.pop(collection_id)
        self.changed.emit()

    def forget_removed(self) -> None:
        """Give up what was removed: its files may be taken out of the index."""
        if self._removed:
            self._removed.clear()
            self.changed.emit()

    # --- chats --------------------------------------------------------------------------------------------------------

    def used_by(self, conversation: Conversation) -> list[Collection]:
        """Return the collections that are searched for a chat: its own, and those of its project."""
        chosen = {*conversation.chat.collections.split("\n"), *conversation.project.collections}
        return [each for each in self.all() if each.id in chosen]

    def switch(self, conversation: Conversation, collection_id: str, on: bool) -> None:
        """Search a collection for a chat's questions from now on, or no longer."""
        own = conversation.chat.collections.split("\n")
        chosen = [each.id for each in self.all() if each.id in own and each.id != collection_id]
        conversation.update_entry(collections="\n".join([*chosen, collection_id] if on else chosen))

    # --- the index ----------------------------------------------------------------------------------------------------

    def folders_to_index(self) -> tuple[str, ...]:
        """Return the folders whose changes are indexed; none lies in another one."""
        return outermost(folder for each in self._all.values() if not each.paused for folder in each.folders)

    def folders_to_keep(self) -> tuple[str, ...]:
        """Return the folders whose files stay in the index as they are: of paused and of just removed collections."""
        kept = [each for each in self._all.values() if each.paused]
        return tuple(sorted({folder for each in (*kept, *self._removed.values()) for folder in each.folders}))

    def folders_of(self, collections: Iterable[Collection]) -> tuple[str, ...]:
        return outermost(folder for each in collections for folder in each.folders)

    def begin(self, folders: Iterable[str]) -> None:
        """Take over that a process looks for files in these folders; before its first words it may read a model."""
        for folder in set(folders) - self._progress.keys():
            self.update_progress(FolderProgress(folder, "scanning"))

    def update_progress(self, progress: FolderProgress) -> None:
        """Take over how far a folder is indexed."""
        self._progress[progress.folder] = progress
        self.progress_changed.emit()

    def forget_progress(self) -> None:
        """Take over that the index is made anew."""
        self._progress.clear()
        self.progress_changed.emit()

    @property
    def indexed(self) -> bool:
        """Whether all collections but the paused ones are indexed."""
        states = [self.state_of(each) for each in self._all.values() if not each.paused]
        return all(state.known and not state.working for state in states)

    def postpone(self, postponed: bool) -> None:
        """Take over whether indexing waits until the computer is plugged in."""
        if postponed != self._postponed:
            self._postponed = postponed
            self.progress_changed.emit()

    def state_of(self, collection: Collection) -> IndexState:
        """Return how far a collection is indexed."""
        progress = [self._progress[folder] for folder in self._indexed_folders(collection) if folder in self._progress]
        return IndexState(
            files=sum(each.files for each in progress),
            done=sum(each.done for each in progress),
            refused=sum(each.refused for each in progress),
            working=any(each.step in ("scanning", "indexing") for each in progress),
            known=bool(progress),
            missing=tuple(each.folder for each in progress if each.step == "missing"),
            full=any(each.step == "full" for each in progress),
            postponed=self._postponed,
        )

    def watched_folders(self) -> list[str]:
        """Return the folders that are worth watching for changes."""
        wanted = self.folders_to_index()
        return [each for folder in wanted if folder in self._progress for each in self._progress[folder].watched]

    def _indexed_folders(self, collection: Collection) -> set[str]:
        """Return the folders of `folders_to_index` that contain this collection's folders."""
        roots = outermost(folder for each in self._all.values() for folder in each.folders)
        return {root for root in roots for folder in collection.folders if outermost((root, folder)) == (root,)}

    def _put(self, collection: Collection) -> Collection:
        self._store.save(collection)
        self._all[collection.id] = collection
        self.changed.emit()
        return collection
