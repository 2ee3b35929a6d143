"""Urgent work between two steps of an answer: the window's own question comes before an answer to another program.

The answer's objects wait meanwhile (sampler, grammar, readers of thoughts and calls). Only the KV cache is used by
both: its content is set aside and put back bit by bit, so that the answer is the one that it would have been.
"""

from __future__ import annotations

import time
from collections.abc import Callable


def never() -> bool:
    """Return False: nothing is urgent."""
    return False


class UrgentWork:
    """Work that may come between two steps. `is_due`: whether some waits; `work` does it and leaves the same session.

    `seconds`: time of all of it, which does not belong to the answer.
    """

    def __init__(self, is_due: Callable[[], bool] = never, work: Callable[[], None] = lambda: None) -> None:
        self.is_due = is_due
        self.seconds = 0.0
        self._work = work

    def do(self) -> None:
        """Do what is due. Raises what `work` raises: Stopped if the answer was stopped meanwhile."""
        started = time.perf_counter()
        try:
            self._work()
        finally:
            self.seconds += time.perf_counter() - started
