"""Runs the rest of set-up beside an open window, at the lowest priority, and ends when the window ends.

Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading

from compiled_wheel import jobs

IDLE_PRIORITY_CLASS = 0x40
PIECE = 1024  # bytes per read; the window writes none


def run_in_background(memory: int) -> None:
    """Lower the priority of this process and its children, and end them when the input ends.

    `memory`: the most bytes that one compiler process takes. All output goes to stdout, so that its order is kept.
    """
    os.dup2(1, 2)
    _give_way()
    # Leave one core free, because the engine computes answers on all of them.
    os.environ.setdefault("CMAKE_BUILD_PARALLEL_LEVEL", str(max(1, jobs(memory) - 1)))
    _end_with_input()


def _give_way() -> None:
    if sys.platform == "win32":
        import ctypes

        kernel = ctypes.windll.kernel32
        kernel.SetPriorityClass(kernel.GetCurrentProcess(), IDLE_PRIORITY_CLASS)
        return
    os.nice(19)
    if sys.platform == "linux":  # runs only when no other process wants the core; the disk follows this priority
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _end_with_input() -> None:
    """Interrupt all processes of set-up when the input ends, which happens when the window ends.

    The interrupt is that of Ctrl-C, so that ninja and pip clean up unfinished work.
    """
    if sys.platform != "win32":
        os.setpgid(0, 0)  # no new session: Linux would give each session an equal share of the processor
        signal.signal(signal.SIGINT, signal.default_int_handler)  # even if the window was started with SIGINT ignored
    threading.Thread(target=_watch_input, daemon=True).start()


def _watch_input() -> None:
    while os.read(0, PIECE):
        pass
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/F", "/T", "/PID", str(os.getpid())], check=False)
    else:
        os.killpg(0, signal.SIGINT)
