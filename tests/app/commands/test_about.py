"""What the about box says of the engine's rights."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.commands.about import About
from app.wiring import Chickadee
from engine.protocol import Limit


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
    """The scripted engine is not confined, and says so."""
    chickadee.window.commands.run("about")
    about = chickadee.chats.palette.about
    assert about
    assert about.confined.text() == "This system does not restrict the engine."
    about.close()
