"""Power is saved on battery or on request; the battery is read at most once a minute."""

from __future__ import annotations

from collections import namedtuple
from pathlib import Path

import psutil
import pytest

from common import power
from common.power import (
    BATTERY_VARIABLE,
    EVERY_SECONDS,
    Battery,
    PowerMode,
    PowerState,
    PowerWatch,
    SavingReason,
    read_battery,
)

PsutilBattery = namedtuple("PsutilBattery", "percent secsleft power_plugged")


@pytest.fixture(autouse=True)
def _the_system_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(BATTERY_VARIABLE)


def test_the_environment_can_replace_what_the_system_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(power, "SUPPLIES", tmp_path)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: PsutilBattery(50, 3600, True), raising=False)
    monkeypatch.setenv(BATTERY_VARIABLE, "unplugged")
    assert read_battery() == "unplugged"
    monkeypatch.setenv(BATTERY_VARIABLE, "nonsense")
    assert read_battery() == "plugged"


@pytest.mark.parametrize(
    ("mode", "battery", "reason", "postpones"),
    [
        ("auto", "none", "", False),
        ("auto", "unknown", "", False),
        ("auto", "plugged", "", False),
        ("auto", "unplugged", "battery", True),
        ("save", "none", "always", False),
        ("save", "unplugged", "always", True),
        ("full", "unplugged", "", False),
    ],
)
def test_when_power_is_saved_and_idle_work_waits(
    mode: PowerMode, battery: Battery, reason: SavingReason, postpones: bool
) -> None:
    state = PowerState(mode, battery)
    assert (state.reason, state.postpones_idle_work) == (reason, postpones)


@pytest.mark.parametrize(
    ("found", "battery"),
    [
        (None, "none"),
        (PsutilBattery(50, 3600, False), "unplugged"),
        (PsutilBattery(50, 3600, True), "plugged"),
        (PsutilBattery(80, -1, None), "unknown"),  # a battery that is kept at 80 % is “not charging”
    ],
)
def test_the_four_states_of_a_battery(monkeypatch, tmp_path, found: PsutilBattery | None, battery: Battery) -> None:
    monkeypatch.setattr(power, "SUPPLIES", tmp_path)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: found, raising=False)
    assert read_battery() == battery


def test_a_system_that_cannot_be_asked_saves_nothing(monkeypatch) -> None:
    def broken() -> None:
        raise FileNotFoundError("/sys/class/power_supply")

    monkeypatch.setattr(psutil, "sensors_battery", broken, raising=False)
    assert read_battery() == "unknown"
    monkeypatch.delattr(psutil, "sensors_battery")
    assert read_battery() == "none"


def test_a_wireless_mouse_is_no_battery_of_the_computer(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setattr(power, "SUPPLIES", tmp_path)
    monkeypatch.setattr(psutil, "sensors_battery", lambda: PsutilBattery(50, 3600, False), raising=False)
    mouse = tmp_path / "hidpp_battery_0"
    mouse.mkdir()
    (mouse / "scope").write_text("Device\n")
    assert read_battery() == "none"
    (tmp_path / "BAT0").mkdir()  # psutil reads the first one by name
    assert read_battery() == "unplugged"


def test_the_battery_is_read_once_a_minute() -> None:
    now, batteries = [0.0], iter(("plugged", "unplugged", "unknown"))
    watch = PowerWatch(lambda: next(batteries), lambda: now[0])  # type: ignore[arg-type]
    assert watch.state("auto").battery == "plugged"
    now[0] = EVERY_SECONDS - 1
    assert watch.state("save") == PowerState("save", "plugged")
    now[0] = EVERY_SECONDS
    assert watch.state("auto").reason == "battery"
    now[0] = 2 * EVERY_SECONDS
    assert watch.state("auto").reason == ""
