"""What chats begin with: the options, collections, model and files of their folder, and facts about the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from app.events import Event
from app.settings.resolve import PROMPT, ChatOptions, chat_options_from_json
from app.state.prompt import beginning_of
from app.store.chat import Chat, Folder
from app.store.chat_store import ChatStore
from app.store.project_store import Fact, ProjectFile, ProjectStore
from app.words import listed, tr, tr_n
from common.store import digest


@dataclass(frozen=True)
class Project:
    """Beginning of the chats of a folder, whose `id` it has; without a folder the id is "".

    The values of `options` hold unless the chat has its own. `collections` are ids.
    """

    id: str = ""
    name: str = ""
    options: ChatOptions = field(default_factory=ChatOptions)
    collections: tuple[str, ...] = ()
    model: str = ""
    model_path: str = ""
    files: tuple[ProjectFile, ...] = ()
    facts: tuple[str, ...] = ()

    @property
    def instructions(self) -> str:
        return str(self.options.values.get(PROMPT, "")).strip()

    @cached_property
    def beginning(self) -> str:
        """Text that the model reads before everything else, equal in all chats of the folder; may be ""."""
        return beginning_of(self.instructions, [file.attachment for file in self.files], self.facts)

    def contents(self) -> list[str]:
        """Return what the chats have of their folder, in words."""
        words = [tr("instructions")] if self.instructions else []
        words += [tr_n("{n} file", "{n} files", len(self.files))] if self.files else []
        words += [tr_n("{n} collection", "{n} collections", len(self.collections))] if self.collections else []
        return [*words, tr("settings")] if self.options.values.keys() - {PROMPT} else words

    @cached_property
    def digest(self) -> str:
        """Identity of the beginning; "" if there is none."""
        return digest(self.beginning) if self.beginning else ""


NO_PROJECT = Project()


def moved_words(before: Project, after: Project, n: int) -> str:
    """Return what moving `n` chats from one folder to another changes for them; "" for nothing."""
    lines = []
    if before.contents():
        lines.append(
            tr_n(
                "The chat no longer has what “{name}” gives its chats: {contents}.",
                "{n} chats no longer have what “{name}” gives its chats: {contents}.",
                n,
                name=before.name,
                contents=listed(before.contents()),
            )
        )
    if after.contents():
        lines.append(
            tr_n(
                "The chat now has what “{name}” gives its chats: {contents}.",
                "{n} chats now have what “{name}” gives its chats: {contents}.",
                n,
                name=after.name,
                contents=listed(after.contents()),
            )
        )
    return " ".join(lines)


class Projects:
    """The projects of all folders, and the facts; each is read from the store when it is needed first.

    `changed` is emitted with the id of a folder whose chats begin with something else now, or None for all chats.
    Methods raise Failure when the store cannot be used, and then nothing has changed.
    """

    def __init__(self, store: ChatStore, folders: Mapping[str, Folder]) -> None:
        self.changed: Event[str | None] = Event()
        self._store, self._folders = ProjectStore(store), folders
        self._files: dict[str, tuple[ProjectFile, ...]] = {}
        self._facts = self._store.facts()
        self._made: dict[tuple[str, bool], Project] = {}

    def of(self, chat: Chat, with_facts: bool = True) -> Project:
        """Return what the chat begins with."""
        key = chat.folder_id or "", with_facts
        if key not in self._made:
            self._made[key] = self._make(*key)
        return self._made[key]

    def of_folder(self, folder_id: str) -> Project:
        return self.of(Chat(folder_id=folder_id))

    def reload(self) -> None:
        """Read everything again when it is needed next, after an import or a change of the folders."""
        self._facts = self._store.facts()
        self._files.clear()
        self._made.clear()

    def refresh(self, folder_id: str | None) -> None:
        """Take over that the beginning of a folder's chats, or of all chats, has changed."""
        self._made.clear()
        self.changed.emit(folder_id)

    # --- files --------------------------------------------------------------------------------------------------------

    def put_files(self, folder_id: str, files: Sequence[ProjectFile]) -> None:
        """Add files to a folder, or replace those that have been read again."""
        self._store.save_files(files)
        self._read_files(folder_id)

    def drop_files(self, folder_id: str, ids: Iterable[str]) -> list[ProjectFile]:
        """Remove files from a folder and return them; `put_files` brings them back to their places."""
        wanted = set(ids)
        dropped = [file for file in self.of_folder(folder_id).files if file.id in wanted]
        self._store.delete_files(file.id for file in dropped)
        self._read_files(folder_id)
        return dropped

    def _read_files(self, folder_id: str) -> None:
        self._files.pop(folder_id, None)
        self.refresh(folder_id)

    # --- facts --------------------------------------------------------------------------------------------------------

    def facts(self) -> tuple[Fact, ...]:
        """Return all facts, in the order in which they were approved."""
        return tuple(self._facts)

    def remember(self, fact: Fact) -> None:
        """Store a fact that the user has approved, or another text or folder of it."""
        before = next((each for each in self._facts if each.id == fact.id), None)
        self._store.save_fact(fact)
        self._facts = [fact if each is before else each for each in self._facts]
        if before is None:
            self._facts.append(fact)
        moved = before is not None and before.folder_id != fact.folder_id
        self.refresh(None if moved else fact.folder_id)

    def forget(self, fact: Fact) -> None:
        """Delete a fact from the store."""
        self._store.delete_fact(fact.id)
        self._facts = [each for each in self._facts if each.id != fact.id]
        self.refresh(fact.folder_id)

    # --- inside -------------------------------------------------------------------------------------------------------

    def _make(self, folder_id: str, with_facts: bool) -> Project:
        folder = self._folders.get(folder_id)
        facts = self._facts if with_facts else []
        texts = tuple(fact.text for fact in facts if fact.folder_id in (None, folder_id))
        if folder is None:
            return replace(NO_PROJECT, facts=texts)
        if folder_id not in self._files:
            self._files[folder_id] = tuple(self._store.files(folder_id))
        return Project(
            folder_id,
            folder.name,
            chat_options_from_json(folder.options),
            tuple(filter(None, folder.collections.split("\n"))),
            folder.model,
            folder.model_path,
            self._files[folder_id],
            texts,
        )
