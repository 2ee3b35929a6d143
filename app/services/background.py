"""Work that takes longer than a frame: each operation runs in its own thread, its callback in the window's thread.

An operation must not touch widgets or the window's state. An exception that is not a Failure is a bug: it is logged and
reported as one.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, Signal

from app.bugs import BUG
from common.failures import Failure

log = logging.getLogger(__name__)
T = TypeVar("T")


def ignore(_: object) -> None:
    """Do nothing: the default callback for outcomes that nobody waits for."""


class Background(QObject):
    """A group of background operations; after `close` none of their callbacks is called any more."""

    _ended = Signal(object)  # a callback, delivered in the thread of this object

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._threads: set[threading.Thread] = set()
        self._closed = False
        self._ended.connect(self._call)

    @property
    def running(self) -> bool:
        """Whether an operation is under way whose callback was not called yet."""
        return bool(self._threads)

    @property
    def closed(self) -> bool:
        """Whether the group was closed; long operations check this between their steps."""
        return self._closed

    def run(
        self,
        operation: Callable[[], T],
        success: Callable[[T], object],
        failure: Callable[[Failure], object] = ignore,
    ) -> None:
        """Run `operation` in a thread; then call `success` with its result, or `failure`, in the window's thread."""
        thread = threading.Thread(target=self._work, args=(operation, success, failure), daemon=True)
        self._threads.add(thread)
        thread.start()

    def call_in_window(self, work: Callable[[], object]) -> None:
        """Call `work` in the window's thread; operations use this while they run."""
        with contextlib.suppress(RuntimeError):  # the window was destroyed
            if not self._closed:
                self._ended.emit(work)

    def close(self) -> None:
        """Drop all later callbacks without waiting: a server that does not answer must not keep the window open."""
        self._closed = True

    def wait(self) -> None:
        """Close the group and wait until the last operation has ended, so that its resources can be released."""
        self.close()
        for thread in tuple(self._threads):
            thread.join()

    def _work(
        self, operation: Callable[[], T], success: Callable[[T], object], failure: Callable[[Failure], object]
    ) -> None:
        end: Callable[[], object]
        try:
            end = partial(success, operation())
        except Failure as caught:
            end = partial(failure, caught)
        except Exception as error:
            log.exception("bug in the background")
            end = partial(failure, Failure(BUG, repr(error)))
        thread = threading.current_thread()

        def ended() -> None:
            self._threads.discard(thread)
            end()

        self.call_in_window(ended)

    def _call(self, work: Callable[[], object]) -> None:
        if not self._closed:
            work()
