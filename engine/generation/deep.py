"""Work that calls itself deeply, in C too: it runs in a thread with a large stack, for a limited time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from common.failures import Failure
from engine.stop import Stopped

T = TypeVar("T")
STACK_BYTES = 128 << 20  # of address space; the longest chains of references and rules that are accepted need 45 MB
LONGEST_SECONDS = 5.0
POLL_SECONDS = 0.05


class DeepThread:
    """A thread for each piece of work.

    A piece that took too long goes on, because nothing can end a thread. Until it is done no other one begins.
    """

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None

    def run(self, work: Callable[[], T], stopped: Callable[[], bool]) -> T:
        """Return the result of `work`, or raise what it raises.

        Raises Failure if it takes too long, and Stopped when `stopped` returns True.
        """
        if self._thread and self._thread.is_alive():
            raise Failure("busy.constraint")
        result: Future[T] = Future()

        def settle() -> None:
            try:
                result.set_result(work())
            except Exception as error:  # noqa: BLE001 - it is raised where the result is read
                result.set_exception(error)

        self._thread = start_deep(settle)
        end = time.monotonic() + LONGEST_SECONDS
        while not result.done() and time.monotonic() < end:
            if stopped():
                raise Stopped
            self._thread.join(POLL_SECONDS)
        if not result.done():
            raise Failure("bad_constraint.slow", seconds=LONGEST_SECONDS)
        return result.result()


def start_deep(work: Callable[[], None]) -> threading.Thread:
    """Start a thread with a large stack. Raises Failure if there is no memory for it."""
    thread = threading.Thread(target=work, name="deep", daemon=True)
    usual = threading.stack_size(STACK_BYTES)
    try:
        thread.start()
    except RuntimeError as error:
        raise Failure("out_of_memory.computer") from error
    finally:
        threading.stack_size(usual)
    return thread
