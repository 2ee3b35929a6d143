"""Speeds and durations: one form each, in the window's language and the terminal's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.words import read_catalogue
from common.units import duration, exact_duration, exact_seconds, speed
from models.assets import asset

ROOT = Path(__file__).resolve().parents[2]
UNIT = re.compile(r"""\b(tok/s|tokens/s|min|GB|MB)(["{ ,·]|$)""")


@pytest.mark.parametrize(
    ("sentence", "text"),
    [
        (duration(0.2), "1 s"),
        (duration(18.4), "18 s"),
        (duration(89), "89 s"),
        (duration(125), "2 min"),
        (duration(7200), "2 h"),
        (exact_duration(0.2), "1 s"),
        (exact_duration(60), "1 min"),
        (exact_duration(200), "3 min 20 s"),
        (exact_seconds(0.5), "0.5 s"),
        (speed(7.44), "7.4 tok/s"),
        (speed(0.044), "0.04 tok/s"),
        (speed(9.96), "10 tok/s"),
        (speed(1204.6), "1,205 tok/s"),
    ],
)
def test_speeds_and_durations(sentence: object, text: str) -> None:
    assert str(sentence) == text


def test_units_are_translated() -> None:
    chinese = read_catalogue(asset("translations/zh_CN.ts")).translate
    assert speed(31).worded(chinese) == "31 词元/秒"
    assert exact_duration(200).worded(chinese) == "3 分钟 20 秒"


def test_no_other_module_writes_a_unit_behind_a_number() -> None:
    """A unit that follows a `{hole}` in a text of the window or the terminal has a second owner."""
    owners = {"common/units.py", "common/byte_sizes.py", "common/messages.py"}
    hole = re.compile(r"\{[^{}]*\} (tok/s|tokens/s|min|GB|MB|kB|s)\b")
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for folder in ("app", "engine/commands")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if str(path.relative_to(ROOT)) not in owners
        for match in hole.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
