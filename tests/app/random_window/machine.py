"""The rules by which the window is pressed at random, and what must hold after each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QMenu

from app.collections import INDEX_NAME
from app.notice import NoticeRow
from app.store.exchange import MARKDOWN, JsonExporter
from app.store.importing import Choice
from app.store.readers.places import Source
from app.transcript.message_view import MessageView
from tests.app.random_window.desk import Desk, process_events
from tests.app.random_window.kept import words_in
from tests.app.random_window.played_engine import SPEECHES, Speech

T = TypeVar("T")
WHICH = st.integers(0, 5)  # a number of a thing among as many as there are
COMMANDS = (
    "new_chat", "new_temporary_chat", "next_chat", "previous_chat", "stop", "answer_now", "again", "pin_chat",
    "first_line", "copy_answer", "copy_code", "to_start", "to_end", "sidebar", "engine", "larger", "normal", "write",
    "delete_chat", "think", "sum_up",
)  # fmt: skip
CHAT_ACTIONS = ("open", "open", "pin", "unpin", "delete", "move", "move out", "new_folder")
ACTIONS = ("again", "continue", "branch_off", "delete", "previous", "next", "restore", "edit", "copy", "details")
SETTINGS = (
    {"engine.context": 8192}, {"engine.context": 4096}, {"window.text_size": 110}, {"window.titles": "on"},
    {"window.theme": "dark"}, {"answer.system_prompt": "Be short."}, {"window.summaries": "on"},
)  # fmt: skip
PRESSES = ("enter", "click", "nothing")
Key = Qt.Key


def chosen(things: list[T], which: int) -> T | None:
    return things[which % len(things)] if things else None


class WindowMachine(RuleBasedStateMachine):
    """A user who does anything in any order, with an engine and a disk that do the same."""

    def __init__(self, open_desk: Callable[[], Desk]) -> None:
        super().__init__()
        self.desk = open_desk()
        self.most = self.files = self.pages = 0  # files and pages that may be, and were, attached
        self.desk.settle()

    @initialize(slow=st.sampled_from((False, False, False, True)))
    def begin(self, slow: bool) -> None:
        """Decide whether files, pages and collections are read too, for which real processes start."""
        self.most = 2 if slow else 0

    @property
    def window(self):
        return self.desk.chickadee.window

    @property
    def chats(self):
        return self.desk.chickadee.chats

    def type(self, widget, extra: str = "") -> str:
        """Type a word that nobody has typed before at the end of what is there."""
        word = self.desk.kept.new_word("q")
        if not widget.isReadOnly():
            self.desk.kept.add(word)
            widget.moveCursor(widget.textCursor().MoveOperation.End)
            QTest.keyClicks(widget, f" {word} {extra}")
        return word

    # --- the composer -----------------------------------------------------------------------------------------------

    @rule(how=st.sampled_from(PRESSES))
    def write(self, how: str) -> None:
        """Type a question, and send it or leave it."""
        self.type(self.window.composer.text)
        self.press(how)

    @rule(how=st.sampled_from(PRESSES[:-1]), speeches=st.lists(st.sampled_from(SPEECHES[:3]), max_size=3))
    def ask(self, how: str, speeches: list[Speech]) -> None:
        """Ask something in a new chat, which may be answered."""
        self.window.commands.run("new_chat")
        self.write(how)
        self.engine_speaks(speeches)

    @rule(how=st.sampled_from(PRESSES))
    def press(self, how: str) -> None:
        composer = self.window.composer
        if how == "enter":
            QTest.keyClick(composer.text, Key.Key_Return)
        elif how == "click":
            QTest.mouseClick(composer.button, Qt.MouseButton.LeftButton)

    @rule(name=st.sampled_from(COMMANDS))
    def run_command(self, name: str) -> None:
        self.window.commands.run(name)

    @rule(edit=st.booleans())
    def use_queued_message(self, edit: bool) -> None:
        """Take the message that waits for the end of an answer back into the composer, or remove it."""
        queued = self.window.composer.queued
        if queued.isHidden():
            self.write("enter")
        elif edit:
            queued.edit.click()
        else:
            draft = self.desk.current.draft
            given_up = words_in(draft.queued.text) if draft else set()
            queued.remove.click()
            self.desk.kept.give_up(given_up)

    # --- the engine -------------------------------------------------------------------------------------------------

    @rule(speeches=st.lists(st.sampled_from(SPEECHES[:3]), min_size=1, max_size=3))
    def engine_speaks(self, speeches: list[Speech]) -> None:
        if not self.desk.engine.jobs:
            self.write("enter")
            self.desk.settle()
        for speech in speeches:
            self.desk.engine.speak(speech)
            self.desk.settle()

    @rule(speech=st.sampled_from(SPEECHES))
    def engine_surprises(self, speech: Speech) -> None:
        self.desk.engine.speak(speech)

    @rule(what=st.sampled_from(("switch", "switch", "unload", "settings", "wait", "wait long")), which=WHICH)
    def change_engine(self, what: str, which: int) -> None:
        """Choose a model, unload it, change settings, or wait so long that an engine that hangs is killed."""
        chickadee = self.desk.chickadee
        if what == "switch":
            self.window.status.chosen.emit(chosen(self.desk.models, which))
        elif what == "unload":
            chickadee.engine.model.unload()
        elif what == "settings":
            chickadee.settings.change(SETTINGS[which])
        else:
            self.desk.pass_time(5 if what == "wait" else 130)

    # --- messages ---------------------------------------------------------------------------------------------------

    def view(self, which: int) -> MessageView | None:
        return chosen(self.desk.views, which)

    @rule(which=WHICH, name=st.sampled_from(ACTIONS))
    def act_on_message(self, which: int, name: str) -> None:
        """Do what the message's menu offers."""
        view = self.view(which)
        if view is None:
            self.ask("click", ["end", "piece", "end"])
            return
        actions = view.message_actions
        for action in (*actions.offered, *actions.versions()):
            if action.name == name:
                actions.qaction(action).trigger()
                return

    @rule(which=WHICH, how=st.sampled_from(("type", "send", "leave")))
    def edit(self, which: int, how: str) -> None:
        """Type into the editor of a message, if one is open, and send it, leave it open or discard it."""
        editors = [view.editor for view in self.desk.views if view.editor]
        editor = chosen(editors, which)
        if editor is None:
            self.act_on_message(which, "edit")
            return
        self.type(editor.text)
        if how == "send":
            editor.send.click()
        elif how == "leave":
            given_up = words_in(editor.text.toPlainText())
            editor.cancel.click()
            self.desk.settle()
            self.desk.kept.give_up(given_up)

    @rule(which=WHICH, model=WHICH, close=st.booleans())
    def answer_again_with(self, which: int, model: int, close: bool) -> None:
        view = self.view(which)
        if view is None or all(action.name != "again_with" for action in view.message_actions.offered):
            return
        view._open_models(view)
        if close:
            view.findChildren(QMenu)[-1].close()
        self.chats.messages.answer_with(view.message.id, self.desk.models[model % 2])

    @rule(which=WHICH)
    def choose_remedy(self, which: int) -> None:
        for view in self.desk.views:
            if remedy := chosen(list(view._remedies), which):
                view.remedy_buttons.chosen.emit(remedy)
                return

    # --- notices ----------------------------------------------------------------------------------------------------

    @rule(which=WHICH)
    def press_notice(self, which: int) -> None:
        """Press the button of a notice: most often Undo."""
        rows: list[NoticeRow] = [row for row in self.window.notice.rows if row.button.isVisibleTo(self.window.notice)]
        if row := chosen(rows[::-1], which):
            row.button.click()

    # --- the list of chats ------------------------------------------------------------------------------------------

    def ids(self) -> list[str]:
        return [chat.id for chat in self.desk.open_chats.chats()]

    @rule(which=WHICH, name=st.sampled_from(CHAT_ACTIONS))
    def act_on_chat(self, which: int, name: str) -> None:
        id = chosen(self.ids(), which)
        if id is None:
            self.ask("enter", ["piece"])
            return
        folder = chosen([folder.id for folder in self.desk.open_chats.folders()], which) if name == "move" else None
        self.window.sidebar.list.action_requested.emit("move" if name == "move out" else name, [id], folder)

    @rule(which=WHICH, several=st.booleans(), meanwhile=st.sampled_from(("nothing", "piece", "end", "ask", "disk")))
    def delete_and_take_back(self, which: int, several: bool, meanwhile: str) -> None:
        """Delete chats, which may be being answered, and press Undo: at once, or after something else."""
        if not self.ids():
            self.ask("enter", ["piece"])
            self.desk.settle()
        ids = self.ids()
        if not ids:  # the question waits for a file
            return
        ids = ids[: which + 1] if several else [ids[which % len(ids)]]
        self.window.sidebar.list.action_requested.emit("delete", ids, None)
        self.desk.settle()
        if meanwhile == "ask":
            self.ask("enter", ["end", "piece"])
        elif meanwhile == "disk":
            self.disk_fails_or_works_again()
        elif meanwhile != "nothing":
            self.desk.engine.speak("piece" if meanwhile == "piece" else "end")
            self.desk.settle()
        self.press_notice(0)

    @rule(which=WHICH, name=st.sampled_from(("fold", "rename_folder", "delete_folder")))
    def act_on_folder(self, which: int, name: str) -> None:
        folder = chosen(self.desk.open_chats.folders(), which)
        if folder is not None:
            value = not folder.folded if name == "fold" else f"folder {which}"
            self.window.sidebar.list.action_requested.emit(name, [folder.id], value)

    @rule()
    def rename(self) -> None:
        """Type another title into the list."""
        self.window.commands.run("rename_chat")
        process_events()
        for editor in self.window.sidebar.list.findChildren(QLineEdit):
            editor.selectAll()
            QTest.keyClicks(editor, "another title")
            QTest.keyClick(editor, Key.Key_Return)

    @rule(which=WHICH, forever=st.booleans())
    def use_bin(self, which: int, forever: bool) -> None:
        """Restore a deleted chat, or delete it permanently."""
        self.window.commands.run("bin")
        bin = self.chats.list._bin.open
        assert bin
        if bin.list.count():
            bin.list.setCurrentRow(which % bin.list.count())
            if forever:
                before = self.desk.places_of(bin.selected_ids())
                bin.delete.click()
                bin.confirm.click()
                if not self.desk.disk_fails:
                    self.desk.kept.forget(before)
            else:
                bin.restore.click()
        bin.close()

    # --- import and export ------------------------------------------------------------------------------------------

    @rule(markdown=st.booleans(), wait=st.booleans())
    def export(self, markdown: bool, wait: bool) -> None:
        exporter = MARKDOWN if markdown else JsonExporter()
        path = self.desk.folder / f"export{len(list(self.desk.folder.iterdir()))}{exporter.extension}"
        self.chats.import_export.export(None, str(path), exporter)
        if wait:
            self.finish_transfer()

    @rule(which=WHICH, wait=st.booleans())
    def import_file(self, which: int, wait: bool) -> None:
        path = chosen(self.desk.exported(), which)
        if path is None:
            self.export(False, wait)
            return
        self.chats.import_export.import_choices([Choice(Source(path))])
        if wait:
            self.finish_transfer()

    def finish_transfer(self) -> None:
        self.desk.wait_until(lambda: not self.chats.import_export._background.running, "a transfer")

    # --- the quick window -------------------------------------------------------------------------------------------

    @rule(what=st.sampled_from(("ask", "ask", "type", "main", "button", "close")))
    def use_quick_window(self, what: str) -> None:
        self.window.commands.run("ask")
        quick = self.chats.quick.quick
        assert quick
        if what in ("ask", "type"):
            self.type(quick.text)
        if what == "ask":
            QTest.keyClick(quick.text, Key.Key_Return)
        elif what == "main":
            quick.main_button.click()
        elif what == "button":
            quick.button.click()
        elif what == "close":
            quick.close()

    # --- files ------------------------------------------------------------------------------------------------------

    @rule(what=st.sampled_from(("file", "short text", "long text")))
    def attach(self, what: str) -> None:
        """Attach a file, or paste a text that becomes one; a long one does not fit into the context."""
        if what != "file":
            self.chats.drafts.attach_content("bird " * (100 if what == "short text" else 30_000))
        elif self.files < self.most:
            self.files += 1
            path = self.desk.folder / "notes.txt"
            path.write_text("Chickadees store seeds.", encoding="utf-8")
            self.window.composer.text.take_files([path])

    @rule(which=WHICH)
    def remove_file(self, which: int) -> None:
        draft = self.desk.current.draft
        if item := chosen(draft.items if draft else [], which):
            self.window.composer.tray.chosen.emit("remove", item)

    @rule(choice=st.sampled_from(("best", "beginning", "remove", "ask")))
    def choose_fit(self, choice: str) -> None:
        if self.window.composer.tray.question.isVisible():
            self.window.composer.tray.chosen.emit(choice, None)

    @rule(path=st.sampled_from(("page", "silent", "status/404")))
    def attach_web_page(self, path: str) -> None:
        """Type a link, and have the page that it leads to read."""
        text = self.window.composer.text
        if self.pages < self.most and not text.isReadOnly():
            self.pages += 1
            QTest.keyClicks(text, f" {self.desk.page_server.url}/{path} ")
            self.window.commands.run("read_page")

    # --- collections ------------------------------------------------------------------------------------------------

    @rule(what=st.sampled_from(("index", "damage", "delete", "kill", "switch", "search")))
    def use_collection(self, what: str) -> None:
        """Wait for the index, hurt it or the process that searches it, switch it off or on, or ask something."""
        if not self.most:
            self.write("enter")
            return
        collections = self.chats.collections
        indexing = collections._indexing
        if not collections._collections.all():
            collections.add(self.desk.documents())
        if what == "index":
            self.desk.wait_until(lambda: not (indexing._start_soon.waiting or indexing._process.running), "indexing")
        elif what == "damage":
            index = self.desk.folders.collections / INDEX_NAME
            if index.exists():
                index.write_bytes(b"no database" * 500)
        elif what == "delete":
            self.window.commands.run("storage")
            page = self.chats.storage.page
            if page is not None:
                page.action_requested.emit("collections", "delete")
        elif what == "kill":
            collections._retriever.search._process.kill()
        elif what == "switch":
            menu = collections.menu()
            menu.actions()[0].trigger()
            menu.deleteLater()
        else:
            self.type(self.window.composer.text, "Which seeds do chickadees store?")
            QTest.keyClick(self.window.composer.text, Key.Key_Return)

    # --- the disk, and the program's end ----------------------------------------------------------------------------

    @rule()
    def disk_fails_or_works_again(self) -> None:
        self.desk.let_disk_fail(not self.desk.disk_fails)

    @rule()
    def close_and_start_again(self) -> None:
        self.desk.reopen()

    @rule()
    def let_all_be_answered(self) -> None:
        self.desk.let_all_be_answered()

    # --- what must hold ---------------------------------------------------------------------------------------------

    @invariant()
    def nothing_is_wrong(self) -> None:
        self.desk.settle()
        if problems := list(self.desk.problems()):
            raise AssertionError("\n".join(problems))

    def teardown(self) -> None:
        """Have everything answered, close the window and look whether it is all there after the next start."""
        try:
            if sys.exc_info()[0] is None:
                self.desk.let_disk_fail(False)
                self.chats.unsaved.retry()
                self.desk.come_to_rest()
                self.nothing_is_wrong()
                self.desk.reopen()
                self.nothing_is_wrong()
        finally:
            self.desk.remove()
