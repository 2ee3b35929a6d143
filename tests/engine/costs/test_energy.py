"""The processor's energy meter: read where the system allows it, and absent otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.costs.energy import EnergyMeter

RANGE = 262_143_328_850  # microjoules, as Intel's packages have


def package(folder: Path, name: str, energy: int) -> Path:
    path = folder / name
    path.mkdir()
    (path / "max_energy_range_uj").write_text(f"{RANGE}\n")
    (path / "energy_uj").write_text(f"{energy}\n")
    return path / "energy_uj"


def test_packages_are_added_and_their_parts_are_not_and_counters_begin_again(tmp_path: Path) -> None:
    first, second = package(tmp_path, "intel-rapl:0", RANGE - 500_000), package(tmp_path, "intel-rapl:1", 7)
    part = package(tmp_path, "intel-rapl:0:0", 0)
    meter = EnergyMeter(tmp_path)
    assert meter.joules() == 0
    first.write_text(str(RANGE - 250_000))
    second.write_text("1000007")
    part.write_text("9000000")
    assert meter.joules() == pytest.approx(1.25)
    first.write_text("249999")
    assert meter.joules() == pytest.approx(1.75)


def test_without_packages_or_the_right_to_read_them_there_is_no_meter(tmp_path: Path) -> None:
    assert EnergyMeter(tmp_path / "none").joules() is None
    energy = package(tmp_path, "intel-rapl:0", 5)
    meter = EnergyMeter(tmp_path)
    assert meter.joules() == 0
    energy.unlink()
    assert meter.joules() is None
    assert EnergyMeter(tmp_path).joules() is None
