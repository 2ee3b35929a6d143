"""The garbage collector: nothing is collected in the middle of work, and cycles of objects are still freed."""

from __future__ import annotations

import gc
import threading
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


def many_objects() -> list[list[int]]:
    """Return more new objects than Python makes without collecting garbage."""
    return [[each] for each in range(10 * gc.get_threshold()[0])]


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
    was_kept = ring() is not None  # the window has other things to do
    collector.collect_if_due()
    assert was_kept
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


def test_no_timer_runs_while_nothing_is_due(collector: Collector, qtbot: QtBot) -> None:
    assert not collector._timer.isActive()
    ring = old_ring(DUE + 1)
    kept = many_objects()
    collector.collect_young()
    assert collector._timer.isActive()
    qtbot.waitUntil(lambda: ring() is None)  # a second later, by the timer
    assert not collector._timer.isActive()
    assert kept


def test_nothing_is_collected_in_the_middle_of_work(collector: Collector) -> None:
    before = [each["collections"] for each in gc.get_stats()]
    kept = [many_objects() for _ in range(20)]
    assert [each["collections"] for each in gc.get_stats()] == before
    assert kept


def test_another_thread_never_deletes_what_belongs_to_the_window(collector: Collector, qtbot: QtBot) -> None:
    """A widget that is deleted outside of the window's thread ends the program."""
    deleted_in: list[threading.Thread] = []

    class Part(Ring):
        def __del__(self) -> None:
            deleted_in.append(threading.current_thread())

    Part()
    kept: list[list[list[int]]] = []
    thread = threading.Thread(target=lambda: kept.extend(many_objects() for _ in range(20)))
    thread.start()
    thread.join()
    assert deleted_in == []
    qtbot.waitUntil(lambda: bool(deleted_in))  # when the event loop waits
    assert deleted_in == [threading.current_thread()]


@pytest.mark.parametrize("enabled", [True, False])
def test_afterwards_everything_is_as_it_was(qapp: QApplication, enabled: bool) -> None:
    before = gc.isenabled()
    (gc.enable if enabled else gc.disable)()
    frozen = not enabled
    (gc.freeze if frozen else gc.unfreeze)()
    collector = Collector()
    assert not gc.isenabled()
    collector.start()
    assert gc.get_freeze_count() > 0
    collector.close()
    collector.close()
    assert gc.isenabled() is enabled
    assert (gc.get_freeze_count() > 0) is frozen
    gc.freeze()  # as `tests/conftest.py` does
    (gc.enable if before else gc.disable)()
