"""Actions on messages: edits, answers again, continues, deletes and restores them in the open conversation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMenu
from shiboken6 import isValid

from app.attachments.attachment import Attachment
from app.attachments.reader import FileReader, Outcome
from app.control.model_controller import ModelController
from app.dialogs.source_dialog import SourceDialog
from app.notice import UNDO_MS
from app.services.timers import Debounce
from app.state.answer_facts import read_for
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.open_chats import OpenChats
from app.store.tree import Deleted
from app.transcript.message_actions import forgotten_line
from app.window import Window
from app.words import UiText, mark, tr, tr_n
from common.paths import path_of
from engine.protocol.events import Remedy
from models.titles import title_of


class MessageController(QObject):
    """Controller of the transcript: does the requested actions in the current conversation.

    `summary_wanted` carries a Conversation whose oldest turns are to be summed up before it is answered.
    """

    summary_wanted = Signal(object)

    def __init__(
        self, window: Window, open_chats: OpenChats, engine: EngineQueue, models: ModelController, pause_ms: int
    ) -> None:
        super().__init__(window)
        self._open_chats, self._engine, self._models = open_chats, engine, models
        self._models_command = window.commands.actions["models"]
        self._waiting_for: tuple[Conversation, Path] | None = None  # asked for an answer by a model that is not loaded
        self._window, self._reader = window, FileReader(self)
        transcript = self._transcript = window.transcript
        self._notice, self._composer = window.notice, window.composer
        self._edited: set[Conversation] = set()  # whose edits are to be stored after a pause
        # Without restarts, the text of a user who types without a pause is stored too.
        self._pause = Debounce(self._store_edits, pause_ms, self, restarts=False)
        window.closing.connect(self._store_edits)
        window.closing.connect(self._reader.close)
        self._work: dict[str, Callable[[str, Any], None]] = {
            "edit": lambda id, _: self.edit(id),
            "again": lambda id, _: self.answer_again(id),
            "models": self._offer_models,
            "continue": lambda _id, _: self.continue_answer(),
            "branch_off": lambda id, _: self.branch_off(id),
            "answer_now": lambda _id, _: self.answer_now(),
            "delete": lambda id, _: self.delete(id),
            "previous": lambda id, _: self.show_version(id, -1),
            "next": lambda id, _: self.show_version(id, 1),
            "restore": lambda id, _: self._restore_deleted(id),
            "remedy": lambda _id, remedy: self.choose_remedy(remedy),
            "summary": self.change_summary,
            "send": self.send_edited,
            "note": self._keep_edit,
            "leave": self._discard_edit,
            "source": lambda id, which: self.open_source(id, *which),
        }
        window.commands.bind("again", self.answer_again)
        window.commands.bind("answer_now", self.answer_now)
        open_chats.current_changed.connect(lambda _conversation: self.offer_deleted())
        transcript.action_requested.connect(self.do_action)
        engine.state.problem_changed.connect(self._give_up_waiting)
        engine.state.phase_changed.connect(self._stop_waiting)

    @property
    def _conversation(self) -> Conversation:
        return self._open_chats.current

    def do_action(self, id: str, what: str, value: object = None) -> None:
        """Do the action `what` with the message `id`, if that message is in the open chat."""
        if id in self._conversation.tree:
            self._work[what](id, value)

    # --- reading ----------------------------------------------------------------------------------------------------

    def show_version(self, id: str, by: int) -> None:
        """Show the previous (-1) or next (1) version of the message, with the branch below it that was shown last."""
        view = self._transcript.view_of(id)
        focused = view is not None and view.has_focus()
        row = self._transcript.hold_lower_edge(id)
        if self._conversation.show(self._conversation.tree.sibling(id, by)) and focused and row is not None:
            self._transcript.focus_message(self._conversation.messages[row].id)

    def open_source(self, id: str, number: int, index: int) -> None:
        """Show passage `index` of the file with this number among those that the answer `id` is from."""
        tree = self._conversation.tree
        sources = read_for([tree[each] for each in tree.path(id)])
        if number >= len(sources) or not sources[number].path:
            self._notice.post(lambda: tr("This source is no longer stored with the question."))
            return
        source = sources[number]
        dialog = SourceDialog(source, max(0, index), self._window)

        def show(result: Outcome) -> None:
            if not isValid(dialog):  # it was closed while the file was read
                return
            if isinstance(result, Attachment):
                dialog.show_file(result.text)
            elif isinstance(result, str):
                dialog.note.say(result)

        def open_file() -> None:
            if not QDesktopServices.openUrl(QUrl.fromLocalFile(source.path)):
                dialog.note.say(lambda: tr("No program could open {name}.", name=source.name))

        dialog.finished.connect(dialog.deleteLater)
        dialog.open_requested.connect(open_file)
        dialog.show()
        self._reader.read(Path(source.path), show)

    # --- answering --------------------------------------------------------------------------------------------------

    def answer_again(self, id: str | None = None) -> None:
        """Generate another answer beside the message `id`; None: at the end of the branch."""
        if self._conversation.answer_again(id):
            self._submit()
        elif self._conversation.busy:
            self._report_busy()

    def answer_with(self, id: str, model: Path) -> None:
        """Load `model` and have it generate another answer beside the message `id`."""
        conversation, state = self._conversation, self._engine.state

        def answer() -> None:
            if id not in conversation.tree or not conversation.answer_again(id):
                self._report_busy()
                return
            if state.phase != "ready" or state.path != model:
                self._waiting_for = conversation, model
                self._engine.model.use(model)
            self._submit(conversation)

        if conversation.busy or (state.phase == "ready" and state.path == model):
            answer()
        else:
            self._models.switch.do(
                answer, lambda: tr("{model} will be loaded after that and answer again.", model=title_of(model))
            )

    def _give_up_waiting(self, state: EngineState) -> None:
        """Show the answer again that was there before, if the model that was to write another cannot be loaded."""
        if state.problem is None or state.problem.step == "none" or self._waiting_for is None:
            return
        (conversation, model), self._waiting_for = self._waiting_for, None
        if model == state.path and conversation.phase == "waiting":
            self._engine.stop(conversation)

    def _stop_waiting(self, state: EngineState) -> None:
        if state.phase == "ready":
            self._waiting_for = None

    def _offer_models(self, id: str, menu: QMenu) -> None:
        """Fill the menu with the models on this computer other than the loaded one; a scan may add some."""
        on_disk = self._models.on_disk

        shown: list[Path] | None = None

        def fill() -> None:
            nonlocal shown
            others = [path for path in on_disk.paths if path != self._engine.state.path]
            if others == shown:
                return
            shown = others
            menu.clear()
            for path in others:
                menu.addAction(title_of(path).replace("&", "&&"), partial(self.answer_with, id, path))
            if not others:
                menu.addAction(tr("No other model on this computer")).setEnabled(False)
            menu.addSeparator()
            menu.addAction(self._models_command)

        fill()
        connection = on_disk.changed.connect(fill)
        # Not only when it is hidden: an open menu is deleted with its message, for example when the branch changes.
        for ended in (menu.aboutToHide, menu.destroyed):
            ended.connect(lambda: QObject.disconnect(connection))
        on_disk.scan()

    def continue_answer(self) -> None:
        """Continue the last answer where it stopped."""
        if self._conversation.continue_answer():
            self._submit()

    def answer_now(self) -> None:
        """End the thought of the open chat's answer; the answer follows at once."""
        host = self._engine.state.host
        if host:
            self._post(lambda: tr("{host} cannot end a thought early. Stop the answer instead.", host=host))
        elif not self._engine.answer_now(self._conversation):
            self._post(lambda: tr("The model is not thinking now."))

    def choose_remedy(self, remedy: Remedy) -> None:
        """Apply the remedy that the user chose for a chat that has outgrown the context."""
        conversation = self._conversation
        path = path_of(remedy.path) if remedy.kind == "other_model" else self._engine.state.path
        last = conversation.messages[-1]
        if remedy.kind == "sum_up":
            self.summary_wanted.emit(conversation)
            return
        if remedy.kind == "forget_turns":
            conversation.forget_oldest(remedy.turns)
            if last.stop_reason == "context":  # the answer exists; with the freed room the user can continue it
                turns = conversation.chat.forget_turns
                self._post(lambda: forgotten_line(turns))
                return
        elif path is not None:
            kv_type = remedy.kv_type if remedy.kind == "smaller_kv" else None

            def load() -> None:
                self._engine.model.use(path, remedy.n_ctx, kv_type)
                self.answer(conversation)

            self._models.switch.do(load, lambda: tr("{model} will be loaded after that.", model=title_of(path)))
            return
        self.answer(conversation)

    def change_summary(self, id: str, text: str) -> None:
        """Replace the summary below the message, or remove it; an undo brings the old one back."""
        conversation, before = self._conversation, self._conversation.tree[id].summary
        conversation.sum_up(id, text)
        words = mark("The summary was changed.") if text else mark("The summary was removed.")
        self._notice.post_undo(lambda: tr(words), lambda: conversation.sum_up(id, before))

    def answer(self, conversation: Conversation) -> None:
        """Continue the last answer if it stopped before its end, or generate one again."""
        if conversation.continue_answer() or conversation.answer_again():
            self._submit(conversation)

    def _submit(self, conversation: Conversation | None = None) -> None:
        if conversation in (None, self._conversation):
            self._transcript.to_end()
            self._composer.setFocus()  # the user goes on writing there, from an editor or a button that is gone
        self._engine.submit(conversation or self._conversation)

    # --- changing ---------------------------------------------------------------------------------------------------

    def edit(self, id: str) -> None:
        """Open the editor of the message, with the unsent text that was typed there before."""
        message = self._conversation.tree[id]
        view = self._transcript.view_of(id)
        if view is None or (message.role == "assistant" and (self._conversation.busy or not message.content)):
            return
        view.edit(self._conversation.edits.get(id, message.text_to_copy))
        if view.editor is not None:
            view.editor.setFocus()

    def branch_off(self, id: str) -> None:
        """Open a new chat with copies of the messages up to this one."""
        self._open_chats.branch_off(id)
        self._post(lambda: tr("This is a new chat with copies of the messages up to here."))

    def send_edited(self, id: str, text: str) -> None:
        """Send the new wording of a question, or keep that of an answer, as another version."""
        conversation = self._conversation
        if not conversation.edit(id, text):
            self._report_busy()
            return
        self._edits_changed(conversation)
        view = self._transcript.view_of(id)
        if view is not None:  # the branch changes; this view keeps the old wording
            view.close_editor()
        if conversation.busy:
            self._submit()

    def _keep_edit(self, id: str, text: str) -> None:
        self._conversation.edits[id] = text
        self._edits_changed(self._conversation)

    def _edits_changed(self, conversation: Conversation) -> None:
        self._edited.add(conversation)
        self._pause.request()

    def _store_edits(self) -> None:
        """Store the texts of the open editors."""
        self._pause.cancel()
        while self._edited:
            self._edited.pop().save()

    def _discard_edit(self, id: str, text: str) -> None:
        conversation = self._conversation
        conversation.edits.pop(id, None)
        self._edits_changed(conversation)
        if text.strip() == conversation.tree[id].content.strip():
            return

        def bring_back() -> None:
            conversation.edits[id] = text
            self._edits_changed(conversation)
            if conversation is self._conversation:
                self._transcript.show_message(id)
                self.edit(id)

        self._post(lambda: tr("Edit discarded."), lambda: tr("Restore"), bring_back)

    def delete(self, id: str) -> None:
        """Delete the message and all messages below it, and show a notice with an Undo button."""
        conversation = self._conversation
        if conversation.busy:
            self._report_busy()
            return
        deleted = conversation.delete(id)
        if deleted is None:
            return

        def undo() -> None:
            conversation.restore(deleted)
            if conversation is self._conversation and conversation.tree.leaf == deleted.leaf:
                self._transcript.show_message(deleted.ids[0])

        count = len(deleted.ids)
        self._post(
            lambda: tr_n("{n} message was deleted.", "{n} messages were deleted.", count), lambda: tr("Undo"), undo
        )

    def _restore_deleted(self, id: str) -> None:
        """Restore the messages deleted below this one.

        If the chat begins with this message, restore the deleted beginnings beside it too.
        """
        tree = self._conversation.tree
        _bring_back(self._conversation, [*tree.deleted_with(id), *(tree.deleted_with(None) if tree.begins(id) else [])])

    def offer_deleted(self) -> None:
        """Offer to restore the messages of the open chat if all of them have been deleted."""
        conversation = self._conversation
        deleted = [] if conversation.messages else conversation.tree.deleted_with(None)
        if deleted:
            self._post(
                lambda: tr("The messages in this chat were deleted."),
                lambda: tr("Restore"),
                lambda: _bring_back(conversation, deleted),
            )

    def _report_busy(self) -> None:
        self._post(lambda: tr("An answer is being written. Stop it first, or wait until it is finished."))

    def _post(self, sentence: UiText, button_text: UiText = "", work: Callable[[], None] | None = None) -> None:
        self._notice.post(sentence, button_text, work, milliseconds=UNDO_MS, chat=self._conversation.chat.id)


def _bring_back(conversation: Conversation, ids: list[str]) -> None:
    if ids:
        conversation.restore(Deleted(tuple(ids), ids[0]))
