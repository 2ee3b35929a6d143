"""Tests of how `make test-windows` divides the tests into folders, each with a time limit of its own."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_every_test_file_is_run_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    check_windows = import_module("check_windows")
    folders = check_windows.folders(check_windows.TESTS)
    parts = [ROOT / part for chosen in folders.values() for part in chosen]
    for file in check_windows.TESTS:
        assert sum(file == part or part in file.parents for part in parts) == 1, file
    assert folders["tests/app/control"] == ["tests/app/control"]
    assert "tests/app/test_window.py" in folders["tests/app"]
