"""What the window begins with: at the first start the page that says what this is, later the chat that was open."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from app.commands.command_set import keys_of
from app.state.engine_state import EngineState
from app.state.examples import examples_for
from app.state.open_chats import OpenChats
from app.window import Window
from common.failures import Failure
from models.default import default_model
from models.titles import title_of


class WelcomeController(QObject):
    """`open_chat` opens the chat with an id."""

    def __init__(self, window: Window, open_chats: OpenChats, open_chat: Callable[[str], object]) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._open_chat = window, open_chats, open_chat
        self._state = window.state
        window.welcome.begun.connect(self._begun)

    def show(self) -> None:
        """Before the window is seen for the first time."""
        if not self._state.introduced and not self._open_chats.chats():
            self._window.welcome.introduce(_built_in(), keys_of("open_model")[0])
        elif self._state.chat in [chat.id for chat in self._open_chats.chats()]:
            self._open_chat(self._state.chat)
            QTimer.singleShot(0, self, self._scroll)  # once the window has its size

    def stands(self, state: EngineState) -> None:
        """Another model may suit other questions."""
        if state.model is not None and state.path is not None:
            self._window.welcome.suit(examples_for(state.path.stem, state.model.parameters))

    def asked(self) -> None:
        """Who writes has read enough."""
        if not self._state.introduced:
            self._state.keep_introduced()
            self._window.welcome.finish_introduction()

    def _scroll(self) -> None:
        row = self._window.transcript.column.row_of(self._state.place)
        if row is not None:
            self._window.transcript.scroll_to(row)

    def _begun(self) -> None:
        self.asked()
        self._window.composer.setFocus()


def _built_in() -> str:
    try:
        return title_of(default_model())
    except Failure:
        return ""
