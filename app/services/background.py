"""Work that takes longer than a frame: each operation in a thread of its own, then success or failure in the window's.

An operation touches no widget and no state of the window. An exception that is no Failure is a bug: it is logged, and
told as one.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal

from app.bugs import BUG
from common.failures import Failure

log = logging.getLogger(__name__)
T = TypeVar("T")


def ignore(_: object) -> None:
    """For what nobody waits for."""


class Background(QObject):
    """`run` any number of operations. After `close` nothing that they end with is heard any more."""

    _ended = Signal(object)  # a function that says how; delivered in the thread this object lives in

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._threads: set[threading.Thread] = set()
        self._closed = False
        self._ended.connect(self._hear)

    @property
    def running(self) -> bool:
        """Is anything under way whose end was not told yet?"""
        return bool(self._threads)

    @property
    def closed(self) -> bool:
        """Operations that take long ask this between their steps."""
        return self._closed

    def run(
        self,
        operation: Callable[[], T],
        success: Callable[[T], object],
        failure: Callable[[Failure], object] = ignore,
    ) -> None:
        thread = threading.Thread(target=self._work, args=(operation, success, failure), daemon=True)
        self._threads.add(thread)
        thread.start()

    def tell(self, work: Callable[[], object]) -> None:
        """From an operation: do `work` in the window's thread."""
        with contextlib.suppress(RuntimeError):  # the window is gone
            if not self._closed:
                self._ended.emit(work)

    def close(self) -> None:
        """Does not wait: a server that does not answer must not keep the window open."""
        self._closed = True

    def wait(self) -> None:
        """Close, and return when the last operation has ended: what they use may go then."""
        self.close()
        for thread in tuple(self._threads):
            thread.join()

    def _work(
        self, operation: Callable[[], T], success: Callable[[T], object], failure: Callable[[Failure], object]
    ) -> None:
        end: Callable[[], object]
        try:
            result = operation()
        except Failure as caught:
            end = _with(failure, caught)
        except Exception as error:
            log.exception("bug in the background")
            end = _with(failure, Failure(BUG, repr(error)))
        else:
            end = _with(success, result)
        thread = threading.current_thread()

        def ended() -> None:
            self._threads.discard(thread)
            end()

        self.tell(ended)

    def _hear(self, work: Callable[[], object]) -> None:
        if not self._closed:
            work()


def _with(function: Callable[[Any], object], value: object) -> Callable[[], object]:
    return lambda: function(value)
