"""What the window shows first: an introduction at the very first start, afterwards the chat that was open last."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from app.commands.commands import keys_of
from app.control.chat_controller import ChatController
from app.control.draft_controller import DraftController
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.open_chats import OpenChats
from app.transcript.welcome import LARGE_FROM, examples_for
from app.window import Window
from models.default import built_in_model
from models.titles import title_of


class WelcomeController(QObject):
    def __init__(
        self, window: Window, open_chats: OpenChats, engine: EngineQueue, chat: ChatController, drafts: DraftController
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._chat, self._drafts = window, open_chats, chat, drafts
        self._state = window.state
        window.welcome.begin.clicked.connect(self._begin)
        window.welcome.example_chosen.connect(self._send_example)
        for begun in (window.composer.sent, window.composer.text.submitted):  # Enter, also without a message
            begun.connect(self._end_introduction)
        engine.state.phase_changed.connect(self._show_examples)

    def show(self) -> None:
        """Show the introduction or the last chat; call it before the window is visible for the first time."""
        self._open_chats.current_changed.emit(self._open_chats.current)
        if not self._state.introduced and not self._open_chats.chats():
            model = built_in_model()
            self._window.welcome.introduce(title_of(model) if model else "", keys_of("open_model")[0])
        elif self._state.chat in [chat.id for chat in self._open_chats.chats()]:
            self._chat.open(self._state.chat)
            QTimer.singleShot(0, self, self._scroll_to_last_place)  # after the window has got its size

    def _show_examples(self, state: EngineState) -> None:
        """Offer example questions that suit the loaded model."""
        self._window.welcome.set_host(state.host)
        if state.model is not None and state.path is not None:
            parameters = LARGE_FROM if state.host else state.model.parameters  # servers run large ones
            self._window.welcome.set_examples(examples_for(state.path.stem, parameters))

    def _send_example(self, question: str) -> None:
        self._end_introduction()
        self._drafts.send(question)

    def _end_introduction(self) -> None:
        """End the introduction, because the user has begun to chat."""
        if not self._state.introduced:
            self._state.set_introduced()
            self._window.welcome.finish_introduction()

    def _scroll_to_last_place(self) -> None:
        row = self._window.transcript.column.row_of(self._state.place)
        if row is not None:
            self._window.transcript.scroll_to(row)

    def _begin(self) -> None:
        self._end_introduction()
        self._window.composer.setFocus()
