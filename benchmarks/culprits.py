"""What the longest turns of the window's event loop were busy with.

Two witnesses: the window's own stack, told of by a signal for every few milliseconds of processor time while a turn is
long, and Python's garbage collector. Both cost time of their own, so that benchmarks.window asks for them only with
--why, and where there is such a signal: not on Windows. (Neither of the closer ways works: PySide does not survive
naming each event in QApplication.notify, nor Python 3.11 having its stack looked at by another thread.)
"""

from __future__ import annotations

import gc
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

LOOK_SECONDS = 0.002
LONG_MS = 8.0  # a turn worth a word
FRAMES = 4  # of a stack, innermost first
TOLD = 30
HERE = Path(__file__).resolve().parents[1]


@dataclass(slots=True)
class Turn:
    """Milliseconds; `collected` of them by the garbage collector."""

    what: str
    wall: float = 0.0
    own: float = 0.0
    collected: float = 0.0
    stacks: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        collected = f", garbage {self.collected:.1f}" if self.collected else ""
        lines = [f"{self.what}: {self.wall:.1f} ms, own {self.own:.1f}{collected}"]
        lines += [f"    {count} × {stack}" for stack, count in self.stacks.most_common(3)]
        return "\n".join(lines)


class Culprits:
    """Made in the window's thread. `begin` and `end` are called around each turn, or by who notes turns anyway."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._turn = Turn("")
        self._since, self._since_own = time.perf_counter(), time.thread_time()
        self._collecting = 0.0
        gc.callbacks.append(self._collects)
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, LOOK_SECONDS, LOOK_SECONDS)

    def begin(self) -> None:
        self._turn = Turn("")
        self._since, self._since_own = time.perf_counter(), time.thread_time()

    def end(self, what: str) -> None:
        turn = self._turn
        turn.what = what
        turn.wall = (time.perf_counter() - self._since) * 1000
        turn.own = (time.thread_time() - self._since_own) * 1000
        if turn.wall > LONG_MS:
            self.turns.append(turn)

    def report(self) -> None:
        print(f"\nthe longest turns over {LONG_MS:.0f} ms, by processor time and by the clock\n")
        own = sorted(self.turns, key=lambda turn: turn.own)[: -TOLD - 1 : -1]
        wall = [turn for turn in sorted(self.turns, key=lambda turn: turn.wall)[: -TOLD - 1 : -1] if turn not in own]
        for turn in own + wall:
            print(turn)

    def _collects(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._collecting = time.perf_counter()
        else:
            took = (time.perf_counter() - self._collecting) * 1000
            self._turn.collected += took
            self._turn.stacks[f"garbage collector, generation {info['generation']}"] += round(took)

    def _look(self, _signal: int, frame: FrameType | None) -> None:
        if (time.perf_counter() - self._since) * 1000 > LONG_MS / 2:
            self._turn.stacks[_told(frame)] += 1


def _told(frame: FrameType | None) -> str:
    """The innermost of our own frames, innermost first."""
    names: list[str] = []
    while frame is not None and len(names) < FRAMES:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(HERE) and ".venv" not in path.parts:
            names.append(f"{path.stem}.{frame.f_code.co_qualname.replace('<locals>.', '')}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(names) or "Qt itself"
