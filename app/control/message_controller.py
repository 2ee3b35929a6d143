"""What happens when something is done with a message: between the transcript's signals and the open conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject

from app.notice import UNDO_MS
from app.services.timers import Debounce
from app.state.conversation import Conversation, Deleted
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.state.saving import EditStore
from app.transcript.message_actions import forgotten_line
from app.window import Window
from app.words import Saying, tr, tr_n
from common.failures import Failure
from engine.protocol import Remedy


class MessageController(QObject):
    """Does what the window's transcript is asked for, with the current conversation."""

    def __init__(self, window: Window, open_chats: OpenChats, engine: EngineQueue, pause_ms: int) -> None:
        super().__init__(window)
        self._open_chats, self._engine = open_chats, engine
        transcript = self._transcript = window.transcript
        self._notice = window.notice
        self._edited: dict[Conversation, Failure | None] = {}  # not stored yet, or not possible
        # Who types without a pause is stored too.
        self._pause = Debounce(self._keep_edits, pause_ms, self, restarts=False)
        window.closing.connect(self._keep_edits)
        self._work: dict[str, Callable[[str, Any], None]] = {
            "edit": lambda id, _: self.edit(id),
            "again": lambda id, _: self.answer_again(id),
            "continue": lambda _id, _: self.go_on(),
            "delete": lambda id, _: self.delete(id),
            "previous": lambda id, _: self.step(id, -1),
            "next": lambda id, _: self.step(id, 1),
            "restore": lambda id, _: self._restore_deleted(id),
            "remedy": lambda _id, remedy: self.choose_remedy(remedy),
            "send": self.send_edited,
            "note": self._note_edit,
            "leave": self._leave,
        }
        window.commands.bind("again", self.answer_again)
        open_chats.current_changed.connect(lambda _conversation: self.offer_deleted())
        transcript.asked.connect(self.do)

    @property
    def _conversation(self) -> Conversation:
        return self._open_chats.current

    def do(self, id: str, what: str, value: object = None) -> None:
        """What the transcript asks for, with the message `id`."""
        if id in self._conversation.tree:
            self._work[what](id, value)

    # --- reading ----------------------------------------------------------------------------------------------------

    def step(self, id: str, by: int) -> None:
        """Show the version before or behind; what is below the message is what was looked at last there."""
        view = self._transcript.view_of(id)
        focused = view is not None and view.has_focus()
        row = self._transcript.hold(id)
        if self._conversation.step(id, by) and focused and row is not None:
            self._transcript.focus_message(self._conversation.messages[row].id)

    # --- answering --------------------------------------------------------------------------------------------------

    def answer_again(self, id: str | None = None) -> None:
        """Another answer beside `id`; None: at the end of the branch."""
        if self._conversation.answer_again(id):
            self._submit()
        elif self._conversation.busy:
            self._tell_busy()

    def go_on(self) -> None:
        """Let the last answer grow on where it stopped."""
        if self._conversation.go_on():
            self._submit()

    def choose_remedy(self, remedy: Remedy) -> None:
        """What the user chose for a chat that has outgrown the context."""
        conversation, path = self._conversation, self._engine.state.path
        last = conversation.messages[-1]
        if remedy.kind == "forget_turns":
            conversation.forget_oldest(remedy.turns)
            if last.stop_reason == "context":  # there is an answer, and room to continue it or for the next one
                turns = conversation.chat.forget_turns
                self._tell(lambda: forgotten_line(turns))
                return
        elif path is not None:
            self._engine.use_model(path, remedy.n_ctx, remedy.kv_type if remedy.kind == "smaller_kv" else None)
        if conversation.can_continue:
            self.go_on()
        else:
            self.answer_again()

    def _submit(self) -> None:
        self._transcript.to_end()
        self._engine.submit(self._conversation)

    # --- changing ---------------------------------------------------------------------------------------------------

    def edit(self, id: str) -> None:
        """Open the message's editor, with what was typed there before."""
        message = self._conversation.tree[id]
        view = self._transcript.view_of(id)
        if view is None or message.role != "user":
            return
        view.edit(self._conversation.edits.get(id, message.content))
        if view.editor is not None:
            view.editor.setFocus()

    def send_edited(self, id: str, text: str) -> None:
        if self._conversation.edit(id, text):
            self._edits_changed()
            view = self._transcript.view_of(id)
            if view is not None:  # the wording is the old one
                view.close_editor()
            self._submit()
        else:
            self._tell_busy()

    def _note_edit(self, id: str, text: str) -> None:
        self._conversation.edits[id] = text
        self._edits_changed()

    def _edits_changed(self) -> None:
        self._edited.setdefault(self._conversation)
        self._pause.request()

    def _keep_edits(self) -> None:
        """Store what stands in the editors; what cannot be stored is tried again with the next write."""
        self._pause.cancel()
        for conversation, told in tuple(self._edited.items()):
            if not conversation.stored:  # there is no message yet to which the edit belongs
                continue
            try:
                EditStore(self._open_chats.store).save(conversation.chat.id, conversation.edits)
            except Failure as failure:
                self._edited[conversation] = failure
                if told is None:
                    self._notice.tell(failure.sentence, kind="problem", detail=failure.detail)
            else:
                del self._edited[conversation]

    def unstored(self) -> list[tuple[str, Failure]]:
        """The titles of chats with edits that cannot be stored, each with the reason: this was the last try."""
        self._keep_edits()
        return [(each.chat.title, failure) for each, failure in self._edited.items() if failure is not None]

    def _leave(self, id: str, text: str) -> None:
        conversation = self._conversation
        conversation.edits.pop(id, None)
        self._edits_changed()
        if text.strip() == conversation.tree[id].content.strip():
            return

        def bring_back() -> None:
            conversation.edits[id] = text
            if conversation is self._conversation:
                self._edits_changed()
                self._transcript.show_message(id)
                self.edit(id)

        self._tell(lambda: tr("Edit discarded."), lambda: tr("Restore"), bring_back)

    def delete(self, id: str) -> None:
        """Take the message and what hangs below it away, with a way back."""
        conversation = self._conversation
        if conversation.busy:
            self._tell_busy()
            return
        deleted = conversation.delete(id)
        if deleted is not None:
            self._tell(
                lambda: tr_n("{n} message was deleted.", "{n} messages were deleted.", len(deleted.ids)),
                lambda: tr("Undo"),
                lambda: self._undo(conversation, deleted),
            )

    def _undo(self, conversation: Conversation, deleted: Deleted) -> None:
        conversation.restore(deleted)
        if conversation is self._conversation and conversation.tree.leaf == deleted.leaf:
            self._transcript.show_message(deleted.ids[0])

    def _restore_deleted(self, id: str) -> None:
        """Bring back what was deleted behind the message, and beside it if the chat begins with it."""
        tree = self._conversation.tree
        self._bring_back([*tree.deleted_with(id), *(tree.deleted_with(None) if tree.begins(id) else [])])

    def offer_deleted(self) -> None:
        """A chat that is opened and has nothing to show, because its messages were deleted, says so."""
        conversation = self._conversation
        deleted = [] if conversation.messages else conversation.tree.deleted_with(None)
        if deleted:
            self._tell(
                lambda: tr("The messages in this chat were deleted."),
                lambda: tr("Restore"),
                lambda: self._bring_back(deleted),
            )

    def _bring_back(self, ids: list[str]) -> None:
        if ids:
            self._conversation.restore(Deleted(tuple(ids), ids[0]))

    def _tell_busy(self) -> None:
        self._tell(lambda: tr("An answer is being written. Stop it first, or wait until it is finished."))

    def _tell(self, sentence: Saying, step: Saying = "", work: Callable[[], None] | None = None) -> None:
        self._notice.tell(sentence, step, work, milliseconds=UNDO_MS)
