"""Tests that Windows, or Wine in its place, cannot pass: windows_exceptions.toml lists them, each with its reason."""

from __future__ import annotations

import ctypes
import sys
import tomllib
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@cache
def exceptions() -> dict[str, str]:
    """Return the reasons by pattern of a test's id; Wine's count only under Wine."""
    table: dict[str, dict[str, str]] = tomllib.loads((TESTS / "windows_exceptions.toml").read_text(encoding="utf-8"))
    return table["windows"] | (table["wine"] if is_wine() else {})


def is_wine() -> bool:
    return sys.platform == "win32" and hasattr(ctypes.WinDLL("ntdll"), "wine_get_version")


def ignored_files() -> set[Path]:
    """Return the files that are left out as a whole, because importing them fails."""
    return {TESTS.parent / pattern for pattern in exceptions() if pattern.endswith(".py")}


def skip_exceptions(items: Iterable[pytest.Item]) -> None:
    """Mark the listed tests as skipped, with their reasons."""
    for item in items:
        reason = next((reason for pattern, reason in exceptions().items() if fits(item.nodeid, pattern)), None)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


def fits(test: str, pattern: str) -> bool:
    """Return whether the pattern is the test's id, with or without its parameters, or matches it with `*`."""
    return test == pattern or test.startswith(f"{pattern}[") or fnmatch(test, pattern)
