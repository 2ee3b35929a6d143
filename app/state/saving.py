"""Writing of one chat to the store; what cannot be written now is written later. Knows no Qt."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from app.store.chat import ChatMessage
from app.store.chat_store import ChatRow, ChatStore
from app.words import UiText, mark, tr, worded
from common.failures import Failure

GOES_ON = mark("You can go on chatting, but what is not saved is lost when you close the window.")
log = logging.getLogger(__name__)


class ChatSaver:
    """Writer of one chat; what cannot be stored is kept and written again with the next write.

    `row` returns the chat as it is now, or None while nothing of it is to be stored. `failed` is called once with the
    reason in words, until a write succeeds again. `stored` is whether the chat is in the store or about to be,
    `unsaved` has the messages that are not, and `failure` is why.
    """

    def __init__(
        self,
        store: ChatStore,
        row: Callable[[], ChatRow | None],
        failed: Callable[[UiText], object],
        stored: bool,
    ) -> None:
        self.stored = stored
        self.unsaved: dict[str, ChatMessage] = {}
        self.failure: Failure | None = None
        self._store, self._row, self._failed = store, row, failed
        self._writing = False
        was = row()
        self._stored_edits = was.edits if was is not None else ()

    def save(self, messages: Iterable[ChatMessage] = ()) -> None:
        """Store the chat's row, these messages, and those that could not be stored before."""
        self.unsaved.update((message.id, message) for message in messages)
        if not self._writing:
            self._write()

    def retry(self) -> Failure | None:
        """Try once more to store what could not be stored; return why it still cannot, or None."""
        if self.failure is not None:
            self.save()
        return self.failure

    def _write(self) -> None:
        row = self._row()
        if row is None:
            self.unsaved.clear()
            self.failure, self._stored_edits = None, ()
            return
        written, was_stored = list(self.unsaved.values()), self.stored
        self._writing = self.stored = True

        def done(failure: Failure | None) -> None:
            self._writing = False
            if failure is not None:
                self.stored = was_stored
                self._keep_failure(failure)
                return
            self.failure, self._stored_edits = None, row.edits
            for message in written:
                if self.unsaved.get(message.id) is message:  # not a newer state of the message
                    del self.unsaved[message.id]
            if self.unsaved or self._row() != row:
                self._write()

        self._store.save_in_turn(row, written, done, edits=row.edits != self._stored_edits)

    def _keep_failure(self, failure: Failure) -> None:
        """Remember why a write failed; report it unless the write before failed too."""
        log.warning("not stored: %s", failure.log_text)
        before, self.failure = self.failure, failure
        if before is None and self._row() is not None:
            self._failed(lambda: f"{worded(failure.sentence)} {tr(GOES_ON)}")
