"""Saving power, shown with its reason, and postponing what can wait; a model that nobody uses leaves memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.composer.status_line import detail_lines
from app.dialogs.collections_dialog import state_words
from app.foundation import Intervals
from app.wiring import Chickadee
from common import power
from common.power import Battery
from engine.protocol.requests import Generate, Load, Prepare
from tests.app.conftest import SECONDS, Opener, Requests
from tests.app.test_window import Ask, done, last_text

ON_BATTERY = "Saving power: the computer runs on its battery"


class Laptop:
    """A computer whose battery a test changes."""

    battery: Battery = "plugged"


@pytest.fixture
def laptop(monkeypatch: pytest.MonkeyPatch) -> Laptop:
    made = Laptop()
    monkeypatch.setattr(power, "read_battery", lambda: made.battery)
    monkeypatch.setattr(power, "EVERY_SECONDS", 0.0)
    return made


@pytest.fixture
def intervals(intervals: Intervals) -> Intervals:
    return replace(intervals, minute=50)


@pytest.fixture
def on_laptop(laptop: Laptop, chickadee: Chickadee) -> Chickadee:
    chickadee.settings.change({"window.language": "en"})
    return chickadee


def test_unplugged_the_status_line_says_so_until_the_computer_is_plugged_in(
    laptop: Laptop, on_laptop: Chickadee, qtbot: QtBot
) -> None:
    status = on_laptop.window.status
    assert status.power.isHidden()
    laptop.battery = "unplugged"
    qtbot.waitUntil(lambda: not status.power.isHidden(), timeout=SECONDS)
    assert (status.power.text(), status.power.toolTip()) == ("Saving power", ON_BATTERY)
    assert ON_BATTERY in detail_lines(on_laptop.engine.state)
    laptop.battery = "unknown"
    qtbot.waitUntil(status.power.isHidden, timeout=SECONDS)
    assert ON_BATTERY not in detail_lines(on_laptop.engine.state)


def test_the_setting_decides_and_goes_to_the_engine_with_each_request(
    laptop: Laptop, on_laptop: Chickadee, qtbot: QtBot, ask: Ask, requests: Requests
) -> None:
    laptop.battery = "unplugged"
    on_laptop.settings.change({"engine.power": "full"})
    assert on_laptop.engine.state.power.reason == ""
    assert on_laptop.window.status.power.isHidden()
    ask(on_laptop, "quick")
    qtbot.waitUntil(lambda: done(on_laptop), timeout=SECONDS)
    on_laptop.settings.change({"engine.power": "save"})
    assert on_laptop.window.status.power.toolTip() == "Saving power: set to “Always” in the settings"
    ask(on_laptop, "again")
    qtbot.waitUntil(lambda: done(on_laptop), timeout=SECONDS)
    assert [each.power for each in requests() if isinstance(each, Generate)] == ["full", "save"]
    assert {each.power for each in requests() if isinstance(each, Prepare)} <= {"full", "auto"}


def test_on_battery_opened_chats_are_not_read_ahead(
    laptop: Laptop, on_laptop: Chickadee, qtbot: QtBot, ask: Ask, requests: Requests
) -> None:
    ask(on_laptop, "hello")
    qtbot.waitUntil(lambda: done(on_laptop), timeout=SECONDS)
    laptop.battery = "unplugged"
    qtbot.waitUntil(lambda: on_laptop.engine.state.power.postpones_idle_work, timeout=SECONDS)
    conversation, before = on_laptop.open_chats.current, len(requests())
    on_laptop.engine.idle.forget_read()
    on_laptop.engine.idle.read_ahead(conversation)
    laptop.battery = "plugged"
    qtbot.waitUntil(lambda: not on_laptop.engine.state.power.postpones_idle_work, timeout=SECONDS)
    on_laptop.engine.idle.read_ahead(conversation)
    qtbot.waitUntil(lambda: any(isinstance(each, Prepare) for each in requests()[before:]), timeout=SECONDS)
    assert len([each for each in requests()[before:] if isinstance(each, Prepare)]) == 1


def test_a_computer_without_a_battery_is_not_looked_at_again(
    laptop: Laptop, chickadee: Chickadee, qtbot: QtBot
) -> None:
    laptop.battery = "none"
    timer = chickadee.models.status._battery
    qtbot.waitUntil(lambda: not timer.isActive(), timeout=SECONDS)
    laptop.battery = "plugged"
    chickadee.settings.change({"engine.power": "save"})
    assert timer.isActive()
    chickadee.settings.change({"engine.power": "full"})
    assert not timer.isActive()


def test_folders_are_indexed_when_the_computer_is_plugged_in_unless_the_user_asks(
    laptop: Laptop, on_laptop: Chickadee, qtbot: QtBot, tmp_path: Path
) -> None:
    indexing = on_laptop.chats.collections._indexing
    started: list[str] = []
    indexing.start = lambda: started.append(laptop.battery)  # type: ignore[method-assign]
    laptop.battery = "unplugged"
    qtbot.waitUntil(lambda: on_laptop.engine.state.power.postpones_idle_work, timeout=SECONDS)
    collections = on_laptop.chats.collections._collections
    made = collections.add(tmp_path)
    indexing._requested = False  # the folder was added earlier
    indexing._start_in_idle_time()  # as a timer does
    assert started == []
    assert state_words(made, collections.state_of(made)) == "Waiting until the computer is plugged in"
    laptop.battery = "plugged"
    qtbot.waitUntil(lambda: bool(started), timeout=SECONDS)
    assert state_words(made, collections.state_of(made)) == "Waiting until the computer is idle"
    laptop.battery = "unplugged"
    qtbot.waitUntil(lambda: on_laptop.engine.state.power.postpones_idle_work, timeout=SECONDS)
    indexing.index_again([str(tmp_path)])
    qtbot.waitUntil(lambda: len(started) == 2, timeout=SECONDS)
    assert started == ["plugged", "unplugged"]


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
    status = chickadee.models.status

    def waiting() -> bool:
        return status._unused.waiting

    assert (status.unload_minutes, waiting()) == (0, False)
    chickadee.settings.change({"models.unload_after": 1000})
    assert waiting()
    status._unused.cancel()
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
    assert chickadee.models.status.unload_minutes == 10
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "off", timeout=SECONDS)
