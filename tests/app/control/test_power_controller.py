"""Saving power in the window: it says so with the reason, and postpones what can wait for the mains."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.composer.status_line import detail_lines
from app.dialogs.collections_dialog import state_words
from app.wiring import Chickadee, Intervals
from common import power
from common.power import Battery
from engine.protocol.requests import Generate, Prepare
from tests.app.conftest import SECONDS, Requests
from tests.app.test_window import Ask, done

ON_BATTERY = "Saving power, because the computer runs on its battery"


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
    assert on_laptop.window.status.power.toolTip() == "Saving power, because Settings say always"
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
    controller = chickadee.models.power
    qtbot.waitUntil(lambda: not controller._timer.isActive(), timeout=SECONDS)
    laptop.battery = "plugged"
    chickadee.settings.change({"engine.power": "save"})
    assert controller._timer.isActive()
    chickadee.settings.change({"engine.power": "full"})
    assert not controller._timer.isActive()


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
