"""Where errors of our own go: to the log and to one sentence for the user, and no further. Knows no Qt.

`sys.excepthook` is the one way there: Qt takes it for what a slot raises, `report` for what is caught because something
must be brought to its end all the same, and the tests fail by it.
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
    """Tell of an error that nothing else will tell of."""
    sys.excepthook(type(error), error, error.__traceback__)


def log_bugs(tell: Callable[[], object]) -> None:
    """From now on what nobody catches is logged too, and `tell` is called in the thread where it happened."""
    before, telling = sys.excepthook, False

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        nonlocal telling
        before(kind, error, trace)
        if not issubclass(kind, Exception):  # Ctrl+C
            return
        log.error("bug", exc_info=(kind, error, trace))
        if telling:  # the telling has a bug itself
            return
        telling = True
        try:
            tell()
        finally:
            telling = False

    sys.excepthook = hook
