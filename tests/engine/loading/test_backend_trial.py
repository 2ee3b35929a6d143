"""The library that does not compute, timed in a process of its own: it ends at once, and is not tried for ever."""

from __future__ import annotations

import psutil

from engine.loading.library_choice import MOST_ATTEMPTS, BackendTrial
from engine.run_subprocess import run_apart
from models.default import default_model


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if child.status() != psutil.STATUS_ZOMBIE]


def test_a_command_runs_to_its_end():
    *waiting, code = run_apart("cache", "list")
    assert set(waiting) == {None}
    assert code == 0
    assert [*run_apart("plan", "no such file.gguf")][-1] == 2


def test_it_ends_with_its_iterator():
    before = len(children())
    running = run_apart("calibrate", "--spare", "--model", str(default_model()))
    assert next(running) is None
    assert len(children()) == before + 1
    running.close()  # type: ignore[attr-defined]
    assert len(children()) == before


def test_a_model_that_cannot_be_timed_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.loading.library_choice.RETRY_AFTER", 0.0)
    trial = BackendTrial(tmp_path / "none.gguf", "ik", 2, "f16")
    for _ in range(MOST_ATTEMPTS):
        assert [*trial.measure()]
    assert [*trial.measure()] == []


def test_idle_time_that_goes_on_is_not_filled_with_it(tmp_path):
    trial = BackendTrial(tmp_path / "none.gguf", "ik", 2, "f16")
    assert [*trial.measure()]
    assert [*trial.measure()] == []
