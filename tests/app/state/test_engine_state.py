"""Each change of the engine's state is announced by its own event alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.state.engine_state import EngineState, Problem, ReadAheadProgress
from common.sentences import Sentence

EVENTS = ("phase_changed", "progress_changed", "problem_changed", "numbers_changed")
CRASHED = Sentence.of("engine_end.crashed")


@pytest.fixture
def heard(state: EngineState) -> list[str]:
    names: list[str] = []
    for name in EVENTS:
        getattr(state, name).connect(lambda _state, name=name: names.append(name))
    return names


@pytest.fixture
def state() -> EngineState:
    return EngineState()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"phase": "loading", "path": Path("m.gguf")}, ["phase_changed"]),
        ({"fraction": 0.5}, ["progress_changed"]),
        ({"read_ahead": ReadAheadProgress("chat", 0, 10, 0)}, ["progress_changed"]),
        ({"problem": Problem(CRASHED, "none")}, ["problem_changed"]),
        ({"live_speed": 7.0, "context_tokens": 9, "context_chat": "chat"}, ["numbers_changed"]),
        ({"phase": "ready", "problem": Problem(CRASHED, "none"), "rss_bytes": 1}, [EVENTS[0], EVENTS[2], EVENTS[3]]),
        ({"phase": "off", "problem": None, "live_speed": None, "fraction": 0.0}, []),
    ],
)
def test_a_change_is_told_where_it_is_shown(
    state: EngineState, heard: list[str], values: dict[str, object], told: list[str]
) -> None:
    state.change(**values)
    assert heard == told
    assert all(getattr(state, name) == value for name, value in values.items())


def test_the_state_is_whole_when_its_first_event_comes(state: EngineState) -> None:
    seen: list[tuple[str, float]] = []
    state.phase_changed.connect(lambda now: seen.append((now.phase, now.fraction)))
    state.change(phase="loading", fraction=0.5)
    assert seen == [("loading", 0.5)]


def test_the_same_problem_again_is_told_again(state: EngineState, heard: list[str]) -> None:
    for _ in range(2):
        state.change(problem=Problem(CRASHED, "restart"))
    assert heard == ["problem_changed"] * 2
