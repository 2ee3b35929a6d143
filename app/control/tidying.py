"""Has the store's upkeep done in the background, a while after the last change that may ask for it."""

from __future__ import annotations

import logging
import math
import time
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from app.services.background import Background
from app.store.upkeep import keep_up
from common.failures import Failure

log = logging.getLogger(__name__)
CLOSING_SECONDS = 2.0  # nobody sees a window that is closed wait so long


class Tidying(QObject):
    """`soon` asks for it, `now` for what is to be out of the file at once. What `close` cuts off goes on next time.

    `ended` carries the Failure that it waits for, or None."""

    ended = Signal(object)

    def __init__(self, store: Path, parent: QObject, pause_ms: int, again_ms: int) -> None:
        super().__init__(parent)
        self._store = store
        self._pause_ms, self._again_ms = pause_ms, again_ms
        self._background = Background(self)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.timeout.connect(self._begin)
        self._until = math.inf

    def soon(self) -> None:
        self._pause.start(self._pause_ms)

    def now(self) -> None:
        self._pause.start(0)

    def close(self) -> None:
        if self._pause.isActive() and not self._pause.interval():  # it was asked for just now
            self._begin()
        self._pause.stop()
        self._until = time.monotonic() + CLOSING_SECONDS
        self._background.wait()

    def _begin(self) -> None:
        if self._background.running:
            self.soon()
        else:
            self._background.run(
                lambda: keep_up(self._store, self._wanted), lambda _: self.ended.emit(None), self._put_off
            )

    def _wanted(self) -> bool:
        return time.monotonic() < self._until

    def _put_off(self, failure: Failure) -> None:
        """Nobody waits for it, but who deletes all chats; others hear with their next write what stands in the way."""
        log.warning("the store's upkeep waits: %s (%s)", failure, failure.detail)
        self._pause.start(self._again_ms)
        self.ended.emit(failure)
