"""User's texts that could not be stored, for example on a full disk: retried now and then, and listed at the end."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from app.control.draft_controller import DraftController
from app.notice import UNDO_MS, UNSAVED
from app.state.open_chats import OpenChats
from app.window import Window
from app.words import tr, worded


class UnsavedController(QObject):
    """Retries of failed writes.

    The controller whose write failed has already reported it; this one reports that everything is saved again. The
    timer runs only while something is unsaved, so that an idle window sleeps.
    """

    def __init__(self, window: Window, open_chats: OpenChats, drafts: DraftController, again_ms: int) -> None:
        super().__init__(window)
        self._open_chats, self._drafts, self._notice = open_chats, drafts, window.notice
        self._has_unsaved = False
        self._retry_timer = QTimer(self)
        self._retry_timer.setInterval(again_ms)
        self._retry_timer.timeout.connect(self.retry)
        open_chats.not_saved.connect(lambda _conversation, _reason: self._retry_later())
        drafts.keeper.not_saved.connect(self._retry_later)

    def is_retrying(self) -> bool:
        """Return whether something is unsaved and will be tried again."""
        return self._retry_timer.isActive()

    def retry(self) -> None:
        had_unsaved, self._has_unsaved = self._has_unsaved, bool(self.retry_all())
        if not self._has_unsaved:
            self._retry_timer.stop()
            self._notice.solve(UNSAVED)
        if had_unsaved and not self._has_unsaved:
            self._notice.post(lambda: tr("Everything is saved now."), milliseconds=UNDO_MS)

    def _retry_later(self) -> None:
        if not self.is_retrying():  # a user who types fails again and again, and must not put the retry off for ever
            self._retry_timer.start()

    def close(self) -> list[str]:
        """Return a sentence for each text that is unsaved when the window closes.

        Call it after the store's writer is closed, so that these last writes are done at once.
        """
        self._retry_timer.stop()
        return self.retry_all()

    def retry_all(self) -> list[str]:
        """Try once more to store everything; return a sentence for each failure.

        A sentence names the text that cannot be stored, and the reason.
        """
        unsaved = [
            (tr("The latest changes in “{title}” could not be saved.", title=title), failure)
            for title, failure in self._open_chats.retry_unstored()
        ]
        draft = self._drafts.keeper.retry_unstored()
        if draft is not None:
            unsaved.append((tr("Your draft could not be saved."), draft))
        return [f"{sentence} {worded(failure.sentence)}" for sentence, failure in unsaved]
