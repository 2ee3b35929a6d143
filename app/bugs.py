"""Reporting of our own errors: they go to the log and become one sentence for the user. Knows no Qt.

`sys.excepthook` is the only way to both. Qt calls the hook for an exception that a slot raises; `report` calls it for
an exception that is caught because some work must be completed all the same. In the tests an exception that reaches the
hook fails the test.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from types import TracebackType

from common.sentences import Sentence

log = logging.getLogger(__name__)
BUG = Sentence.of("internal.window")


def report(error: BaseException) -> None:
    """Pass a caught exception to `sys.excepthook`, because no other code will report it."""
    sys.excepthook(type(error), error, error.__traceback__)


def log_bugs(notify: Callable[[], object]) -> None:
    """Log uncaught exceptions from now on, and call `notify` in the thread where the exception happened."""
    previous_hook, notifying = sys.excepthook, False

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        nonlocal notifying
        previous_hook(kind, error, trace)
        if not issubclass(kind, Exception):  # Ctrl+C
            return
        log.error("bug", exc_info=(kind, error, trace))
        if notifying:  # the notification itself has a bug
            return
        notifying = True
        try:
            notify()
        finally:
            notifying = False

    sys.excepthook = hook
