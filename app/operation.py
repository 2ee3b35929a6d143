"""Work off the window's thread: an operation, and what is done in the window with what it gave or why it failed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.words import tr
from models.failures import Failure

log = logging.getLogger(__name__)


class Operation(QObject):
    """Runs one `work` at a time in a thread. `succeeded` and `failed` are called in the window's thread.

    `work` must touch no widget. An exception that is no Failure is a bug: it is logged and told as one.
    """

    _ended = Signal(object, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._thread: threading.Thread | None = None
        self._succeeded: Callable[[Any], object] = _nothing
        self._failed: Callable[[Failure], object] = _nothing
        self._ended.connect(self._deliver)

    @property
    def running(self) -> bool:
        return self._thread is not None

    def start(
        self,
        work: Callable[[], Any],
        succeeded: Callable[[Any], object],
        failed: Callable[[Failure], object],
    ) -> None:
        assert self._thread is None
        self._succeeded, self._failed = succeeded, failed
        self._thread = threading.Thread(target=self._run, args=(work,), name="operation", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Until the thread has ended; neither `succeeded` nor `failed` is called any more."""
        self._succeeded = self._failed = _nothing
        if self._thread is not None:
            self._thread.join()

    def _run(self, work: Callable[[], Any]) -> None:
        result, failure = None, None
        try:
            result = work()
        except Failure as caught:
            failure = caught
        except Exception as error:
            log.exception("an operation failed")
            failure = Failure("bug", tr("That did not work because of a fault in Chickadee."), repr(error))
        self._ended.emit(result, failure)

    @Slot(object, object)
    def _deliver(self, result: Any, failure: Failure | None) -> None:
        self._thread = None
        if failure is None:
            self._succeeded(result)
        else:
            self._failed(failure)


def _nothing(_result: Any) -> None:
    """For who no longer listens."""
