"""Tests of what Windows' Python is put together from: lines of a lock file, and a standard library that fits."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def windows_python(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("windows_python")


@pytest.mark.parametrize(
    ("marker", "holds"),
    [
        ("", True),
        ("sys_platform == 'win32'", True),
        ("sys_platform == 'linux'", False),
        ("python_full_version < '3.12' and platform_machine == 'AMD64'", True),
        ("os_name == 'nt' and sys_platform != 'linux'", True),
    ],
)
def test_markers_are_those_of_windows(windows_python: ModuleType, marker: str, holds: bool) -> None:
    assert windows_python.holds_on_windows(marker) == holds


@pytest.mark.parametrize("lock", ["requirements.lock", "packaging/package.lock"])
def test_the_lines_for_windows_keep_versions_and_hashes(windows_python: ModuleType, lock: str) -> None:
    lines = windows_python.windows_lines(ROOT / lock)
    names = re.findall(r"^([\w.-]+)==", lines, re.M)
    assert {"colorama", "ik-llama-cpp-python", "numpy", "pyside6-essentials"} <= set(names)
    assert not {"mypy", "ruff", "cmake", "secretstorage", "macholib"} & set(names)
    assert ";" not in lines
    assert all("--hash=" in part for part in re.split(r"^[\w.-]+==", lines, flags=re.M)[1:])


def test_a_dll_passes_functions_on(windows_python: ModuleType) -> None:
    assert windows_python.definitions("python3.dll", {"Py_Main": "python311.Py_Main"}) == (
        "LIBRARY python3.dll\nEXPORTS\nPy_Main=python311.Py_Main\n"
    )


def test_a_finder_of_an_older_python_can_be_told_to_forget(windows_python: ModuleType, tmp_path: Path) -> None:
    module = tmp_path / "metadata.py"
    module.write_text("class Finder:\n    def invalidate_caches(cls):\n        pass\n")
    for _ in range(2):
        windows_python.let_caches_be_invalidated(module)
        made: dict[str, type] = {}
        exec(module.read_text(), made)
        made["Finder"].invalidate_caches()  # type: ignore[attr-defined]
        assert module.read_text().count("@classmethod") == 1
