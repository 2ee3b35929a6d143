"""What changes a driver's stamp."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.devices import driver


def test_the_stamp_is_of_the_drivers_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "MANIFESTS", (tmp_path,))
    stamps = [driver.driver_stamp(), driver.driver_stamp()]
    assert stamps[0] == stamps[1], "nothing has changed"
    library = tmp_path / "libvulkan_some.so"
    library.write_bytes(b"first")
    (tmp_path / "some.json").write_text(json.dumps({"ICD": {"library_path": str(library)}}))
    stamps.append(driver.driver_stamp())
    library.write_bytes(b"a newer one")
    stamps.append(driver.driver_stamp())
    (tmp_path / "damaged.json").write_text("{")
    stamps.append(driver.driver_stamp())
    monkeypatch.setenv("GGML_VK_VISIBLE_DEVICES", "1")
    stamps.append(driver.driver_stamp())
    assert len(set(stamps)) == 5, stamps
