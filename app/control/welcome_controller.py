"""What the window begins with: at the first start the page that says what this is, later the chat that was open."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from app.commands.commands import keys_of
from app.control.chat_controller import ChatController
from app.control.draft_controller import DraftController
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.state.open_chats import OpenChats
from app.transcript.welcome import examples_for
from app.window import Window
from common.failures import Failure
from models.default import default_model
from models.titles import title_of


class WelcomeController(QObject):
    def __init__(
        self, window: Window, open_chats: OpenChats, engine: EngineQueue, chat: ChatController, drafts: DraftController
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._chat, self._drafts = window, open_chats, chat, drafts
        self._state = window.state
        window.welcome.begin.clicked.connect(self._begun)
        window.welcome.asked.connect(self._send)
        window.composer.sent.connect(self._asked)
        engine.state.phase_changed.connect(self._suit)

    def show(self) -> None:
        """Before the window is seen for the first time."""
        self._open_chats.current_changed.emit(self._open_chats.current)
        if not self._state.introduced and not self._open_chats.chats():
            self._window.welcome.introduce(_built_in(), keys_of("open_model")[0])
        elif self._state.chat in [chat.id for chat in self._open_chats.chats()]:
            self._chat.open(self._state.chat)
            QTimer.singleShot(0, self, self._scroll)  # once the window has its size

    def _suit(self, state: EngineState) -> None:
        """Another model may suit other questions."""
        if state.model is not None and state.path is not None:
            self._window.welcome.suit(examples_for(state.path.stem, state.model.parameters))

    def _send(self, question: str) -> None:
        self._asked()
        self._drafts.send(question)

    def _asked(self) -> None:
        """Who writes has read enough."""
        if not self._state.introduced:
            self._state.keep_introduced()
            self._window.welcome.finish_introduction()

    def _scroll(self) -> None:
        row = self._window.transcript.column.row_of(self._state.place)
        if row is not None:
            self._window.transcript.scroll_to(row)

    def _begun(self) -> None:
        self._asked()
        self._window.composer.setFocus()


def _built_in() -> str:
    try:
        return title_of(default_model())
    except Failure:
        return ""
