"""The composer: shows the draft of the open chat, and has it sent, or queued while an answer is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QImage

from app.attachments.attachment import Attachment
from app.control.chat_controller import ChatController
from app.control.draft_files import FILES, DraftFiles
from app.control.retriever import Retriever
from app.control.sender import Sender
from app.events import Event
from app.look.speech import announce
from app.notice import UNSAVED
from app.services.timers import Debounce
from app.state.conversation import Conversation
from app.state.draft import DraftFile, Unsent
from app.state.draft_fit import DraftFit
from app.state.draft_keeper import DraftKeeper, DraftStore
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.open_chats import OpenChats
from app.store.chat import ChatMessage
from app.window import Window
from app.words import tr
from engine.protocol.events import ModelInfo

WAITS_FOR_USER = ("cancelled", "failed", "engine", "context")  # ends of an answer after which nothing is sent by itself


class DraftController(QObject):
    """Controller of the composer.

    `keeper` stores drafts, `files` reads what is attached, and `sending` knows what a message waits for.
    """

    def __init__(
        self,
        window: Window,
        open_chats: OpenChats,
        engine: EngineQueue,
        chat: ChatController,
        retriever: Retriever,
        pause_ms: int,
    ) -> None:
        super().__init__(window)
        self._composer, self._notice, self._open_chats = window.composer, window.notice, open_chats
        self._engine, self._chat, self._retriever = engine, chat, retriever
        store = DraftStore(open_chats.store)
        self.keeper = DraftKeeper(store, lambda failure: window.notice.post_failure(failure, UNSAVED))
        # Without restarts, the text of a user who types without a pause is stored too.
        self._pause = Debounce(self._store_text, pause_ms, self, restarts=False)
        self.folder_given: Event[Path] = Event()  # a folder was dropped or pasted, which cannot be attached
        self._fit = DraftFit(engine)
        self.files = DraftFiles(self.keeper, engine.state, window.notice, self)
        self.sending = Sender(self._fit, retriever, window.notice, self._deliver, self)
        self._conversation: Conversation | None = None
        self._model: ModelInfo | None = None
        self._listen()
        for unsent in open_chats.unsent():  # from now on, a new chat is one of these
            self.keeper.draft_of(unsent)

    def _listen(self) -> None:
        composer, open_chats = self._composer, self._open_chats
        composer.sent.connect(self._send_composed)
        composer.stopped.connect(self._stop_searching)
        composer.recalled.connect(self.recall)
        composer.text.textChanged.connect(self._text_changed)
        composer.text.attached.connect(self.attach_content)
        composer.tray.chosen.connect(self.choose_fit)
        composer.tray.detail_toggled.connect(lambda item: self.files.toggle_detail(self.current, item))
        composer.queued.edited.connect(self.edit_queued)
        composer.queued.removed.connect(self.remove_queued)
        open_chats.current_changed.connect(self.show_draft)
        open_chats.options_changed.connect(self._keep_choices)
        open_chats.entry_changed.connect(self._keep_choices)
        open_chats.answer_ended.connect(self._answer_ended)
        open_chats.branch_changed.connect(self._recount)
        open_chats.phase_changed.connect(self._show)
        self._engine.state.phase_changed.connect(self._engine_changed)
        self.files.changed.connect(self._files_changed)
        self.files.refused.connect(lambda message: self.sending.leave(message, "counting"))
        self._fit.decided.connect(self._counted)
        self.sending.changed.connect(self._phase_changed)

    # --- the chat that is shown -------------------------------------------------------------------------------------

    def show_draft(self, conversation: Conversation) -> None:
        """Show the conversation's draft in the composer, after storing the draft of the chat shown before."""
        before = self._conversation
        if conversation is before:
            return
        if before is not None:
            self.sending.leave(self.keeper.draft_of(before), "counting", "choosing")
            self._pause.cancel()
            self.keeper.store_draft(before, files=False)
        self._conversation = conversation
        draft = self.keeper.draft_of(conversation)
        self._composer.text.show_document(conversation, draft.text)
        if draft.choices and not conversation.saver.stored:  # chosen before the first message, in an earlier run
            conversation.update_entry(**draft.choices)
        self._recount(conversation)
        self._show(conversation)

    def close(self) -> None:
        """Stop the background work and store the draft, which the next start puts into the composer."""
        self.files.close()
        self.sending.close()
        self._store_text()

    # --- what the user attaches ---------------------------------------------------------------------------------------

    def attach_content(self, content: list[Path] | str | QImage) -> None:
        """Attach pasted, dropped or chosen content: files, a text too long for a message, or a picture."""
        if isinstance(content, list):
            folders = [path for path in content if path.is_dir()]
            for folder in folders:
                self.folder_given.emit(folder)
            if files := [path for path in content if path not in folders]:
                self.attach(files)
        elif isinstance(content, str):
            self.attach_text(content)
        elif self.files.can_attach_picture(self.current):
            self.files.attach_image(self.current, content, tr("Pasted picture"))

    def attach(self, paths: Iterable[Path]) -> None:
        """Attach files to the open chat's draft."""
        self.files.attach(self.current, paths)

    def attach_text(self, text: str) -> None:
        """Attach a long pasted text as a file; the button of a notice inserts it into the message instead."""
        conversation = self.current
        item = self.files.attach_text(conversation, text)

        def insert() -> None:
            if self.files.remove(conversation, item):
                self._composer.text.insertPlainText(text)

        self._notice.post(
            lambda: tr("The long text was attached as a file."),
            lambda: tr("Insert into message"),
            insert,
            chat=conversation.chat.id,
            holds=lambda: self.keeper.draft_of(conversation).message_with(item) is not None,
        )

    def choose_fit(self, choice: str, item: DraftFile | None = None) -> None:
        """Apply the user's choice for files that do not fit, or remove the file `item`.

        `choice` is `best`, `beginning`, `remove` (the largest file) or `ask` (show the choices again). `best` and
        `beginning` also send the message if the choices were shown because the user pressed Send.
        """
        conversation, draft = self.current, self.keeper.draft_of(self.current)
        if choice == "remove" and draft.items:
            self.files.remove(conversation, item or max(draft.items, key=lambda item: item.tokens or 0))
        elif choice == "ask":
            draft.fit = "too_much"
        elif choice in ("best", "beginning"):
            draft.fit = "best" if choice == "best" else "beginning"
        sends = self.sending.phase(draft) == "choosing" and draft.fit in ("best", "beginning")
        self.sending.leave(draft, "choosing")
        self._show(conversation)
        if item is None:
            self._composer.setFocus()
        if sends:
            self._send(conversation, draft)

    # --- sending ----------------------------------------------------------------------------------------------------

    def send(self, text: str) -> None:
        """Send a text that is not the composer's, such as an example question."""
        self._send(self.current, Unsent(text))

    def recall(self) -> None:
        """Put the queued message, or else the chat's last prompt, into the empty composer, to be changed."""
        if not self.keeper.draft_of(self.current).queued.empty:
            self.edit_queued()
        elif prompts := [message.content for message in self.current.messages if message.role == "user"]:
            self._composer.set_text(prompts[-1])

    def edit_queued(self) -> None:
        """Take the queued message back into the composer, above what is typed there."""
        draft = self.keeper.draft_of(self.current)
        self.sending.leave(draft.queued, "counting", "choosing", "searching")
        draft.queued.append(draft)
        draft.append(draft.queued)
        self._composer.set_text(draft.text)
        self._store_and_show(self.current)
        self._recount(self.current)
        self._composer.setFocus()

    def remove_queued(self) -> None:
        """Remove the queued message; the button of a notice brings it back."""
        conversation = self.current
        queued = self.keeper.draft_of(conversation).queued
        self.sending.leave(queued, "counting", "choosing", "searching")
        gone = Unsent()
        gone.append(queued)
        self._store_and_show(conversation)
        self._composer.setFocus()

        def undo() -> None:
            gone.append(queued)
            queued.append(gone)
            self._store_and_show(conversation)

        self._notice.post_undo(lambda: tr("The waiting message was removed."), undo)

    def _send_composed(self) -> None:
        self._send(self.current, self.keeper.draft_of(self.current))

    def _send(self, conversation: Conversation, message: Unsent) -> None:
        """Send the message; queue it while an answer is written, or behind what is queued already."""
        draft = self.keeper.draft_of(conversation)
        if conversation.busy or not draft.queued.empty:
            self.sending.leave(message, "counting", "choosing")
            draft.queued.append(message)
            self._clear_composer_of(conversation, message)
            self._store_and_show(conversation)
            message = draft.queued
        if conversation.busy:
            announce(self._composer, tr("Your message will be sent when the answer has ended."))
        else:
            self.sending.send(conversation, message)

    def _deliver(self, conversation: Conversation, message: Unsent, attachments: tuple[Attachment, ...]) -> None:
        """Put the message into its chat and have it answered."""
        draft = self.keeper.draft_of(conversation)
        if conversation.busy:  # another answer has begun meanwhile
            self._send(conversation, message)
            return
        if not conversation.send(message.text, attachments):
            return
        self._notice.solve(FILES)
        message.clear()
        draft.choose()
        self._clear_composer_of(conversation, message)
        self._store_and_show(conversation)
        self._engine.submit(conversation)

    def _clear_composer_of(self, conversation: Conversation, message: Unsent) -> None:
        """Clear the composer if this message, which has gone from it, was shown there."""
        if conversation is self._conversation and message is conversation.draft:
            self._composer.text.clear()

    def _answer_ended(self, conversation: Conversation, answer: ChatMessage) -> None:
        """Send the queued message, unless the answer has not ended well: then the user sends it."""
        self._recount(conversation)
        if answer.stop_reason not in WAITS_FOR_USER and conversation.draft and not conversation.draft.queued.empty:
            QTimer.singleShot(0, self, lambda: self._send_queued(conversation))  # once all have heard of the end

    def _send_queued(self, conversation: Conversation) -> None:
        queued = self.keeper.draft_of(conversation).queued
        if conversation.state == "listed" and not (conversation.busy or queued.empty):
            self.sending.send(conversation, queued)

    def _stop_searching(self) -> None:
        """Stop a search, because the user does not want to send the message yet."""
        draft = self.keeper.draft_of(self.current)
        for message in (draft, draft.queued):
            self.sending.leave(message, "counting", "searching")

    # --- inside -----------------------------------------------------------------------------------------------------

    def _engine_changed(self, state: EngineState) -> None:
        """Count the files again when another model has been loaded; without a model nothing waits for the counting."""
        if state.phase == "ready":
            for conversation, message in self.sending.counting():
                self._fit.count(conversation, message)
            if state.model is not self._model:
                self._model = state.model
                self._recount(self.current)
        elif state.phase in ("off", "failed"):
            self._go_on_soon()

    def _go_on_soon(self) -> None:
        """Send what waited for the counting, once the engine has finished what it is telling: it may be ending."""
        QTimer.singleShot(0, self, self.sending.go_on)

    def _recount(self, conversation: Conversation) -> None:
        """Check again whether the files fit, because the chat before them has changed."""
        if conversation.draft is not None and conversation.draft.items:
            self._fit.count(conversation, conversation.draft)
            self._show(conversation)

    def _files_changed(self, conversation: Conversation, message: Unsent) -> None:
        self.sending.leave(message, "choosing")
        self._fit.count(conversation, message)
        self._show(conversation)
        self.sending.go_on()

    def _counted(self, conversation: Conversation, message: Unsent) -> None:
        self._show(conversation)
        if message is self.keeper.draft_of(self.current):
            self._chat.read_ahead_soon()  # now the files of the next message are certain
        self._go_on_soon()

    def _store_text(self) -> None:
        self.keeper.store_draft(self.current, files=False)

    def _store_and_show(self, conversation: Conversation) -> None:
        self.keeper.store_draft(conversation)
        self._show(conversation)

    def _show(self, conversation: Conversation) -> None:
        """Show the files, the queued message, and what the message waits for, if this chat is open."""
        if conversation is not self._conversation:
            return
        draft, composer = self.keeper.draft_of(conversation), self._composer
        composer.tray.show_draft(draft)
        composer.queued.show_message(draft.queued, conversation.busy)
        composer.show_searching(self.sending.phase(draft) == "searching")

    def _phase_changed(self, conversation: Conversation, message: Unsent) -> None:
        """Show what the message waits for; where the user must choose, show the choices, which the composer has."""
        self._show(conversation)
        if conversation is not self._conversation or self.sending.phase(message) != "choosing":
            return
        draft = self.keeper.draft_of(conversation)
        if message is draft.queued:
            self.edit_queued()
            self.sending.send(conversation, draft)
        self._composer.tray.focus_choices()

    def _text_changed(self) -> None:
        if self._conversation is None:
            return
        draft, text = self.keeper.draft_of(self._conversation), self._composer.text.toPlainText()
        if text == draft.text:
            return
        self.sending.leave(draft, "counting", "choosing")  # a user who goes on typing does not want to send yet
        draft.text = text
        self._pause.request()
        if text:
            self._retriever.warm_up(self._conversation)

    def _keep_choices(self, conversation: Conversation) -> None:
        """Keep what was chosen for a chat without messages with its draft; other chats store it."""
        if conversation.saver.stored:
            return
        draft = self.keeper.draft_of(conversation)
        before = draft.choices
        draft.choose(conversation.chat)
        if draft.choices != before:
            self.keeper.store_draft(conversation, files=False)

    @property
    def current(self) -> Conversation:
        """The open chat."""
        assert self._conversation is not None, "a chat is shown from the start"
        return self._conversation
