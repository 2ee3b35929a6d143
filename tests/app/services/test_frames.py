"""Work in slices: all of it is done, a little each turn, and none of it for destroyed owners."""

from __future__ import annotations

import time

import shiboken6
from PySide6.QtCore import QObject, QTimer
from pytestqt.qtbot import QtBot

from app.services.frames import BUDGET_SECONDS, Slices


def test_long_work_lets_others_run_between_its_steps(qtbot: QtBot) -> None:
    slices, owner, turns = Slices(), QObject(), [0]
    did: list[int] = []

    def step() -> bool:
        time.sleep(BUDGET_SECONDS)
        did.append(turns[0])
        return len(did) < 5

    beat = QTimer()
    beat.timeout.connect(lambda: turns.__setitem__(0, turns[0] + 1))
    beat.start(0)
    slices.add(owner, step)
    slices.add(owner, step)
    qtbot.waitUntil(lambda: len(did) == 5)
    assert len(set(did)) == 5  # each in a turn of its own
    later = turns[0] + 3
    qtbot.waitUntil(lambda: turns[0] >= later)
    assert len(did) == 5


def test_steps_take_turns_and_end_with_their_owner(qtbot: QtBot) -> None:
    slices, first, second = Slices(), QObject(), QObject()
    did: list[str] = []

    def of(name: str) -> bool:
        did.append(name)
        return len(did) < 6

    slices.add(first, lambda: of("a"))
    slices.add(second, lambda: of("b"))
    qtbot.waitUntil(lambda: len(did) >= 6)
    assert did[:6] == ["a", "b"] * 3
    gone = QObject()
    slices.add(gone, lambda: of("gone"))
    shiboken6.delete(gone)
    last: list[int] = []

    def end() -> bool:
        last.append(1)
        return False

    slices.add(first, end)
    qtbot.waitUntil(lambda: bool(last))
    assert "gone" not in did
