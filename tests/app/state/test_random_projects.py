"""Projects in any order: chats move, files change, folders go and come back, and the program is killed in between."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.attachments.attachment import Attachment
from app.settings.resolve import PROMPT, ChatOptions
from app.state.open_chats import OpenChats
from app.state.prompt import beginning_of
from app.store.chat import Folder
from app.store.chat_store import ChatStore
from app.store.project_store import Fact, ProjectFile

WHICH = st.integers(0, 3)


@dataclass
class Known:
    """Expected beginning of a folder: instructions, and names of files with their texts."""

    instructions: str = ""
    files: dict[str, str] = field(default_factory=dict)


class RandomProjects(RuleBasedStateMachine):
    """The chats and projects of a store beside plain values of what they should be."""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp())
        self.folders: dict[str, Known] = {}
        self.places: dict[str, str | None] = {}  # folder by chat
        self.facts: dict[str, tuple[str, str | None]] = {}
        self.undos: list[Callable[[], object]] = []
        self.number = 0
        self.start()

    def start(self) -> None:
        self.store = ChatStore(self.path / "library.sqlite3")
        self.chats = OpenChats(self.store)

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.path)

    def word(self) -> str:
        self.number += 1
        return f"word {self.number}"

    def folder(self, which: int) -> str:
        return list(self.folders)[which % len(self.folders)]

    def some_folder(self) -> bool:
        return bool(self.folders)

    def some_chat(self) -> bool:
        return bool(self.places)

    # --- what the user does -------------------------------------------------------------------------------------------

    @rule()
    def add_folder(self) -> None:
        self.folders[self.chats.add_folder(self.word()).id] = Known()

    @rule(which=WHICH, inside=st.booleans())
    def add_chat(self, which: int, inside: bool) -> None:
        folder = self.folder(which) if inside and self.folders else None
        chat = self.chats.new_in(folder) if folder else self.chats.new()
        chat.update_entry(folder_id=folder)
        assert chat.send(self.word())
        chat.withdraw()
        self.places[chat.chat.id] = folder

    @rule(which=WHICH)
    @precondition(some_folder)
    def change_instructions(self, which: int) -> None:
        folder, words = self.folder(which), self.word()
        self.chats.change_folder(folder, options=ChatOptions("", {PROMPT: words}).to_json())
        self.folders[folder].instructions = words

    @rule(which=WHICH, name=st.sampled_from("abc"))
    @precondition(some_folder)
    def read_file(self, which: int, name: str) -> None:
        """Add a file, or read it again with another text; it keeps its place."""
        folder, words = self.folder(which), self.word()
        file = ProjectFile(folder, Attachment(name, "text", 1, words))
        before = [each for each in self.chats.projects.of_folder(folder).files if each.attachment.name == name]
        self.chats.projects.put_files(folder, [replace(file, id=each.id) for each in before] or [file])
        self.folders[folder].files[name] = words

    @rule(which=WHICH, at=WHICH)
    @precondition(some_folder)
    def remove_file(self, which: int, at: int) -> None:
        folder = self.folder(which)
        files, known = self.chats.projects.of_folder(folder).files, self.folders[folder]
        dropped = self.chats.projects.drop_files(folder, [each.id for each in files[at : at + 1]])
        before = dict(known.files)
        for each in dropped:
            del known.files[each.attachment.name]

        def undo() -> None:
            if folder in self.folders and known.files == {k: v for k, v in before.items() if k in known.files}:
                self.chats.projects.put_files(folder, dropped)
                gone = {each.attachment.name for each in dropped}
                known.files = {k: v for k, v in before.items() if k in known.files or k in gone}

        self.undos.append(undo)

    @rule(which=WHICH, where=WHICH, out=st.booleans())
    @precondition(some_chat)
    def move(self, which: int, where: int, out: bool) -> None:
        chat = list(self.places)[which % len(self.places)]
        before, folder = self.places[chat], None if out or not self.folders else self.folder(where)
        self.chats.move([chat], folder)
        self.places[chat] = folder

        def undo() -> None:
            if self.places[chat] == folder and before in {None, *self.folders}:
                self.chats.move([chat], before)
                self.places[chat] = before

        self.undos.append(undo)

    @rule(which=WHICH)
    @precondition(some_folder)
    def delete_folder(self, which: int) -> None:
        id = self.folder(which)
        known = self.folders.pop(id)
        facts = {key: fact for key, fact in self.facts.items() if fact[1] == id}
        folder, inside = self.chats.delete_folder(id)
        self.facts = {key: fact for key, fact in self.facts.items() if key not in facts}
        for chat in inside:
            self.places[chat] = None

        def undo() -> None:
            self.restore(folder, inside)
            self.folders[id] = known
            self.facts |= facts
            for chat in inside:
                self.places[chat] = self.places[chat] or id

        self.undos.append(undo)

    def restore(self, folder: Folder, inside: list[str]) -> None:
        self.chats.restore_folder(folder, inside)

    @rule(which=WHICH, inside=st.booleans())
    def remember(self, which: int, inside: bool) -> None:
        fact = Fact(self.word(), self.folder(which) if inside and self.folders else None)
        self.chats.projects.remember(fact)
        self.facts[fact.id] = fact.text, fact.folder_id

    @rule(which=WHICH)
    def forget(self, which: int) -> None:
        for id in list(self.facts)[which : which + 1]:
            self.chats.projects.forget(next(fact for fact in self.chats.projects.facts() if fact.id == id))
            del self.facts[id]

    @rule()
    def undo(self) -> None:
        if self.undos:
            self.undos.pop()()

    @rule()
    def kill(self) -> None:
        """Start anew from what is in the file, without a word to the program that ran before."""
        copy = Path(tempfile.mkdtemp())
        for file in self.path.iterdir():
            shutil.copy2(file, copy)
        self.store.close()
        shutil.rmtree(self.path)
        self.path, self.undos = copy, []
        self.start()

    # --- what must be true --------------------------------------------------------------------------------------------

    @invariant()
    def chats_begin_with_what_their_folder_has(self) -> None:
        for chat, folder in self.places.items():
            known = self.folders[folder] if folder else Known()
            files = [Attachment(name, "text", 1, text) for name, text in known.files.items()]
            project = self.chats.load(chat).project
            assert sorted(project.facts) == sorted(text for text, of in self.facts.values() if of in (None, folder))
            assert project.beginning == beginning_of(known.instructions, files, project.facts)
            assert project.id == (folder or "")


RandomProjects.TestCase.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
TestRandomProjects = RandomProjects.TestCase
