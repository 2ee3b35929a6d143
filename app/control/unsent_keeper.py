"""Keeps what stands in the composer of each chat: at hand while the window is open, and for the next start."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer

from app.notice import Notice
from app.open_chats.conversation import Conversation
from app.open_chats.unsent import NEW, Unsent, UnsentStore
from models.failures import Failure

PAUSE_MS = 1000  # who types pauses before it is stored


class UnsentKeeper:
    """What cannot be stored or read is worth a note, but no interruption."""

    def __init__(self, store: UnsentStore, notice: Notice) -> None:
        self._store, self._notice = store, notice
        self._typed: Conversation | None = None
        self._pause = QTimer(notice)
        self._pause.setSingleShot(True)
        self._pause.setInterval(PAUSE_MS)
        self._pause.timeout.connect(self._paused)
        self._guarded(store.tidy)

    def of(self, conversation: Conversation) -> Unsent:
        """Read from the library where nobody has looked yet."""
        if conversation.unsent is None:
            conversation.unsent = Unsent()

            def load() -> None:
                conversation.unsent = self._store.load(_key(conversation))

            self._guarded(load)
        return conversation.unsent

    def keep(self, conversation: Conversation, files: bool = True) -> None:
        """Store it; `files` False: only the text, the files are the same."""
        self._pause.stop()
        unsent = conversation.unsent
        if unsent is not None:
            self._store.save(_key(conversation), unsent, self._hear, files)

    def keep_soon(self, conversation: Conversation) -> None:
        """Its text has changed, and may change again in a moment."""
        self._typed = conversation
        self._pause.start()

    def forget_new(self) -> None:
        """The chat that was not stored is now."""
        self._store.save(NEW, Unsent(), self._hear)

    def _paused(self) -> None:
        if self._typed is not None:
            self.keep(self._typed, files=False)

    def _guarded(self, work: Callable[[], object]) -> None:
        try:
            work()
        except Failure as failure:
            self._hear(failure)

    def _hear(self, failure: Failure | None) -> None:
        if failure is not None:
            self._notice.tell(failure.__str__, kind="problem", detail=failure.detail)


def _key(conversation: Conversation) -> str:
    return conversation.chat.id if conversation.stored else NEW
