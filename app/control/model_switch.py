"""A change of the model while other chats are being answered: it waits for them, unless the user stops them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.notice import NoticeArea, NoticeRow
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.words import UiText, current_text, tr


class ModelSwitch(QObject):
    """Guard of the answers that the user does not see: loading another model would end them.

    The answer of the shown chat is not guarded: there the user sees what the change stops. A notice shows the change
    that waits; closing the notice drops it, and so does another change.
    """

    def __init__(self, notice: NoticeArea, open_chats: OpenChats, engine: EngineQueue, parent: QObject) -> None:
        super().__init__(parent)
        self._notice, self._open_chats, self._engine = notice, open_chats, engine
        self._waiting: tuple[NoticeRow, Callable[[], object]] | None = None
        engine.active_changed.connect(self._look)
        engine.state.phase_changed.connect(lambda _state: self._look())

    def do(self, change: Callable[[], object], words: UiText) -> None:
        """Make the change, after the answers of other chats; `words` say what it will do then."""
        self._drop()
        others = self._engine.others(self._open_chats.current)
        if not others:
            change()
            return
        title = others[0].chat.title

        def sentence() -> str:
            being = tr("“{chat}” is being answered.", chat=title)
            return f"{being} {current_text(words)} {tr('Close this line to cancel that.')}"

        # A problem stays until it is solved: a later note must not replace what waits.
        row = self._notice.post(sentence, lambda: tr("Stop the answer"), change, kind="problem")
        row.ended.connect(self._forget)
        self._waiting = row, change

    def _look(self) -> None:
        """Make the change that waits, once nobody is answered any more."""
        if self._waiting is not None and not self._engine.others():
            change = self._waiting[1]
            self._drop()
            change()

    def _drop(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._notice.dismiss(waiting[0])

    def _forget(self) -> None:
        self._waiting = None
