"""The version and the project's address each stand in one file, and everything else derives from them."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from common.version import VERSION

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SUFFIXES = {".py", ".md", ".toml", ".sh", ".xml", ".nsi", ".desktop", ".yml", ".spec", ".cmake", ".plist", ".ts"}
FOLDERS = (
    "app",
    "assets",
    "benchmarks",
    "common",
    "docs",
    "engine",
    "models",
    "packaging",
    "tests",
    "training",
    ".github",
)
TEXTS = sorted(
    path
    for path in (*ROOT.glob("*"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*")))
    if path.suffix in SUFFIXES and path.is_file()
)


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return import_module("release")


def naming(pattern: str) -> set[str]:
    """Return the places of the files that contain the pattern."""
    found = (path for path in TEXTS if re.search(pattern, path.read_text(encoding="utf-8")))
    return {path.relative_to(ROOT).as_posix() for path in found}


def test_the_version_stands_in_one_file(release: ModuleType) -> None:
    copies = naming(rf"(?<![\d.=]){re.escape(VERSION)}(?!\.?\d)")  # not as a part of another number or requirement
    assert copies - {"CHANGELOG.md"} == {"common/version.py"}  # the list of changes names every version that there was
    assert PROJECT["dynamic"] == ["version"]
    assert release.VERSION == VERSION


def test_the_address_stands_in_one_file(release: ModuleType) -> None:
    assert PROJECT["urls"]["Homepage"] == release.ADDRESS
    copies = naming(re.escape(release.ADDRESS))
    told = {place for place in copies if place.endswith(".md") or "/ISSUE_TEMPLATE/" in place}  # they cannot derive it
    assert copies - told == {"pyproject.toml"}
