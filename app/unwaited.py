"""Work that may wait for the network: each operation in a thread of its own, then success or failure in the window's.

Unlike `app.background.Background`, whose threads end before the window does, these are not waited for: a server that
does not answer must not keep the window open. The operation never touches a widget.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from models.failures import Failure

log = logging.getLogger(__name__)
T = TypeVar("T")


class Unwaited(QObject):
    """`run` any number of operations; after `close` nothing that they end with is heard any more."""

    _ended = Signal(object)  # a function that says how; delivered in the thread this object lives in

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._closed = False
        self._ended.connect(self._hear)

    @property
    def closed(self) -> bool:
        """Operations that take long ask this between their steps."""
        return self._closed

    def run(self, operation: Callable[[], T], success: Callable[[T], None], failure: Callable[[Failure], None]) -> None:
        threading.Thread(target=self._work, args=(operation, success, failure), daemon=True).start()

    def tell(self, work: Callable[[], None]) -> None:
        """From an operation: do `work` in the window's thread."""
        with contextlib.suppress(RuntimeError):  # the window is gone
            if not self._closed:
                self._ended.emit(work)

    def close(self) -> None:
        self._closed = True

    def _work(
        self, operation: Callable[[], T], success: Callable[[T], None], failure: Callable[[Failure], None]
    ) -> None:
        try:
            result = operation()
        except Failure as caught:
            problem = caught  # Python forgets `caught` with its block
            self.tell(lambda: failure(problem))
        except Exception as error:
            log.exception("bug in the background")
            bug = Failure("internal", "Something went wrong; the log has the details.", repr(error))
            self.tell(lambda: failure(bug))
        else:
            self.tell(lambda: success(result))

    def _hear(self, work: Callable[[], None]) -> None:
        if not self._closed:
            work()
