"""The open chat: switches chats, shows title and progress, copies answers, and has the engine read the chat ahead."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from app.markdown.blocks import last_code
from app.markdown.guard import ask_about_link
from app.notice import UNSAVED
from app.services.timers import Debounce
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.open_chats import OpenChats
from app.window import Window
from app.words import UiText, mark, tr
from common.failures import Failure
from engine.protocol.events import Counted, ModelInfo

NOTICE_MS = 4000


class ChatController(QObject):
    """Controller of the open chat.

    Create it before the other controllers of chats, so that a page has its final width before it is filled. `pause_ms`
    is how long a chat must be open before the engine reads it ahead: a user who leafs through the chats does not want
    each one read.
    """

    def __init__(self, window: Window, open_chats: OpenChats, engine: EngineQueue, pause_ms: int) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._engine = window, open_chats, engine
        self._ready_model: ModelInfo | None = None
        self._read_ahead_pause = Debounce(self._read_ahead, pause_ms, self)
        self._bind()
        self._listen()
        window.composer.stopped.connect(self.stop)
        window.transcript.column.link_clicked.connect(lambda address: ask_about_link(window.notice, address))

    # --- what the user does -----------------------------------------------------------------------------------------

    def new(self) -> None:
        """Open a new chat, unless the open chat is still empty."""
        if len(self._open_chats.current.tree) or self._open_chats.current.temporary:
            self._open_chats.new()
        self._ready_to_write()

    def new_temporary(self) -> None:
        """Open a new chat that is never stored."""
        if len(self._open_chats.current.tree) or not self._open_chats.current.temporary:
            self._open_chats.new_temporary()
        self._ready_to_write()

    def open(self, chat_id: str) -> None:
        try:
            self._open_chats.open(chat_id)
        except Failure as failure:
            self._window.notice.post_failure(failure, "open")
            return
        self._window.notice.solve("open")
        self._ready_to_write()

    def open_at(self, chat_id: str, message_id: str) -> None:
        """Open the chat and show the message `message_id`, also on a hidden branch; with "" only open the chat."""
        self.open(chat_id)
        if message_id and self._open_chats.current.chat.id == chat_id:
            self._window.transcript.show_message(message_id)

    def step(self, by: int) -> None:
        """Open the chat below (1) or above (-1) in the list, wrapping around.

        From a new chat, open the first or the last one.
        """
        ids = self._window.sidebar.ids() or [chat.id for chat in self._open_chats.chats()]
        if not ids:
            return
        current = self._open_chats.current.chat.id
        index = ids.index(current) if current in ids else min(-by, 0)
        self.open(ids[(index + by) % len(ids)])

    def stop(self) -> None:
        """Stop the answer of the open chat."""
        self._engine.stop(self._open_chats.current)

    def escape(self) -> None:
        """Close what covers the page, else end a dictation, answer or search, else dismiss the latest notice."""
        if self._window.close_overlay() or self._window.find_bar.leave() or self._window.composer.dictation.leave():
            return
        if self._window.composer.stops:
            self._window.composer.stopped.emit()
            return
        self._window.notice.dismiss()
        self._window.composer.setFocus()

    def copy_answer(self) -> None:
        answers = self._answers()
        answer = answers[-1] if answers else None
        self._copy(answer, mark("There is no answer to copy yet."), mark("Answer copied."))

    def copy_code(self) -> None:
        codes = [code for code in map(last_code, self._answers()) if code is not None]
        code = codes[-1] if codes else None
        self._copy(code, mark("There is no code in this chat yet."), mark("Code copied."))

    # --- read-ahead -------------------------------------------------------------------------------------------------

    def read_ahead_soon(self) -> None:
        """Schedule a read-ahead of the open chat after a pause.

        Call it when the part of the next prompt that is already certain has changed.
        """
        self._read_ahead_pause.request()

    def _read_ahead(self) -> None:
        """Have the open chat read, and counted, so that the gauge says how much it needs before it is read."""
        conversation, state = self._open_chats.current, self._engine.state
        begun = conversation.messages or conversation.project.beginning
        if begun and state.context_chat != conversation.chat.id:
            self._engine.idle.count((), conversation, partial(self._counted, conversation))
        self._engine.idle.read_ahead(conversation)

    def _counted(self, conversation: Conversation, counted: Counted | None) -> None:
        """Show the number, unless an answer has told a better one while the tokens were counted."""
        chat, state = conversation.chat.id, self._engine.state
        if (
            counted
            and conversation is self._open_chats.current
            and not self._engine.active
            and state.context_chat != chat
        ):
            state.change(context_tokens=counted.prompt, context_chat=chat)

    # --- inside -----------------------------------------------------------------------------------------------------

    def _bind(self) -> None:
        bind = self._window.commands.bind
        bind("new_chat", self.new)
        bind("new_temporary_chat", self.new_temporary)
        bind("next_chat", lambda: self.step(1))
        bind("previous_chat", lambda: self.step(-1))
        bind("copy_answer", self.copy_answer)
        bind("copy_code", self.copy_code)

    def _listen(self) -> None:
        chats, state = self._open_chats, self._engine.state
        chats.current_changed.connect(self._show)
        chats.follow_current(self._show_page, chats.branch_changed, chats.entry_changed, chats.message_added)
        for event in (chats.branch_changed, chats.entry_changed, chats.options_changed, chats.context_changed):
            event.connect(self._conversation_changed)
        chats.answer_ended.connect(lambda conversation, _answer: self._conversation_changed(conversation))
        chats.follow_current(self._show_waiting, chats.phase_changed, chats.progress_changed)
        chats.not_saved.connect(self._report_not_saved)
        state.phase_changed.connect(self._engine_changed)
        state.progress_changed.connect(lambda _state: self._show_waiting())

    def _show(self, conversation: Conversation) -> None:
        """Show the chat that has just been opened, and read it ahead soon."""
        self._window.show_page(not conversation.messages)  # first, for the messages' final width
        self._window.transcript.show_conversation(conversation)
        self._window.status.show_chat(conversation.chat.id)
        self._window.notice.show_chat(conversation.chat.id)
        self.read_ahead_soon()

    def _show_page(self) -> None:
        conversation = self._open_chats.current
        self._window.show_page(not conversation.messages)
        title = conversation.chat.title if conversation.messages else ""
        self._window.header.show_title(title, conversation.temporary)

    def _show_waiting(self) -> None:
        self._window.composer.show_waiting(self._engine.state, self._open_chats.current)

    def _conversation_changed(self, conversation: Conversation) -> None:
        if not conversation.busy:
            self.read_ahead_soon()

    def _engine_changed(self, state: EngineState) -> None:
        before, self._ready_model = self._ready_model, state.model if state.phase == "ready" else None
        self._show_waiting()
        if self._ready_model and self._ready_model is not before:
            self.read_ahead_soon()

    def _report_not_saved(self, _conversation: Conversation, words: UiText) -> None:
        self._window.notice.post(words, kind="problem", topic=UNSAVED)

    def _ready_to_write(self) -> None:
        self._window.close_overlay()
        self._window.composer.setFocus()

    def _answers(self) -> list[str]:
        messages = self._open_chats.current.messages
        return [text for message in messages if message.role == "assistant" and (text := message.text_to_copy)]

    def _copy(self, text: str | None, nothing_text: str, copied_text: str) -> None:
        if text is not None:
            QGuiApplication.clipboard().setText(text)
        self._window.notice.post(
            lambda: tr(nothing_text if text is None else copied_text),
            milliseconds=NOTICE_MS,
            chat=self._open_chats.current.chat.id,
        )
