"""The help sheet and the about box."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.commands.commands import BY_NAME, keys_of, title_of
from app.commands.help import ROOTS, About, components
from app.wiring import Chickadee
from common.version import VERSION
from engine.protocol.requests import Limit
from tests.app.conftest import SECONDS


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (("files", "network"), "only models and its own files, and no network connections (Landlock, seccomp)"),
        (("network",), "network connections (seccomp), but does not restrict which files"),
        (("files",), "only models and its own files (Landlock), but does not restrict network"),
        (("integrity",), "low integrity level"),
        ((), "does not restrict the engine"),
        (None, ""),
    ],
)
def test_it_says_what_the_system_refuses_the_engine(
    chickadee: Chickadee, limits: tuple[Limit, ...] | None, words: str
) -> None:
    about = About(chickadee.window, limits=limits)
    assert words in about.text
    assert about.confined.isHidden() == (limits is None)
    about.close()


def test_it_knows_what_the_running_engine_said(chickadee: Chickadee, qtbot: QtBot) -> None:
    """The scripted engine reports that nothing restricts it."""
    chickadee.window.commands.run("about")
    about = chickadee.chats.palette.about.open
    assert about
    assert about.confined.text() == "This system does not restrict the engine."
    about.close()


def test_the_help_sheet_lists_every_command(chickadee: Chickadee) -> None:
    chickadee.window.commands.run("help")
    sheet = chickadee.chats.palette.help.open
    assert sheet is not None
    lines = dict(sheet.lines)
    for name in BY_NAME:
        assert lines[title_of(name)] == ", ".join(keys_of(name))
    assert (lines["Edit message"], lines["Previous version"]) == ("F2", "Alt+Left")
    chickadee.window.commands.run("help")
    assert chickadee.chats.palette.help.open is sheet
    sheet.close()


def test_about_names_versions_and_licences(chickadee: Chickadee, qtbot: QtBot) -> None:
    chickadee.window.commands.run("about")
    about = chickadee.chats.palette.about.open
    assert about is not None
    qtbot.waitUntil(about.copy_button.isEnabled, timeout=SECONDS)  # a thread reads the packages' metadata
    about.copy_button.click()
    text = QGuiApplication.clipboard().text()
    for part in (
        f"Chickadee {VERSION}: MIT",
        "llama.cpp",
        "ik_llama.cpp",
        "Qt (in PySide6",
        "SmolLM2 135M Instruct: Apache License 2.0",
        "Python 3",
    ):
        assert part in text
    about.close()


def test_what_is_bundled_is_what_the_project_asks_for() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert {line.split("==")[0].lower() for line in project["dependencies"]} == {root.lower() for root in ROOTS}
    assert [component for component in components() if component.licence == "?"] == []
