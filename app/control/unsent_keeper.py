"""Keeps what stands in the composer of each chat: at hand while the window is open, and for the next start."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer

from app.notice import Notice
from app.open_chats.conversation import Conversation
from app.open_chats.unsent import NEW, Unsent, UnsentStore
from common.failures import Failure


class UnsentKeeper:
    """What cannot be stored or read is worth a note, but no interruption; it is tried again with the next write."""

    def __init__(self, store: UnsentStore, notice: Notice, pause_ms: int) -> None:
        self._store, self._notice = store, notice
        self._typed: Conversation | None = None
        self._owed: dict[Conversation, tuple[bool, Failure]] = {}  # with its files?, and why it could not be stored
        self._pause = QTimer(notice)
        self._pause.setSingleShot(True)
        self._pause.setInterval(pause_ms)
        self._pause.timeout.connect(self._paused)
        self._guarded(store.tidy)

    def of(self, conversation: Conversation) -> Unsent:
        """Read from the store where nobody has looked yet."""
        if conversation.unsent is None:
            conversation.unsent = Unsent()

            def load() -> None:
                conversation.unsent = self._store.load(_key(conversation))

            self._guarded(load)
        return conversation.unsent

    def keep(self, conversation: Conversation, files: bool = True) -> None:
        """Store it; `files` False: only the text, the files are the same."""
        self._pause.stop()
        for each, (with_files, _) in ({conversation: (files, None)} | self._owed).items():
            unsent = each.unsent
            if unsent is not None:
                self._save(each, unsent, with_files or (each is conversation and files))

    def keep_soon(self, conversation: Conversation) -> None:
        """Its text has changed, and may change again in a moment."""
        self._typed = conversation
        if not self._pause.isActive():  # who types without a pause is stored too
            self._pause.start()

    def forget_new(self) -> None:
        """The chat that was not stored is now."""
        self._store.save(NEW, Unsent(), self._hear)

    def unstored(self) -> Failure | None:
        """Why something that was begun cannot be stored, when that was tried once more; None: it is."""
        for conversation, (files, _) in tuple(self._owed.items()):
            self._save(conversation, conversation.unsent or Unsent(), files)
        return next((failure for _, failure in self._owed.values()), None)

    def _paused(self) -> None:
        if self._typed is not None:
            self.keep(self._typed, files=False)

    def _save(self, conversation: Conversation, unsent: Unsent, files: bool) -> None:
        def done(failure: Failure | None) -> None:
            before = self._owed.pop(conversation, None)
            if failure is not None:
                self._owed[conversation] = files, failure
            if before is None:  # said once
                self._hear(failure)

        self._store.save(_key(conversation), unsent, done, files)

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
