"""Work that takes longer than a frame, in a thread: an operation, then what to do with its result in the window's."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal

log = logging.getLogger(__name__)
T = TypeVar("T")


class _Done(QObject):
    """Brings a result from the pool's thread into the window's, where this object lives."""

    ready = Signal(object, object)

    def __init__(self, take: Callable[[Exception | None, object], object], parent: QObject) -> None:
        super().__init__(parent)
        self._take = take
        self.ready.connect(self.finish)

    def finish(self, error: Exception | None, result: object) -> None:
        self.deleteLater()
        self._take(error, result)


class _Task(QRunnable):
    def __init__(self, operation: Callable[[], object], done: _Done) -> None:
        super().__init__()
        self._operation, self._done = operation, done

    def run(self) -> None:
        try:
            result: object = self._operation()
        except Exception as error:
            log.exception("a task in the background failed")
            self._emit(error, None)
        else:
            self._emit(None, result)

    def _emit(self, error: Exception | None, result: object) -> None:
        try:
            self._done.ready.emit(error, result)
        except RuntimeError:  # the window is gone
            log.info("nobody waits for a task's result any more")


class Background(QObject):
    """`run` an operation that touches no widget and no state; then `success` with its result, or `failure`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)

    def run(
        self,
        operation: Callable[[], T],
        success: Callable[[T], object],
        failure: Callable[[Exception], object] = lambda _error: None,
    ) -> None:
        def finished(error: Exception | None, result: object) -> None:
            failure(error) if error else success(result)  # type: ignore[arg-type]  # it is the operation's

        self._pool.start(_Task(operation, _Done(finished, self)))

    def wait(self) -> None:
        """Until nothing runs any more: results that are still to come are not delivered."""
        self._pool.waitForDone()
