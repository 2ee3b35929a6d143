"""A model that nobody uses leaves memory, and the next message loads it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.wiring import Chickadee, Intervals
from engine.protocol.requests import Load
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.test_window import Ask, done, last_text


@pytest.fixture
def intervals(intervals: Intervals) -> Intervals:
    return replace(intervals, minute=50)


def test_the_model_is_unloaded_and_the_next_message_loads_it_again(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, tmp_path: Path, requests: Requests
) -> None:
    chickadee.models.controller.use_model(str(tmp_path / "slowload.gguf"))
    (tmp_path / "go").touch()
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)
    ask(chickadee, "first")
    qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    (tmp_path / "go").unlink()
    chickadee.settings.change({"models.unload_after": 2})
    qtbot.waitUntil(lambda: not chickadee.process.running, timeout=SECONDS)
    assert chickadee.engine.state.phase == "off"
    assert chickadee.engine.state.problem is None
    assert not chickadee.window.notice.isVisible()
    assert chickadee.window.status.memory.isHidden()
    ask(chickadee, "again")
    assert chickadee.window.composer.progress.text() == "Loading slowload, then answering your message"
    (tmp_path / "go").touch()
    qtbot.waitUntil(lambda: done(chickadee) and last_text(chickadee) == "echo: again", timeout=SECONDS)
    assert [type(each) for each in requests()].count(Load) == 3


def test_a_message_sent_while_the_engine_ends_is_answered(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    chickadee.engine.model.unload()
    ask(chickadee, "hello")
    assert chickadee.process.running
    qtbot.waitUntil(lambda: done(chickadee) and last_text(chickadee) == "echo: hello", timeout=SECONDS)


def test_a_model_chosen_while_the_engine_ends_is_loaded(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    chickadee.engine.model.unload()
    chickadee.models.controller.use_model(str(tmp_path / "wren.gguf"))
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)
    assert chickadee.engine.state.path == tmp_path / "wren.gguf"


def test_use_starts_the_time_anew_and_an_answer_stops_it(chickadee: Chickadee, ask: Ask, qtbot: QtBot) -> None:
    idle = chickadee.models.idle

    def waiting() -> bool:
        return idle._pause.waiting

    assert (idle.minutes, waiting()) == (0, False)
    chickadee.settings.change({"models.unload_after": 1000})
    assert waiting()
    idle.close()
    qtbot.keyClicks(chickadee.window.composer.text, "s")
    assert waiting()
    ask(chickadee, "low")
    qtbot.waitUntil(lambda: chickadee.engine.active is not None, timeout=SECONDS)
    assert not waiting()
    qtbot.keyClick(chickadee.window, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: chickadee.engine.active is None, timeout=SECONDS)
    assert waiting()
    chickadee.settings.change({"models.unload_after": 0})
    assert not waiting()


def test_where_memory_is_short_it_happens_by_itself(open_window: Opener, qtbot: QtBot, tmp_path: Path) -> None:
    chickadee = open_window(model=tmp_path / "tight.gguf")
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready", timeout=SECONDS)
    assert chickadee.models.idle.minutes == 10
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "off", timeout=SECONDS)
