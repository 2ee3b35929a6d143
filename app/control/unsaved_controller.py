"""The user's words that could not be stored, on a full disk for one: tried again now and then, and at the end named."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from app.control.draft_controller import DraftController
from app.control.message_controller import MessageController
from app.notice import UNDO_MS
from app.state.open_chats import OpenChats
from app.window import Window
from app.words import tr, worded


class UnsavedController(QObject):
    """Who failed to store something has said so; here it is said when that has come right."""

    def __init__(
        self, window: Window, open_chats: OpenChats, messages: MessageController, drafts: DraftController, again_ms: int
    ) -> None:
        super().__init__(window)
        self._open_chats, self._messages, self._drafts, self._notice = open_chats, messages, drafts, window.notice
        self._some = False
        self._again = QTimer(self)
        self._again.timeout.connect(self.try_again)
        self._again.start(again_ms)

    def try_again(self) -> None:
        was_some, self._some = self._some, bool(self.sentences())
        if was_some and not self._some:
            self._notice.tell(lambda: tr("Everything is saved now."), milliseconds=UNDO_MS)

    def close(self) -> list[str]:
        """What goes with the window, sentence by sentence. The store's writes are done at once by now."""
        self._again.stop()
        return self.sentences()

    def sentences(self) -> list[str]:
        """Try to store all of it once more: what is it that cannot be, and why?"""
        lost = [
            (tr("The latest messages in “{title}” could not be saved.", title=title), failure)
            for title, failure in self._open_chats.unstored()
        ]
        lost += [
            (tr("Your edit in “{title}” could not be saved.", title=title), failure)
            for title, failure in self._messages.unstored()
        ]
        draft = self._drafts.unstored()
        if draft is not None:
            lost.append((tr("Your draft could not be saved."), draft))
        return [f"{sentence} {worded(failure.sentence)}" for sentence, failure in lost]
