"""Timers: work runs after a pause, or not too often."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QObject, QTimer
from pytestqt.qtbot import QtBot

from app.services.timers import Debounce, Throttle

NEVER = 3_600_000  # ms, in which no test ends


class Work:
    def __init__(self, took_ms: int = 0) -> None:
        self.runs = 0
        self._took_ms = took_ms

    def __call__(self) -> None:
        self.runs += 1
        time.sleep(self._took_ms / 1000)


@pytest.fixture
def parent(qapp: object) -> QObject:
    return QObject()


def timer_of(timed: QObject) -> QTimer:
    """Return Qt's timer, which says whether it runs and for how long."""
    timer = timed.findChild(QTimer)
    assert isinstance(timer, QTimer)
    return timer


def test_what_is_asked_for_again_and_again_runs_once_after_a_pause(qtbot: QtBot, parent: QObject) -> None:
    work = Work()
    debounce = Debounce(work, 1, parent)
    before = debounce.waiting
    for _ in range(5):
        debounce.request()
    assert (before, debounce.waiting, work.runs, timer_of(debounce).interval()) == (False, True, 0, 1)
    qtbot.waitUntil(lambda: work.runs > 0)
    assert (work.runs, debounce.waiting) == (1, False)


@pytest.mark.parametrize("restarts", [True, False])
def test_a_later_request_restarts_the_pause_or_leaves_it(qtbot: QtBot, parent: QObject, restarts: bool) -> None:
    """Without restarts, work that is requested without a break runs all the same."""
    work = Work()
    debounce = Debounce(work, NEVER, parent, restarts)
    debounce.request_in(0)
    debounce.request()
    assert timer_of(debounce).interval() == (NEVER if restarts else 0)
    if not restarts:
        qtbot.waitUntil(lambda: work.runs == 1)


def test_waiting_work_can_be_done_at_once_or_dropped(qtbot: QtBot, parent: QObject) -> None:
    work = Work()
    debounce = Debounce(work, NEVER, parent)
    debounce.flush()
    assert work.runs == 0
    debounce.request()
    debounce.flush()
    assert (work.runs, debounce.waiting) == (1, False)
    debounce.request()
    debounce.cancel()
    assert not debounce.waiting
    debounce.flush()
    assert work.runs == 1
    debounce.request_in(0)
    qtbot.waitUntil(lambda: work.runs == 2)


def test_a_throttle_runs_at_once_then_after_the_interval_and_loses_nothing(qtbot: QtBot, parent: QObject) -> None:
    work = Work()
    throttle = Throttle(work, 1, parent, factor=0)
    for _ in range(5):
        throttle.request()
    assert (work.runs, timer_of(throttle).interval()) == (1, 1)
    qtbot.waitUntil(lambda: work.runs == 2)
    qtbot.waitUntil(lambda: not timer_of(throttle).isActive())
    assert work.runs == 2


def test_slow_work_gets_a_longer_interval(parent: QObject) -> None:
    throttle = Throttle(Work(took_ms=20), 1, parent, factor=5)
    throttle.request()
    assert timer_of(throttle).interval() >= 20 * 5


def test_what_a_throttle_holds_back_can_be_done_at_once_or_dropped(parent: QObject) -> None:
    work = Work()
    throttle = Throttle(work, NEVER, parent)
    throttle.flush()
    throttle.request()
    throttle.request()
    throttle.flush()
    assert work.runs == 2
    throttle.request()
    throttle.cancel()
    throttle.flush()
    assert (work.runs, timer_of(throttle).isActive()) == (2, False)
