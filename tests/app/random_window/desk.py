"""A window that is used: opened and closed on the same folder, looked at, and compared with what must be kept."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from app.folders import Folders, open_folders
from app.foundation import Foundation, Intervals
from app.services.timers import Debounce
from app.state.conversation import Conversation
from app.state.open_chats import OpenChats
from app.transcript.message_view import MessageView
from app.wiring import Chickadee
from tests.app.random_window.kept import STORED, UNSENT, Kept, words_in
from tests.app.random_window.played_engine import PlayedEngine, Speech
from tests.engine.remote.page_server import PageServer

PATIENCE = 200.0  # seconds until what runs beside the window must have ended, on a very busy computer
LOGGED_BUGS = "bug"  # how the log's lines about our own errors begin
SILENT = "/silent"  # end of the address of a page that never comes
MOST_ROUNDS = 400  # of an engine that says something each time, until all must be answered
SHORT_MS = 100  # the tests' pauses of timers after which something is stored
SPOKEN: tuple[Speech, ...] = ("end", "piece")


class BugLog(logging.Handler):
    """Collector of the errors that the program logs instead of raising."""

    def __init__(self, bugs: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._bugs = bugs

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage().startswith(LOGGED_BUGS):
            self._bugs.append(self.format(record))


class Desk:
    """One data folder, the window on it, and the words that must be kept."""

    def __init__(
        self,
        folder: Path,
        intervals: Intervals,
        bugs: list[str],
        page_server: PageServer,
        vectors: Callable[[], Path],
    ) -> None:
        """Open a window on `folder`; `vectors` makes a table of word vectors, which takes seconds."""
        self.folder, self.bugs, self.kept = folder, bugs, Kept()
        self.page_server, self.vectors = page_server, vectors
        # The second one is large enough for titles, and can think.
        self.models = [folder / "fake.gguf", folder / "grown-thinker.gguf"]
        self.now = 0.0
        self._intervals = intervals
        PlayedEngine.on_piece = self._next_piece
        self.chickadee = self._open()

    # --- the window -------------------------------------------------------------------------------------------------

    def _open(self) -> Chickadee:
        chickadee = Chickadee(Foundation(self.folders, self.models[0], ["played"], None, self._intervals))
        chickadee.process.client._clock = lambda: self.now
        chickadee.window.resize(1000, 700)
        chickadee.window.show()
        chickadee.start()
        return chickadee

    @property
    def folders(self) -> Folders:
        return open_folders(self.folder / "data")

    def close(self) -> None:
        """Close the window, and remove from what is kept all that is never stored."""
        temporary = self.open_chats.temporary_ids
        unstored = {word for each in self._conversations() if each.temporary for word in words_in(*_drafts(each))}
        before = self._places()
        self.chickadee.window.close()
        process_events()
        self.kept.forget(self.kept.of(temporary) | (unstored - before[STORED]))
        if self.chickadee.unsaved_sentences:
            self.kept.expect_only(self._stored_places())
        self.remove()

    def remove(self) -> None:
        """Close the window, if it is open, and delete its objects."""
        if self.chickadee.window.isVisible():
            self.chickadee.window.close()
        self.chickadee.window.deleteLater()
        self.chickadee.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def reopen(self) -> None:
        self.close()
        self.chickadee = self._open()
        self.settle()

    @property
    def open_chats(self) -> OpenChats:
        return self.chickadee.open_chats

    @property
    def current(self) -> Conversation:
        return self.chickadee.open_chats.current

    @property
    def engine(self) -> PlayedEngine:
        return PlayedEngine.latest

    @property
    def views(self) -> list[MessageView]:
        return self.chickadee.window.transcript.views

    # --- time -------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Let the window and the engine do what they do without anybody's help."""
        process_events()
        while self.engine.pump():
            process_events()

    def wait_until(self, done: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < until, f"{what} does not end"
            time.sleep(0.005)
            self.settle()

    def pass_time(self, seconds: int) -> None:
        """Let time pass for the engine's client, who looks at a clock of this test."""
        for _ in range(seconds):
            self.now += 1
            self.chickadee.process.client.tick()
            self.settle()

    def let_all_be_answered(self) -> None:
        """Have an engine that works again answer everything that waits."""
        self.engine.hung = False
        rounds = 0
        while self.busy():
            rounds += 1
            assert rounds < MOST_ROUNDS, f"still busy: {self.busy()}"
            if self.chickadee.engine.state.phase in ("off", "failed"):
                self.chickadee.engine.model.use(self.models[0])
            self.engine.speak(SPOKEN[rounds % 2])
            self.settle()

    def come_to_rest(self) -> None:
        """Have everything answered, and wait for all that runs beside the window."""
        self.let_all_be_answered()
        self.wait_until(lambda: not self.working(), "work beside the window")
        self.let_all_be_answered()  # messages that waited for a file or a search have been sent

    def busy(self) -> list[str]:
        return [each.chat.title for each in self._conversations() if each.busy]

    def working(self) -> bool:
        """Return whether something is under way in another thread or process, or waits for a timer."""
        chats, window = self.chickadee.chats, self.chickadee.window
        drafts = [each.draft for each in self._conversations() if each.draft]
        items = [item for draft in drafts for item in (*draft.items, *draft.queued.items)]
        return bool(
            chats.import_export._background.running
            or self.chickadee.store.writer._unfinished
            or any(item.attachment is None and not item.link.endswith(SILENT) for item in items)
            or any(timer.waiting for timer in window.findChildren(Debounce) if timer._pause < SHORT_MS)
            or window.composer.text.isReadOnly()
        )

    # --- what is there ----------------------------------------------------------------------------------------------

    def _next_piece(self, id: int) -> str:
        word = self.kept.new_word("a")
        active = self.chickadee.engine.active
        if id in self.chickadee.process.client._waiting and active is not None:
            self.kept.add(word, active.chat.id)
        return f"{word} "

    def _conversations(self) -> list[Conversation]:
        chats, engine, quick = self.open_chats, self.chickadee.engine, self.chickadee.chats.quick
        holders = [*chats._conversations.values(), *chats._gone.values(), chats.current, *engine._waiting]
        holders += [each for each in (engine.active, quick.conversation) if each]
        return list(dict.fromkeys(holders))

    def _places(self) -> dict[str, set[str]]:
        """Return the words that the window and the store hold, by chat."""
        places = defaultdict(set, self._stored_places())
        for each in self._conversations():
            places[each.chat.id] |= words_in(each.answer_text, *(each.tree[id].content for id in each.tree._messages))
            places[UNSENT] |= words_in(*each.edits.values(), *_drafts(each))
        window, quick = self.chickadee.window, self.chickadee.chats.quick.quick
        editors = [view.editor.text.toPlainText() for view in window.transcript.views if view.editor]
        places[UNSENT] |= words_in(window.composer.text.toPlainText(), *editors)
        places[UNSENT] |= words_in(quick.text.toPlainText()) if quick else set()
        return places

    def _stored_places(self) -> dict[str, set[str]]:
        places: dict[str, set[str]] = defaultdict(set)
        with closing(sqlite3.connect(self.folders.store)) as db:
            rows = db.execute("SELECT chat_id, content, edit FROM messages JOIN chats ON chats.id = chat_id"
                              " WHERE chats.deleted_at IS NOT 0").fetchall()  # fmt: skip
            for chat_id, content, edit in rows:
                places[chat_id] |= words_in(content)
                places[STORED] |= words_in(edit or "")
            for texts in db.execute("SELECT text, queued FROM unsent"):
                places[STORED] |= words_in(*texts)
        return places

    def documents(self) -> Path:
        """Return a folder with a document for a collection, whose index can be made."""
        self.folders.collections.mkdir(exist_ok=True)
        shutil.copy(self.vectors(), self.folders.collections)
        folder = self.folder / "documents"
        folder.mkdir(exist_ok=True)
        (folder / "birds.md").write_text("# Feeding\n\nChickadees store sunflower seeds in bark.\n", encoding="utf-8")
        return folder

    def exported(self) -> list[Path]:
        """Return the files that were exported and can be imported."""
        return sorted(self.folder.glob("export*.json"))

    def places_of(self, ids: list[str]) -> set[str]:
        """Return the words that are nowhere but in these chats, their edits and drafts included."""
        with closing(sqlite3.connect(self.folders.store)) as db:
            marks = ", ".join("?" for _ in ids)
            texts = db.execute(f"SELECT content || ' ' || coalesce(edit, '') FROM messages WHERE chat_id IN ({marks})"
                               f" UNION ALL SELECT text || ' ' || queued FROM unsent WHERE chat_id IN ({marks})",
                               ids * 2)  # fmt: skip
            return words_in(*(text for (text,) in texts))

    # --- what must hold ---------------------------------------------------------------------------------------------

    def problems(self) -> Iterator[str]:
        """Yield what is wrong now, after `settle`."""
        yield from self.bugs
        if missing := self.kept.missing(self._places()):
            yield f"lost: {missing}"
        yield from self._second_objects()
        yield from self._shown_problems()
        yield from self._store_problems()

    def _second_objects(self) -> Iterator[str]:
        by_id: dict[str, set[Conversation]] = defaultdict(set)
        window, quick = self.chickadee.window, self.chickadee.chats.quick.quick
        shown = [window.transcript.conversation, quick.transcript.conversation if quick else None]
        for each in (*self._conversations(), *filter(None, shown)):
            by_id[each.chat.id].add(each)
        for id, objects in by_id.items():
            if len(objects) > 1:
                yield f"{len(objects)} conversations have the id {id}"

    def _shown_problems(self) -> Iterator[str]:
        """Yield where the window shows something else than the open chat has."""
        window, current = self.chickadee.window, self.current
        if window.transcript.conversation is not current:
            yield "another chat is shown than the current one"
        shown = [view.message.id for view in window.transcript.views]
        if shown != [message.id for message in current.messages][-len(shown) :] and shown:
            yield "other messages are shown than the chat has"
        for view in window.transcript.views:
            content = current.tree[view.message.id].content
            if not current.busy and view.text != content:
                yield f"a message shows {view.text!r} and has {content!r}"
        if window.composer.busy != current.busy:
            yield "the button shows another state than the chat has"
        draft = current.draft
        if draft and draft.text != window.composer.text.toPlainText() and not window.composer.text.isReadOnly():
            yield f"the composer has {window.composer.text.toPlainText()!r}, the draft {draft.text!r}"

    def _store_problems(self) -> Iterator[str]:
        """Yield where the store holds something else than the window, unless that is known and tried again."""
        chickadee, chats = self.chickadee, self.open_chats
        unsettled = chickadee.store.writer._unfinished or chickadee.chats.import_export._background.running
        if unsettled or chickadee.chats.unsaved.is_retrying() or self.disk_fails:
            return
        store = chickadee.store
        stored = {chat.id: chat for chat in store.chats()}
        listed = {chat.id: chat for chat in chats.chats() if chat.id not in chats.temporary_ids}
        if stored.keys() != listed.keys():
            yield f"stored: {sorted(stored)}, listed: {sorted(listed)}"
        for id in stored.keys() & listed.keys():
            conversation = chats.conversation(id)
            # An answer is stored with its first words, and not at all if the chat was too long for it.
            if conversation is not None and (conversation.busy or conversation._refused):
                continue
            if stored[id] != listed[id]:
                yield f"an entry is stored as {stored[id]} and listed as {listed[id]}"
            if conversation is None:
                continue
            here = {message.id: message for message in map(conversation.tree.__getitem__, conversation.tree._messages)}
            there = {message.id: message for message in store.messages(stored[id])}
            if here != there:
                differing = [id for id in here.keys() | there.keys() if here.get(id) != there.get(id)]
                yield f"messages differ: {[(here.get(id), there.get(id)) for id in differing]}"
        if sorted(store.folders(), key=_id) != sorted(chats.folders(), key=_id):
            yield "other folders are stored than listed"

    # --- the disk ---------------------------------------------------------------------------------------------------

    @property
    def disk_fails(self) -> bool:
        return bool(self.chickadee.store._db.execute("PRAGMA query_only").fetchone()[0])

    def let_disk_fail(self, fail: bool) -> None:
        """Have SQLite refuse all writes of the window, as on a disk that is full or was mounted read-only."""
        self.chickadee.store._db.execute(f"PRAGMA query_only = {int(fail)}")


def process_events() -> None:
    """Let Qt do everything that it has to do now."""
    for _ in range(3):
        QApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def _drafts(conversation: Conversation) -> list[str]:
    draft = conversation.draft
    return [draft.text, draft.queued.text] if draft else []


def _id(value: object) -> str:
    return str(value.id)  # type: ignore[attr-defined]
