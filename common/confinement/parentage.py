"""Linux: a child process that ends with its parent. Source: prctl(2)."""

from __future__ import annotations

import ctypes
import signal
import sys
from collections.abc import Callable

SET_PARENT_DEATH_SIGNAL = 1  # of linux/prctl.h


def end_with_parent() -> Callable[[], None] | None:
    """Return what a new process calls before its program begins, to be killed when this one dies; None elsewhere.

    The library is loaded here, because a new process of one with threads may do little between fork and exec.
    """
    if sys.platform != "linux":
        return None
    prctl = ctypes.CDLL(None).prctl
    arguments = (SET_PARENT_DEATH_SIGNAL, *map(ctypes.c_ulong, (signal.SIGKILL, 0, 0, 0)))
    return lambda: prctl(*arguments)
