"""A change of the model while other chats are being answered: it waits for them, unless the user stops them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject

from app.notice import NoticeArea
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.words import UiText, current_text, mark, tr

TOPIC = "model switch"
ANSWERED, WAITS = mark("“{chat}” is being answered."), mark("“{chat}” waits for its answer.")


class ModelSwitch(QObject):
    """Guard of the answers that the user does not see: loading another model would end them.

    The answer of the shown chat is not guarded: there the user sees what the change stops. A notice shows the change
    that waits; closing the notice drops it, and so does another change.
    """

    def __init__(self, notice: NoticeArea, open_chats: OpenChats, engine: EngineQueue, parent: QObject) -> None:
        super().__init__(parent)
        self._notice, self._open_chats, self._engine = notice, open_chats, engine
        self._waiting: Callable[[], object] | None = None
        engine.active_changed.connect(self._look)
        engine.state.phase_changed.connect(lambda _state: self._look())

    def do(self, change: Callable[[], object], words: UiText) -> None:
        """Make the change, after the answers of other chats; `words` say what it will do then."""
        self._drop()
        others = self._engine.others(self._open_chats.current)
        if not others:
            change()
            return
        title, waits = others[0].chat.title, others[0].phase == "waiting"

        def sentence() -> str:
            busy = tr(WAITS if waits else ANSWERED, chat=title)
            return f"{busy} {current_text(words)} {tr('Close this notice to cancel.')}"

        self._waiting = change
        self._notice.post(sentence, lambda: tr("Stop the answer"), self._make, topic=TOPIC).ended.connect(self._drop)

    def _look(self) -> None:
        """Make the change that waits, once nobody is answered any more."""
        if self._waiting is not None and not self._engine.others():
            self._make()

    def _make(self) -> None:
        change = self._waiting
        self._drop()
        if change is not None:
            change()

    def _drop(self) -> None:
        self._waiting = None
        self._notice.solve(TOPIC)
