"""Whether to save power now: always, never, or while the computer runs on its battery, as the user wishes.

The battery is read through psutil, at most once a minute.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

import psutil

PowerMode = Literal["auto", "save", "full"]
Battery = Literal["none", "plugged", "unplugged", "unknown"]
SavingReason = Literal["", "battery", "always"]
SUPPLIES = Path("/sys/class/power_supply")  # Linux: a folder for each battery and each power supply
BATTERY_VARIABLE = "CHICKADEE_BATTERY"
EVERY_SECONDS = 60.0  # between two reads of the battery


@dataclass(frozen=True, slots=True)
class PowerState:
    """The user's wish, and what is known of the battery."""

    mode: PowerMode = "auto"
    battery: Battery = "none"

    @property
    def reason(self) -> SavingReason:
        """Reason for saving power; empty while none is saved."""
        if self.mode == "save":
            return "always"
        return "battery" if self.mode == "auto" and self.battery == "unplugged" else ""

    @property
    def postpones_idle_work(self) -> bool:
        """Whether work for idle time waits until the computer is plugged in."""
        return self.mode != "full" and self.battery == "unplugged"


class PowerWatch:
    """Reader of the battery. `read` and `clock` (monotonic seconds) are replaced by tests."""

    def __init__(self, read: Callable[[], Battery] | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._read, self._clock = read or (lambda: read_battery()), clock
        self._battery: Battery = "unknown"
        self._next_read = -float("inf")

    def state(self, mode: PowerMode) -> PowerState:
        """Return the state under the user's wish `mode`; the battery's is up to EVERY_SECONDS old."""
        if self._clock() >= self._next_read:
            self._battery = self._read()
            self._next_read = self._clock() + EVERY_SECONDS
        return PowerState(mode, self._battery)


def read_battery() -> Battery:
    """Read the state of this computer's battery now; "unknown" also where the system cannot say.

    CHICKADEE_BATTERY replaces what the system says, for tests.
    """
    if (told := os.environ.get(BATTERY_VARIABLE)) in get_args(Battery):
        return cast(Battery, told)
    read = getattr(psutil, "sensors_battery", None)  # missing on some systems
    try:
        battery = read() if read else None
        if battery is None or _is_of_a_device():
            return "none"
    except (OSError, ValueError, psutil.Error):
        return "unknown"
    if battery.power_plugged is None:
        return "unknown"
    return "plugged" if battery.power_plugged else "unplugged"


def _is_of_a_device() -> bool:
    """Return whether the battery that psutil reads is a wireless mouse's or keyboard's, by Linux's `scope`.

    psutil reads the first by name. The battery of a device always discharges, also on a computer without any other.
    """
    if not SUPPLIES.is_dir():
        return False
    names = [each.name for each in SUPPLIES.iterdir() if each.name.startswith("BAT") or "battery" in each.name.lower()]
    try:
        return bool(names) and (SUPPLIES / min(names) / "scope").read_text().strip() == "Device"
    except OSError:  # batteries of computers often have no scope
        return False
