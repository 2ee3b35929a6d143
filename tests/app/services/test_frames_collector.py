"""The garbage collector: nothing is collected in the middle of work, and cycles of objects are still freed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.services.frames import DUE, MUST, QUIET_SECONDS, Collector


class Ring:
    """A cycle of objects that only the garbage collector can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def worked() -> list[float]:
    """Return the processor seconds of the window's thread, which the test sets."""
    return [0.0]


@pytest.fixture
def collector(qapp: QApplication, worked: list[float]) -> Iterator[Collector]:
    gc.collect()
    collector = Collector(clock=lambda: worked[0])
    collector.start()
    yield collector
    collector.close()


def old_ring(collections: int) -> weakref.ref[Ring]:
    """Build garbage that collections of young objects no longer find."""
    ring = Ring()
    gc.collect(1)
    reference = weakref.ref(ring)
    del ring
    for _ in range(collections):
        gc.collect(1)
    return reference


def test_old_garbage_goes_in_a_quiet_second_and_only_then(collector: Collector, worked: list[float]) -> None:
    ring = old_ring(DUE)
    worked[0] += 2 * QUIET_SECONDS
    collector.collect_if_due()
    assert ring() is not None  # the window has other things to do
    collector.collect_if_due()
    assert ring() is None


def test_it_does_not_look_where_little_is_new(collector: Collector) -> None:
    ring = old_ring(1)
    collector.collect_if_due()
    assert ring() is not None


def test_memory_does_not_grow_while_no_second_is_quiet(collector: Collector, worked: list[float]) -> None:
    ring = old_ring(MUST)
    worked[0] += 2 * QUIET_SECONDS
    collector.collect_if_due()
    assert ring() is None


def test_no_timer_runs_while_nothing_is_due(collector: Collector, worked: list[float], qtbot: QtBot) -> None:
    assert not collector.is_looking()
    ring = old_ring(DUE + 1)
    assert collector.is_looking()
    qtbot.waitUntil(lambda: ring() is None)  # a second later, by the timer
    assert not collector.is_looking()


def test_python_itself_never_looks_through_everything_meanwhile(collector: Collector) -> None:
    full = gc.get_stats()[2]["collections"]
    kept = [[each] for each in range(200_000)]
    assert gc.get_count()[2] > DUE
    assert gc.get_stats()[2]["collections"] == full
    assert len(kept) == 200_000


def test_afterwards_everything_is_as_it_was(qapp: QApplication) -> None:
    thresholds = gc.get_threshold()
    collector = Collector()
    collector.start()
    assert gc.get_freeze_count() > 0
    collector.close()
    collector.close()
    assert gc.get_threshold() == thresholds
    assert gc.get_freeze_count() == 0
