"""The rest of set-up beside an open window: in nobody's way, and no longer than the window is open.

Standard library only."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

from compiled import jobs

IDLE_PRIORITY_CLASS = 0x40
PIECE = 1024  # bytes; nobody writes any


def stay_in_the_background(memory: int) -> None:
    """Of this process and of all that it starts. `memory`: bytes that a compiler takes at most.

    What they print goes to stdout, in one order."""
    os.dup2(1, 2)
    _give_way()
    # One core stays free: answers are computed on all of them.
    os.environ.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(max(1, jobs(memory) - 1)))
    _end_with_input()


def _give_way() -> None:
    if sys.platform == "win32":
        import ctypes

        kernel = ctypes.windll.kernel32
        kernel.SetPriorityClass(kernel.GetCurrentProcess(), IDLE_PRIORITY_CLASS)
        return
    os.nice(19)
    if sys.platform == "linux":  # waits for every process that wants the core, and so for the disk
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _end_with_input() -> None:
    """The input ends with the window, however that ends; then all of them are stopped as by Ctrl-C, so that ninja and
    pip clear up what they were at."""
    if sys.platform != "win32":
        os.setpgid(0, 0)  # not a session of its own: Linux would share the processor out among sessions
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the window was started without one
    threading.Thread(target=_watch_input, daemon=True).start()


def _watch_input() -> None:
    while os.read(0, PIECE):
        pass
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(os.getpid())], check=False)
    else:
        os.killpg(0, signal.SIGINT)
