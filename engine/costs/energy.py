"""The processor's energy meter (RAPL), where the system has one and lets this process read it.

Linux shows the joules that each processor package has used; since 2020 most systems let only root read them, because
they tell what a program computes.
"""

from __future__ import annotations

import re
from pathlib import Path

POWERCAP = Path("/sys/class/powercap")
PACKAGE = re.compile(r"intel-rapl:\d+")  # AMD's have this name too; parts of a package have a second number
MICROJOULES = 1_000_000


class EnergyMeter:
    """Meter of the joules that all processor packages have used since it was made. Reads files in `folder`."""

    def __init__(self, folder: Path = POWERCAP) -> None:
        found = sorted(folder.glob("intel-rapl:*")) if folder.is_dir() else []
        self._packages = [each for each in found if PACKAGE.fullmatch(each.name)]
        self._joules, self._last, self._wraps = 0.0, list[int](), list[int]()
        try:
            self._last = [_number(package / "energy_uj") for package in self._packages]
            self._wraps = [_number(package / "max_energy_range_uj") for package in self._packages]
        except (OSError, ValueError):  # only root may read them
            self._packages = []

    def joules(self) -> float | None:
        """Return the joules so far, also those of other programs; None if there is no meter that may be read."""
        try:
            now = [_number(package / "energy_uj") for package in self._packages]
        except (OSError, ValueError):
            self._packages = []
        if not self._packages:
            return None
        for old, new, wrap in zip(self._last, now, self._wraps, strict=True):
            self._joules += ((new - old) % (wrap + 1)) / MICROJOULES  # the counters begin again at 0
        self._last = now
        return self._joules


def _number(path: Path) -> int:
    return int(path.read_text())
