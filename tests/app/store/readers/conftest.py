"""A home folder of its own for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "home"
    path.mkdir()
    for name in ("HOME", "USERPROFILE"):  # Windows' is the second
        monkeypatch.setenv(name, str(path))
    for name in ("DATA_DIR", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    return path
