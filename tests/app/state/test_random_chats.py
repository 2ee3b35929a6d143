"""Whatever users, engine, disk and imports do to chats, in any order: no text is lost, and each chat is one object.

Every run tries other examples.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from weakref import WeakValueDictionary

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.state import answer
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.store.chat import UNTITLED, ChatMessage, Folder
from app.store.chat_store import ChatStore
from app.store.exchange import JsonExporter
from app.store.importing import Choice, import_chats, undo_import
from app.store.merging import Imported
from app.store.readers.places import Source
from app.store.transfer import TransferProgress
from app.store.tree import Deleted
from app.store.upkeep import run_upkeep
from common.failures import Failure
from common.sentences import Sentence
from engine.protocol.events import Statistics
from engine.protocol.requests import StopReason
from tests.found import WHICH, Sequence, repeat

NUMBERS = Statistics(10, 0, 0.1, 5, 0.2, 5, "end", 15, 4096)
ENDS = st.sampled_from(["", "end", "length", "failed", "too long"])


@dataclass
class Known:
    """Chat as the user knows it: the texts written in it, what became of it, and how the list shows it."""

    temporary: bool = False
    texts: list[str] = field(default_factory=list)
    state: str = "new"
    title: str = UNTITLED
    pinned: bool = False
    folder: str | None = None


class Chatting(RuleBasedStateMachine):
    """A state machine of all that can happen to chats, compared with what the user knows of them, by id.

    `held` are the conversations that an engine, a quick window or an undo still holds.
    """

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.environment = pytest.MonkeyPatch()
        self.environment.setattr(answer, "CHECKPOINT_SECONDS", 0)
        self.known: dict[str, Known] = {}
        self.words = 0
        self.exported: dict[str, Known] = {}
        self.backup_program: sqlite3.Connection | None = None
        self.start()

    def start(self) -> None:
        self.store = ChatStore(self.folder / "library.sqlite3")
        self.store.with_connection(lambda db: db.execute("PRAGMA busy_timeout = 0"))  # what fails, fails at once
        self.chats = OpenChats(self.store)
        self.held: list[Conversation] = []
        self.seen: WeakValueDictionary[str, Conversation] = WeakValueDictionary()
        self.messages_deleted: list[tuple[Conversation, Deleted]] = []
        self.folders_deleted: list[tuple[Folder, list[str]]] = []
        self.imported: list[Imported] = []
        self.hold(self.chats.current)

    # --- what the rules need ----------------------------------------------------------------------------------------

    def hold(self, conversation: Conversation) -> None:
        if conversation not in self.held:
            self.held.append(conversation)
        self.known.setdefault(conversation.chat.id, Known(conversation.temporary))

    def one(self, which: int) -> Conversation:
        """Return the chat that is shown, or one of the conversations that are held."""
        return self.held[which % len(self.held)] if which > 3 else self.chats.current

    def ids(self, *states: str) -> list[str]:
        return [id for id, known in self.known.items() if known.state in states]

    def some(self, which: int, *states: str) -> list[str]:
        """Return the ids of one or two chats in one of these states, or none."""
        ids = self.ids(*states)
        return ids[which % len(ids) :][: 1 + which % 2] if ids else []

    def word(self) -> str:
        self.words += 1
        return f"word{self.words};"

    def could(self, work: Callable[[], object]) -> bool:
        """Do what raises a Failure, and then changes nothing, while the store cannot be written."""
        try:
            work()
        except Failure:
            assert self.backup_program is not None
            return False
        return True

    def heard(self, conversation: Conversation, text: str) -> None:
        known = self.known[conversation.chat.id]
        known.texts.append(text)
        if known.state == "new":
            known.state, known.title = "listed", conversation.chat.title

    def free(self) -> bool:
        return self.backup_program is None

    # --- the chat ---------------------------------------------------------------------------------------------------

    @initialize(ends=st.lists(ENDS, max_size=3))
    def chats_of_before(self, ends: list[str]) -> None:
        for end in ends:
            self.new("new")
            self.turn(0, len(ends) - 1, end)

    @rule(which=WHICH, pieces=st.integers(0, 2), end=ENDS)
    def turn(self, which: int, pieces: int, end: str) -> None:
        """Send a question and answer it."""
        self.send(which)
        self.write(which, pieces, end)

    @rule(how=st.sampled_from(["new", "new_beside", "new_temporary"]))
    def new(self, how: str) -> None:
        self.hold(getattr(self.chats, how)())

    @rule(which=WHICH)
    def open(self, which: int) -> None:
        for id in self.some(which, "listed"):
            assert self.chats.open(id).chat.id == id
            self.hold(self.chats.current)

    @rule()
    def open_what_was_deleted(self) -> None:
        for id in self.ids("deleted", "gone"):
            before = self.chats.current
            assert self.chats.open(id) is before

    @rule(which=WHICH)
    def send(self, which: int) -> None:
        conversation, text = self.one(which), self.word()
        if conversation.send(text):
            self.heard(conversation, text)
        else:
            assert conversation.busy or conversation.state == "gone"

    @rule(which=WHICH, at=WHICH)
    def edit(self, which: int, at: int) -> None:
        conversation, text = self.one(which), self.word()
        if conversation.messages and conversation.edit(conversation.messages[at % len(conversation.messages)].id, text):
            self.heard(conversation, text)

    @rule(which=WHICH, at=WHICH)
    def type_into_an_editor(self, which: int, at: int) -> None:
        conversation = self.one(which)
        ids = [message.id for message in conversation.messages if message.content]
        if ids and conversation.state != "gone":
            id = ids[at % len(ids)]
            if conversation.edits.pop(id, None) is None:
                conversation.edits[id] = self.word()
            conversation.save()

    @rule(which=WHICH)
    def answer_again(self, which: int) -> None:
        self.one(which).answer_again()

    @rule(which=WHICH)
    def continue_answer(self, which: int) -> None:
        self.one(which).continue_answer()

    @rule(which=WHICH)
    def stop(self, which: int) -> None:
        self.one(which).withdraw()
        self.one(which).fail_answer(None, reason="cancelled")

    @rule(which=WHICH, pieces=st.integers(0, 2), end=ENDS)
    def write(self, which: int, pieces: int, end: str) -> None:
        conversation = self.one(which)
        if conversation.waiting is not None:
            conversation.begin_answer("model")
        for _ in range(pieces if conversation.answer else 0):
            text = self.word()
            conversation.append_text(text)
            self.heard(conversation, text)
        if end == "failed":
            conversation.fail_answer(None)
        elif end == "too long":
            conversation.fail_answer(Sentence.of("prompt_too_long.plain", tokens=9, n_ctx=8))
        elif end in ("end", "length"):
            reason: StopReason = "end" if end == "end" else "length"
            conversation.finish_answer(replace(NUMBERS, stop_reason=reason))

    @rule(which=WHICH, at=WHICH, by=st.sampled_from([-1, 1]))
    def show_version(self, which: int, at: int, by: int) -> None:
        conversation = self.one(which)
        if conversation.messages:
            conversation.show(conversation.tree.sibling(conversation.messages[at % len(conversation.messages)].id, by))

    @rule(which=WHICH, at=WHICH)
    def delete_message(self, which: int, at: int) -> None:
        conversation = self.one(which)
        if conversation.messages:
            deleted = conversation.delete(conversation.messages[at % len(conversation.messages)].id)
            self.messages_deleted += [(conversation, deleted)] if deleted else []

    @rule(which=WHICH, at=WHICH, empty=st.booleans())
    def sum_up(self, which: int, at: int, empty: bool) -> None:
        """Have a summary written, or edited, or taken back, for a part of a chat."""
        conversation = self.one(which)
        if conversation.messages and not conversation.busy:
            id = conversation.messages[at % len(conversation.messages)].id
            summary = "" if empty else self.word()
            conversation.sum_up(id, summary)
            assert conversation.tree[id].summary == summary

    @rule()
    def restore_message(self) -> None:
        if self.messages_deleted:
            conversation, deleted = self.messages_deleted.pop()
            conversation.restore(deleted)
            assert not any(conversation.tree[id].deleted_at for id in deleted.ids if id in conversation.tree)

    @rule()
    def branch_off(self) -> None:
        source = self.chats.current
        if source.messages:
            copy = self.chats.branch_off(source.messages[-1].id)
            self.hold(copy)
            known = self.known[copy.chat.id]
            texts = [text for text in self.known[source.chat.id].texts if contains(copy, text)]
            known.state, known.title, known.texts = "listed", copy.chat.title, texts
            known.folder = self.known[source.chat.id].folder

    # --- the list ---------------------------------------------------------------------------------------------------

    @rule(which=WHICH)
    def rename(self, which: int) -> None:
        for id in self.some(which, "listed"):
            title = self.word()
            if self.could(lambda id=id, title=title: self.chats.rename(id, title)):  # type: ignore[misc]
                self.known[id].title = title

    @rule(which=WHICH, pinned=st.booleans())
    def pin(self, which: int, pinned: bool) -> None:
        ids = self.some(which, "listed")
        if self.could(lambda: self.chats.pin(ids, pinned)):
            for id in ids:
                self.known[id].pinned = pinned

    @rule()
    def add_folder(self) -> None:
        self.could(lambda: self.chats.add_folder(self.word()))

    @rule(which=WHICH)
    def move(self, which: int) -> None:
        ids, folder = self.some(which, "listed"), next((each.id for each in self.chats.folders()), None)
        if self.could(lambda: self.chats.move(ids, folder)):
            for id in ids:
                self.known[id].folder = folder

    @rule()
    @precondition(free)
    def delete_folder(self) -> None:
        for folder in self.chats.folders()[:1]:
            self.folders_deleted.append(self.chats.delete_folder(folder.id))
            for id in self.folders_deleted[-1][1]:
                self.known[id].folder = None

    @rule()
    @precondition(free)
    def restore_folder(self) -> None:
        if self.folders_deleted:
            folder, inside = self.folders_deleted.pop()
            self.chats.restore_folder(folder, inside)
            for id in inside:
                if self.known[id].state == "listed":
                    self.known[id].folder = self.known[id].folder or folder.id

    @rule(which=WHICH)
    def delete(self, which: int) -> None:
        ids = self.some(which, "listed")
        if self.could(lambda: self.chats.delete(ids)):
            self.become("deleted", ids)
        self.hold(self.chats.current)

    @rule(which=WHICH)
    def restore(self, which: int) -> None:
        ids = self.some(which, "deleted", "gone")
        if self.could(lambda: self.chats.restore(ids)):
            self.become("listed", [id for id in ids if self.known[id].state == "deleted"])

    @rule(which=WHICH)
    def delete_for_good(self, which: int) -> None:
        ids = self.some(which, "deleted", "listed")
        if self.could(lambda: self.chats.delete_for_good(ids)):
            self.become("gone", [id for id in ids if self.known[id].state == "deleted"])

    @rule()
    def delete_all(self) -> None:
        if self.could(self.chats.delete_all):
            self.become("gone", list(self.known))
        self.hold(self.chats.current)

    def become(self, state: str, ids: list[str]) -> None:
        for id in ids:
            self.known[id].state = state

    # --- imports ----------------------------------------------------------------------------------------------------

    @rule(later=st.booleans())
    @precondition(free)
    def export(self, later: bool) -> None:
        """Write all chats to a file; `later` as if another computer had gone on with them."""
        assert self.chats.retry_unstored() == []
        file = self.folder / "chats.json"
        JsonExporter().export(self.store.path, None, file, TransferProgress())
        content = msgspec.json.decode(file.read_bytes())
        self.exported = {}
        for chat in content["chats"]:
            if later:
                chat |= {"updated_at": chat["updated_at"] + 1000, "title": self.word()}
                new = {"id": self.word(), "parent_id": chat["leaf_id"], "role": "user", "content": self.word()}
                chat["messages"].append(new)
                chat["leaf_id"] = new["id"]
            texts = [text for message in chat["messages"] for text in words_of(message["content"])]
            self.exported[chat["id"]] = Known(False, texts, "listed", chat["title"], bool(chat["pinned_at"]))
        file.write_bytes(msgspec.json.encode(content))

    @rule()
    @precondition(free)
    def import_file(self) -> None:
        if not self.exported:
            return
        choices = [Choice(Source(self.folder / "chats.json"))]
        imported = import_chats(choices, self.store.path, TransferProgress())
        self.chats.reload(imported.touched)
        self.imported.append(imported)
        for id, theirs in self.exported.items():
            known = self.known[id]
            was_gone = known.state == "gone"
            known.state = "listed"
            known.texts = list(theirs.texts) if was_gone else list(dict.fromkeys([*known.texts, *theirs.texts]))
        self.look_again()

    @rule()
    @precondition(free)
    def undo_import(self) -> None:
        if self.imported:
            imported = self.imported.pop()
            undo_import(imported, self.store.path)
            self.chats.reload(imported.touched)
            deleted = {id for id, _ in ((chat.id, at) for chat, at in self.store.deleted_chats())}
            for id in imported.touched:
                if self.known[id].state == "listed" and id in deleted:
                    self.known[id].state = "deleted"
            self.become("deleted", [chat.id for chat in self.chats.delete(imported.added)])
            self.look_again()

    def look_again(self) -> None:
        """Look how the list shows the chats now: an import may rename, pin and move them."""
        self.hold(self.chats.current)
        for chat in self.chats.chats():
            known = self.known[chat.id]
            known.title, known.pinned, known.folder = chat.title, bool(chat.pinned_at), chat.folder_id

    # --- the disk, the end and the next start -----------------------------------------------------------------------

    @rule()
    def lock(self) -> None:
        """Have a backup program hold the file, so that nothing can be written, or let go of it."""
        if self.backup_program is None:
            self.backup_program = sqlite3.connect(self.store.path, isolation_level=None)
            self.backup_program.execute("BEGIN IMMEDIATE")
        else:
            self.backup_program.close()
            self.backup_program = None

    @rule()
    def retry(self) -> None:
        assert self.chats.retry_unstored() == [] or self.backup_program is not None

    @rule()
    @precondition(free)
    def run_upkeep(self) -> None:
        run_upkeep(self.store.path)

    @rule()
    @precondition(free)
    def start_again(self) -> None:
        for conversation in self.held:
            conversation.withdraw()
            conversation.fail_answer(None, reason="cancelled")
        assert self.chats.retry_unstored() == []
        self.check_store()
        self.store.close()
        for known in self.known.values():
            if known.temporary or known.state == "new":
                known.state = "gone"
        self.start()

    # --- what always holds ------------------------------------------------------------------------------------------

    @invariant()
    def each_chat_is_one_object(self) -> None:
        for id in self.known:
            conversation = self.chats.conversation(id)
            if conversation is not None:
                assert conversation.chat.id == id
                assert self.seen.setdefault(id, conversation) is conversation
        for conversation in self.held:
            assert self.seen.setdefault(conversation.chat.id, conversation) is conversation
            assert conversation.state == self.known[conversation.chat.id].state

    @invariant()
    def the_list_shows_what_the_user_did(self) -> None:
        shown = {each.id: (each.title, bool(each.pinned_at), each.folder_id) for each in self.chats.chats()}
        known = {id: (known.title, known.pinned, known.folder) for id, known in self.known.items()}
        assert shown == {id: known[id] for id in self.ids("listed")}

    @invariant()
    def no_text_is_lost(self) -> None:
        for id in self.ids("listed", "deleted"):
            conversation = self.chats.conversation(id)
            if conversation is not None:
                assert [text for text in self.known[id].texts if not contains(conversation, text)] == []

    @invariant()
    def the_store_has_what_is_shown(self) -> None:
        if self.backup_program is None and self.chats.retry_unstored() == []:
            self.check_store()

    def check_store(self) -> None:
        fresh = ChatStore(self.store.path)
        kept = [id for id in self.ids("listed", "deleted") if not self.known[id].temporary]
        deleted = {chat.id for chat, _ in fresh.deleted_chats()}
        chats = {chat.id: chat for chat in fresh.chats()}
        assert {**dict.fromkeys(chats, "listed"), **dict.fromkeys(deleted, "deleted")} == {
            id: self.known[id].state for id in kept
        }
        for id in kept:
            row = fresh.chat_row(id)
            assert row
            messages, conversation = fresh.messages(row[0]), self.chats.conversation(id)
            written = "".join(message.content for message in messages)
            assert [text for text in self.known[id].texts if text not in written] == []
            if conversation is not None:
                assert {message.id: message for message in messages} == all_messages(conversation)
                assert fresh.edits(id) == conversation.edits
                if not (conversation.busy or conversation._refused):
                    assert row[0] == conversation.chat, (row[0], conversation.chat)
                    assert Conversation(fresh, row[0], messages).messages == conversation.messages
        fresh.close()

    def teardown(self) -> None:
        if self.backup_program is not None:
            self.lock()
        self.start_again()
        self.store.close()
        self.environment.undo()
        shutil.rmtree(self.folder)


def words_of(text: str) -> list[str]:
    return [f"{word};" for word in text.split(";") if word]


def all_messages(conversation: Conversation) -> dict[str, ChatMessage]:
    """Return the messages that are to be stored: all but an answer of which there is no word yet."""
    tree, answer = conversation.tree, conversation.answer
    is_empty = answer is not None and answer.phase == "reading" and not answer.continues
    empty = answer.message.id if answer is not None and is_empty else conversation._refused
    return {id: tree[id] for id in tree._messages if id != empty}


def contains(conversation: Conversation, text: str) -> bool:
    under_way = conversation.answer.text if conversation.answer else ""
    return text in under_way or any(text in message.content for message in all_messages(conversation).values())


def an_answer_that_never_began_is_deleted_with_its_question(state: Chatting) -> None:
    """Restore the question alone: the empty answer came back with it, and was stored."""
    state.chats_of_before(ends=[])
    state.turn(which=0, pieces=0, end="too long")
    state.delete_message(which=0, at=0)
    state.restore_message()


def an_answer_that_never_began_gets_a_summary(state: Chatting) -> None:
    """Write a summary at the end of a chat that was too long: the empty answer was stored with the summary."""
    state.chats_of_before(ends=[])
    state.turn(which=0, pieces=0, end="too long")
    state.sum_up(which=0, at=1, empty=False)


def an_import_adds_messages_below_an_answer_that_is_to_be_written_again(state: Chatting) -> None:
    """Stop before the other answer begins: the messages were shown, and after the next start they were not."""
    state.chats_of_before(ends=["length"])
    state.export(later=True)
    state.answer_again(which=0)
    state.import_file()
    state.stop(which=0)


def an_answer_ends_after_it_was_exported_and_goes_on_elsewhere(state: Chatting) -> None:
    """Import the chat, which is newer there: its beginning of the answer replaced the whole one."""
    state.turn(which=0, pieces=1, end="")
    state.export(later=True)
    state.write(which=0, pieces=2, end="end")
    state.import_file()


FOUND = (
    an_answer_ends_after_it_was_exported_and_goes_on_elsewhere,
    an_answer_that_never_began_is_deleted_with_its_question,
    an_answer_that_never_began_gets_a_summary,
    an_import_adds_messages_below_an_answer_that_is_to_be_written_again,
)


@pytest.mark.found
@pytest.mark.parametrize("sequence", FOUND)
def test_what_went_wrong_once_goes_well(sequence: Sequence) -> None:
    repeat(Chatting(), sequence)


TestRandomChats = Chatting.TestCase
TestRandomChats.settings = settings(max_examples=15, stateful_step_count=40, derandomize=False, deadline=None)
