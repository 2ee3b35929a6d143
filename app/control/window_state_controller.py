"""Keeps which chat is open, and where and how the window is, as that changes: not every end is a closing."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject

from app.services.background import Background, ignore
from app.services.timers import Debounce
from app.state.open_chats import OpenChats
from app.window import Window

MOVES = frozenset(
    (QEvent.Type.Resize, QEvent.Type.Move, QEvent.Type.Show, QEvent.Type.Hide, QEvent.Type.WindowStateChange)
)


class WindowStateController(QObject):
    """At most one write a second, in a thread: it waits for the disk. Nothing is written where nothing has changed."""

    def __init__(self, window: Window, open_chats: OpenChats, pause_ms: int) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._state = window, open_chats, window.state
        self._background = Background(self)
        self._pause = Debounce(self._keep, pause_ms, self, restarts=False)
        self._state.changed.connect(self.soon)
        for widget in (window, window.sidebar):
            widget.installEventFilter(self)
        window.transcript.verticalScrollBar().valueChanged.connect(self.soon)
        for event in (open_chats.current_changed, open_chats.entry_changed, open_chats.branch_changed):
            event.connect(self.soon)

    def soon(self, _: object = None) -> None:
        """Something of it may be another now."""
        if not self._background.closed:
            self._pause.request()

    def close(self) -> None:
        """The window has been closed; what it was then is in the file when this returns."""
        self._pause.cancel()
        self._background.wait()
        self._keep_chat()
        write = self._state.writing()
        if write is not None:
            write()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() in MOVES:
            self.soon()
        return False

    def _keep(self) -> None:
        if self._background.running:  # a disk that takes more than a second
            self._pause.request()
            return
        if self._window.isVisible():  # else it has no place, or had its last one
            self._window.keep_state()
            self._keep_chat()
        write = self._state.writing()
        if write is not None:
            self._background.run(write, ignore)

    def _keep_chat(self) -> None:
        chat = self._open_chats.current
        self._state.keep_chat(chat.chat.id if chat.messages else "", self._window.transcript.place)
