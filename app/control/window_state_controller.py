"""Stores the open chat and the window's geometry whenever they change, because a program may end without closing."""

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
    """Controller that writes the window's state, at most once a second, in a thread because the disk may be slow.

    Nothing is written if nothing has changed.
    """

    def __init__(self, window: Window, open_chats: OpenChats, pause_ms: int) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._state = window, open_chats, window.state
        self._background = Background(self)
        self._pause = Debounce(self._save, pause_ms, self, restarts=False)
        self._state.changed.connect(self.save_soon)
        for widget in (window, window.sidebar):
            widget.installEventFilter(self)
        window.transcript.verticalScrollBar().valueChanged.connect(self.save_soon)
        for event in (open_chats.current_changed, open_chats.entry_changed, open_chats.branch_changed):
            event.connect(self.save_soon)

    def save_soon(self, _: object = None) -> None:
        """Store the state after the pause, because a part of it may have changed."""
        if not self._background.closed:
            self._pause.request()

    def close(self) -> None:
        """Write the state of the window that has just been closed; the file is complete when this returns."""
        self._pause.cancel()
        self._background.wait()
        self._note_chat()
        write = self._state.pending_write()
        if write is not None:
            write()

    def eventFilter(self, _watched: QObject, event: QEvent) -> bool:
        if event.type() in MOVES:
            self.save_soon()
        return False

    def _save(self) -> None:
        if self._background.running:  # the disk needs more than a second for the write before
            self._pause.request()
            return
        if self._window.isVisible():  # a hidden window has no geometry yet, or has stored its last one
            self._window.note_state()
            self._note_chat()
        write = self._state.pending_write()
        if write is not None:
            self._background.run(write, ignore)

    def _note_chat(self) -> None:
        chat = self._open_chats.current
        is_stored = chat.messages and not chat.temporary
        self._state.set_chat(*((chat.chat.id, self._window.transcript.top_message_id) if is_stored else ("", "")))
