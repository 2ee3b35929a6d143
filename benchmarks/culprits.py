"""Causes of long turns of the window's event loop, for `benchmarks.window --why`.

Two sources: the window's own stack, sampled by a signal every 2 ms of processor time while a turn is long, and Python's
garbage collector. Both cost time of their own, so that benchmarks.window uses them only with --why, and only where the
signal exists: not on Windows. (Two closer ways do not work: PySide crashes if QApplication.notify names each event, and
Python 3.11 if another thread inspects its stack.)
"""

from __future__ import annotations

import gc
import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

SAMPLE_SECONDS = 0.002
LONG_MS = 8.0  # longer turns are reported
MOST_FRAMES = 4  # of a stack, innermost first
MOST_REPORTED = 30
PROJECT = Path(__file__).resolve().parents[1]


@dataclass(slots=True)
class Turn:
    """One turn of the event loop, in milliseconds; the garbage collector took `collected` of them."""

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
    """A recorder of long turns and their causes, made in the window's thread.

    Call `begin` before and `end` after each turn.
    """

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self._turn = Turn("")
        self._since, self._since_own = time.perf_counter(), time.thread_time()
        self._collecting = 0.0
        gc.callbacks.append(self._on_garbage_collection)
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)

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
        own = sorted(self.turns, key=lambda turn: turn.own)[: -MOST_REPORTED - 1 : -1]
        wall = [
            turn
            for turn in sorted(self.turns, key=lambda turn: turn.wall)[: -MOST_REPORTED - 1 : -1]
            if turn not in own
        ]
        for turn in own + wall:
            print(turn)

    def _on_garbage_collection(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._collecting = time.perf_counter()
        else:
            took = (time.perf_counter() - self._collecting) * 1000
            self._turn.collected += took
            self._turn.stacks[f"garbage collector, generation {info['generation']}"] += round(took)

    def _sample(self, _signal: int, frame: FrameType | None) -> None:
        if (time.perf_counter() - self._since) * 1000 > LONG_MS / 2:
            self._turn.stacks[_describe_stack(frame)] += 1


def _describe_stack(frame: FrameType | None) -> str:
    """Return the innermost frames that run our own code, innermost first."""
    names: list[str] = []
    while frame is not None and len(names) < MOST_FRAMES:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(PROJECT) and ".venv" not in path.parts:
            names.append(f"{path.stem}.{frame.f_code.co_qualname.replace('<locals>.', '')}:{frame.f_lineno}")
        frame = frame.f_back
    return " < ".join(names) or "Qt itself"
