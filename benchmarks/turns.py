"""The real window for benchmarks: opening it, the turns of its event loop, and waiting while the loop runs."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtWidgets import QApplication

from app.folders import Folders, open_folders
from app.foundation import Foundation
from app.wiring import Chickadee
from engine.protocol.events import Statistics

PATIENCE = 300


@dataclass(frozen=True, slots=True)
class Gaps:
    """Milliseconds between two turns of the event loop; `own` is the longest turn's processor time."""

    count: int
    p50: float
    p99: float
    max: float
    own: float


class Heartbeat:
    """A timer that records the time between its beats; `pop_gaps` returns the gaps since the previous call."""

    def __init__(self) -> None:
        self._gaps: list[float] = []
        self._own: list[float] = []
        self._last, self._last_own = time.perf_counter(), time.thread_time()
        self._timer = QTimer(timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._timer.start(1)

    def pop_gaps(self) -> Gaps:
        gaps, own = sorted(self._gaps), max(self._own)
        self._gaps, self._own = [], []
        last = len(gaps) - 1
        return Gaps(len(gaps), gaps[last // 2], gaps[int(last * 0.99)], gaps[last], own)

    def _beat(self) -> None:
        now, own = time.perf_counter(), time.thread_time()
        self._gaps.append((now - self._last) * 1000)
        self._own.append((own - self._last_own) * 1000)
        self._last, self._last_own = now, own


def create_application() -> QApplication:
    """Create Qt's application, offscreen if there is no display; keep the returned object."""
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    application = QApplication(sys.argv[:1])
    application.setStyle("Fusion")
    return application


@contextmanager
def open_window(
    model: Path | None, prepare: Callable[[Folders], object] = lambda _folders: None, **options: Any
) -> Iterator[Chickadee]:
    """Show the window on a new folder that `prepare` may fill first; without a model there is no engine.

    The engine starts with `Chickadee.start`. `options` are the window's own.
    """
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CHICKADEE_CACHE_DIR"] = folder
        folders = open_folders(Path(folder))
        prepare(folders)
        command = None if model else [sys.executable, "-c", ""]
        chickadee = Chickadee(Foundation(folders, model and model.absolute(), command, **options))
        try:
            chickadee.window.show()
            yield chickadee
        finally:
            chickadee.window.close()
            wait(50)


def begin_answer(chickadee: Chickadee) -> None:
    """Open an answer in the open chat, without an engine."""
    chickadee.open_chats.current.send("a question")
    chickadee.open_chats.current.begin_answer("model")


def finish_answer(chickadee: Chickadee) -> None:
    """End the open chat's answer."""
    chickadee.open_chats.current.finish_answer(Statistics(1, 0, 1.0, 1, 1.0, 1, "end", 1, 4096))


def wait(milliseconds: int) -> None:
    loop = QEventLoop()
    QTimer.singleShot(milliseconds, loop.quit)
    loop.exec()


def wait_until(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            raise SystemExit("the engine took too long")
        wait(20)
