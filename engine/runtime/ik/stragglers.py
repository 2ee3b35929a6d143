"""Waits until no thread of this process lags behind at a barrier that has been opened. Knows no library."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

TASKS = Path("/proc/self/task")
RAN_ON = 1_000_000  # nanoseconds of processor time: a thread that was let go needs some ten to see that it was
PAUSE = 0.002
ELSEWHERE = 0.05  # seconds, where the system does not tell what its threads do


def wait_for_stragglers() -> None:
    """Every other thread has run on, or sleeps again, since this was called.

    A thread that had slept at the barrier was woken before, so one that sleeps now waits for something else; one that
    could run but has no processor yet, because other programs take it, is waited for."""
    if not TASKS.is_dir():
        time.sleep(ELSEWHERE)
        return
    own = threading.get_native_id()
    before = {task: ran(task) for task in os.listdir(TASKS) if task != str(own)}
    while before:
        time.sleep(PAUSE)
        before = {task: at for task, at in before.items() if not sleeps(task) and ran(task) - at < RAN_ON}


def ran(task: str) -> int:
    """Nanoseconds that a thread has run; of one that has ended, more than any."""
    try:
        return int((TASKS / task / "schedstat").read_text().split()[0])
    except FileNotFoundError:
        return 1 << 62


def sleeps(task: str) -> bool:
    try:
        stat = (TASKS / task / "stat").read_text()
    except FileNotFoundError:
        return True
    return stat[stat.rindex(")") + 2] != "R"
