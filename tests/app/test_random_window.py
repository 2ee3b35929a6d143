"""The whole window, pressed at random: whatever is done in whatever order, no word is lost and nothing stays busy."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from app.foundation import Intervals
from tests.app.control.test_collections_controller import vectors  # noqa: F401 - a fixture
from tests.app.random_window.desk import BugLog, Desk
from tests.app.random_window.machine import WindowMachine
from tests.app.random_window.played_engine import PlayedEngine
from tests.engine.remote.page_server import PageServer, page_server
from tests.found import Sequence, repeat

EXAMPLES = os.environ.get("CHICKADEE_RANDOM_EXAMPLES")
OpenDesk = Callable[[], Desk]


@pytest.fixture(scope="module")
def pages() -> Iterator[PageServer]:
    with page_server() as server:
        yield server


@pytest.fixture
def open_desk(
    fusion: None,
    tmp_path: Path,
    intervals: Intervals,
    monkeypatch: pytest.MonkeyPatch,
    pages: PageServer,
    request: pytest.FixtureRequest,
) -> Iterator[OpenDesk]:
    """Yield a function that opens a window on a new folder."""
    monkeypatch.setattr("app.services.engine_process.JsonLineProcess", PlayedEngine)
    bugs: list[str] = []
    log = BugLog(bugs)
    logging.getLogger().addHandler(log)

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        bugs.append("".join(traceback.format_exception(kind, error, trace)))

    monkeypatch.setattr(sys, "excepthook", hook)
    number = 0

    def opened() -> Desk:
        nonlocal number
        number += 1
        bugs.clear()
        folder = tmp_path / str(number)
        folder.mkdir()
        return Desk(folder, intervals, bugs, pages, lambda: request.getfixturevalue("vectors"))

    yield opened
    logging.getLogger().removeHandler(log)


# --- what was found once ----------------------------------------------------------------------------------------------


def a_question_typed_into_the_quick_window_at_the_end(state: WindowMachine) -> None:
    state.use_quick_window(what="type")


def the_menu_of_models_of_a_message_that_goes(state: WindowMachine) -> None:
    state.write(how="enter")
    state.engine_speaks(speeches=["end", "piece", "end"])
    state.let_all_be_answered()
    state.answer_again_with(which=1, model=0, close=False)


def drafts_of_three_chats_that_cannot_be_stored(state: WindowMachine) -> None:
    """Close once the disk works again: the draft of each chat had replaced that of the one before."""
    state.disk_fails_or_works_again()
    for _ in range(3):
        state.ask(how="enter", speeches=[])
        state.write(how="nothing")
    state.attach(what="short text")  # is stored by another thread, whose disk works


FOUND = (
    a_question_typed_into_the_quick_window_at_the_end,
    drafts_of_three_chats_that_cannot_be_stored,
    the_menu_of_models_of_a_message_that_goes,
)


@pytest.mark.found
@pytest.mark.parametrize("sequence", FOUND)
def test_what_went_wrong_once_goes_well(open_desk: OpenDesk, sequence: Sequence) -> None:
    repeat(WindowMachine(open_desk), sequence)


@pytest.mark.parametrize(
    ("examples", "steps"),
    [
        pytest.param(5, 40, marks=pytest.mark.long),
        pytest.param(150, 100, marks=[pytest.mark.slow, pytest.mark.timeout(4 * 3600)]),
    ],
)
def test_nothing_is_lost_whatever_is_pressed(open_desk: OpenDesk, examples: int, steps: int) -> None:
    """Press other things in each run; docs/contributing.md says how to repeat a run and a failure."""

    class OnNewFolders(WindowMachine):
        def __init__(self) -> None:
            super().__init__(open_desk)

    run_state_machine_as_test(
        OnNewFolders,
        settings=settings(
            max_examples=int(EXAMPLES or examples),
            stateful_step_count=steps,
            derandomize=False,
            database=None,
            deadline=None,
            print_blob=True,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        ),
    )
