"""What the window begins with: at the first start the page that says what this is, later the chat that was open."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

from app.assistant.standing import Standing
from app.chats.examples import examples_for
from app.commands.commands import keys_of
from app.open_chats.shelf import Shelf
from app.window import Window
from common.failures import Failure
from models.default import default_model
from models.titles import title_of


class Beginning(QObject):
    """`open_chat` opens the chat with an id."""

    def __init__(self, window: Window, shelf: Shelf, open_chat: Callable[[str], object]) -> None:
        super().__init__(window)
        self._window, self._shelf, self._open_chat = window, shelf, open_chat
        self._state = window.state
        window.welcome.begin.clicked.connect(self._begun)

    def show(self) -> None:
        """Before the window is seen for the first time."""
        if not self._state.introduced and not self._shelf.chats():
            self._window.welcome.introduce(_built_in(), keys_of("open_model")[0])
        elif self._state.chat in [chat.id for chat in self._shelf.chats()]:
            self._open_chat(self._state.chat)
            QTimer.singleShot(0, self, self._scroll)  # once the window has its size

    def stands(self, standing: Standing) -> None:
        """Another model may suit other questions."""
        if standing.model is not None and standing.path is not None:
            self._window.welcome.suit(examples_for(standing.path.stem, standing.model.parameters))

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
