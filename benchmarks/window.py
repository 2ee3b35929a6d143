"""The longest time the window does not react: while a model loads, an answer streams, and the answer is read ahead.

    python -m benchmarks.window [--model M] [--tokens N] [--json]

Opens the real window with the real engine on a folder of its own, and asks for an answer with headings, lists, code and
a table. A timer that fires every millisecond notes how late it is: that is how long a click would have waited. "Own" is
the longest processor time of one turn: where it is far below max, other programs kept the window from running.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from PySide6.QtCore import QEventLoop, Qt, QTimer
from PySide6.QtWidgets import QApplication

from app.folders import open_folders
from app.wiring import Chickadee
from models.default import default_model

QUESTION = (
    "Explain insertion sort, merge sort and quick sort. For each: a heading, a nested list of its steps, a Python code "
    "block with comments. End with a table that compares their best, average and worst time."
)
LIMIT_MS = 50
AFTER_MS = 1500  # prose is joined, the chat is read ahead
PATIENCE = 300


@dataclass(frozen=True, slots=True)
class Gaps:
    """Milliseconds between two turns of the event loop; `own` of processor time."""

    count: int
    p50: float
    p99: float
    max: float
    own: float


class Heartbeat:
    """Notes the time between its beats; `take` gives those since the last take."""

    def __init__(self) -> None:
        self._gaps: list[float] = []
        self._own: list[float] = []
        self._last, self._last_own = time.perf_counter(), time.thread_time()
        self._timer = QTimer(timerType=Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._timer.start(1)

    def take(self) -> Gaps:
        gaps, own = sorted(self._gaps), max(self._own)
        self._gaps, self._own = [], []
        last = len(gaps) - 1
        return Gaps(len(gaps), gaps[last // 2], gaps[int(last * 0.99)], gaps[last], own)

    def _beat(self) -> None:
        now, own = time.perf_counter(), time.thread_time()
        self._gaps.append((now - self._last) * 1000)
        self._own.append((own - self._last_own) * 1000)
        self._last, self._last_own = now, own


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.window", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, default=default_model())
    parser.add_argument("--tokens", type=int, default=500, help="length of the answer at most")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ["QT_QPA_PLATFORM"] = "offscreen"
    application = QApplication(sys.argv[:1])
    application.setStyle("Fusion")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CHICKADEE_CACHE_DIR"] = folder
        chickadee = Chickadee(open_folders(Path(folder)), options.model.absolute(), max_tokens=options.tokens)
        try:
            chickadee.window.show()
            gaps, characters = measure(chickadee)
        finally:
            chickadee.window.close()
    report(options, gaps, characters)


def measure(chickadee: Chickadee) -> tuple[dict[str, Gaps], int]:
    assistant, conversation = chickadee.assistant, chickadee.shelf.current
    wait(200)  # the first frame is not what is measured here
    heartbeat = Heartbeat()
    chickadee.start()
    wait_until(lambda: assistant.standing.phase == "ready")
    gaps = {"loading": heartbeat.take()}
    chickadee.send(QUESTION)
    wait_until(lambda: not conversation.busy)
    gaps["streaming"] = heartbeat.take()
    wait(AFTER_MS)
    gaps["afterwards"] = heartbeat.take()
    return gaps, len(conversation.messages[-1].content)


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


def report(options: argparse.Namespace, gaps: dict[str, Gaps], characters: int) -> None:
    if options.json:
        print(json.dumps({name: asdict(row) for name, row in gaps.items()}))
        return
    print(f"{options.model.name}, an answer of {characters:,} characters")
    print("milliseconds between turns of the event loop\n")
    print(f"{'':12}{'turns':>8}{'p50':>8}{'p99':>8}{'max':>8}{'own':>8}{'limit':>8}")
    for name, row in gaps.items():
        print(f"{name:12}{row.count:8}{row.p50:8.1f}{row.p99:8.1f}{row.max:8.1f}{row.own:8.1f}{LIMIT_MS:8}")


if __name__ == "__main__":
    main()
