"""The planner's process: superseded questions, and unexpected ends."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from pytestqt.qtbot import QtBot

from app.services.planner import Planner
from app.wiring import Chickadee
from common.planning import Ask, Verdict
from models.default import default_model
from tests.app.conftest import SECONDS
from tests.engine.altered import write_altered


def hear(heard: list[tuple[object, str]], key: object, verdict: Verdict) -> None:
    heard.append((key, verdict.verdict))


def is_long(heard: list[tuple[object, str]], length: int) -> bool:
    return len(heard) == length


def test_a_planner_that_ends_or_cannot_start_leaves_no_question_open(qtbot: QtBot, chickadee: Chickadee) -> None:
    for command in ([sys.executable, "-c", "pass"], ["/nowhere/planner"]):
        planner = Planner(chickadee.window, command)
        heard: list[tuple[object, str]] = []
        planner.answered.connect(partial(hear, heard))
        for key in ("a", "b"):
            planner.ask(key, Ask())
        qtbot.waitUntil(partial(is_long, heard, 2), timeout=SECONDS)
        assert heard == [("a", "unknown"), ("b", "unknown")]
        planner.close()


def test_of_two_questions_under_one_key_the_last_is_answered(qtbot: QtBot, chickadee: Chickadee) -> None:
    planner = Planner(chickadee.window)
    heard: list[int] = []
    planner.answered.connect(lambda _key, verdict: heard.append(verdict.n_ctx))
    for n_ctx in (512, 1024, 2048):
        planner.ask("x", Ask(path=str(default_model()), n_ctx=n_ctx, backend="llama"))
    qtbot.waitUntil(lambda: heard == [2048], timeout=SECONDS)
    planner.close()


def test_files_outside_of_the_model_folders_are_planned_too(qtbot: QtBot, chickadee: Chickadee, tmp_path: Path) -> None:
    """The planner's process cannot read such files unless it was started with their names."""
    planner = Planner(chickadee.window)
    heard: list[tuple[str, bool]] = []
    planner.answered.connect(lambda key, verdict: heard.append((str(key), verdict.exact)))
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        path = write_altered(tmp_path / name / "model.gguf")
        planner.ask(name, Ask(path=str(path), n_ctx=512, backend="llama"))
        qtbot.waitUntil(partial(heard.__contains__, (name, True)), timeout=SECONDS)
    planner.close()
