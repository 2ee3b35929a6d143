"""Timers: work runs after a pause, or not too often."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from app.services.timers import Debounce, Throttle

PAUSE_MS = 150


class Work:
    def __init__(self, took_ms: int = 0) -> None:
        self.runs: list[float] = []
        self._took_ms = took_ms

    def __call__(self) -> None:
        self.runs.append(time.monotonic())
        time.sleep(self._took_ms / 1000)


@pytest.fixture
def parent(qapp: object) -> QObject:
    return QObject()


def test_what_is_asked_for_again_and_again_runs_once_after_a_pause(qtbot: QtBot, parent: QObject) -> None:
    work = Work()
    debounce = Debounce(work, PAUSE_MS, parent)
    for _ in range(5):
        debounce.request()
        last = time.monotonic()
        qtbot.wait(PAUSE_MS // 5)
    assert debounce.waiting
    qtbot.waitUntil(lambda: bool(work.runs))
    assert work.runs[0] >= last + 0.9 * PAUSE_MS / 1000
    qtbot.wait(2 * PAUSE_MS)
    assert len(work.runs) == 1
    assert not debounce.waiting


def test_without_restarts_the_first_request_sets_the_time(qtbot: QtBot, parent: QObject) -> None:
    """Work that is requested without a break runs all the same."""
    work = Work()
    debounce = Debounce(work, PAUSE_MS, parent, restarts=False)

    def asked() -> bool:
        debounce.request()
        return bool(work.runs)

    qtbot.waitUntil(asked)


def test_waiting_work_can_be_done_at_once_or_dropped(qtbot: QtBot, parent: QObject) -> None:
    work = Work()
    debounce = Debounce(work, 3_600_000, parent)
    debounce.flush()
    assert work.runs == []
    debounce.request()
    debounce.flush()
    assert len(work.runs) == 1
    debounce.request()
    debounce.cancel()
    assert not debounce.waiting
    debounce.flush()
    assert len(work.runs) == 1
    debounce.request_in(0)
    qtbot.waitUntil(lambda: len(work.runs) == 2)


def test_a_throttle_runs_at_once_then_after_the_interval_and_loses_nothing(qtbot: QtBot, parent: QObject) -> None:
    work = Work()
    throttle = Throttle(work, PAUSE_MS, parent)
    for _ in range(5):
        throttle.request()
    assert len(work.runs) == 1
    qtbot.waitUntil(lambda: len(work.runs) == 2)
    assert work.runs[1] - work.runs[0] >= 0.9 * PAUSE_MS / 1000
    qtbot.wait(3 * PAUSE_MS)
    assert len(work.runs) == 2


def test_slow_work_gets_a_longer_interval(qtbot: QtBot, parent: QObject) -> None:
    work = Work(took_ms=60)
    throttle = Throttle(work, 1, parent, factor=5)
    throttle.request()
    throttle.request()
    qtbot.waitUntil(lambda: len(work.runs) == 2)
    assert work.runs[1] - work.runs[0] >= 0.06 * 5 * 0.9


def test_what_a_throttle_holds_back_can_be_done_at_once_or_dropped(qtbot: QtBot, parent: QObject) -> None:
    work = Work()
    throttle = Throttle(work, 3_600_000, parent)
    throttle.flush()
    throttle.request()
    throttle.request()
    throttle.flush()
    assert len(work.runs) == 2
    throttle.request()
    throttle.cancel()
    throttle.flush()
    assert len(work.runs) == 2
