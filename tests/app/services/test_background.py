"""Background operations: callbacks run in the window's thread, and a bug is reported as one."""

from __future__ import annotations

import threading

from pytestqt.qtbot import QtBot

from app.services.background import Background, ignore
from app.wiring import Chickadee
from common.failures import Failure
from common.sentences import Sentence
from tests.app.conftest import SECONDS


def test_work_in_the_background_ends_in_the_window(qtbot: QtBot, chickadee: Chickadee) -> None:
    background = Background(chickadee.window)
    heard: list[object] = []

    def fail() -> object:
        raise Failure(Sentence.plain("No."))

    def bug() -> object:
        raise ValueError("?")

    background.run(lambda: "three", heard.append, heard.append)
    qtbot.waitUntil(lambda: heard == ["three"])
    background.run(fail, heard.append, lambda failure: heard.append(str(failure)))
    qtbot.waitUntil(lambda: heard[1:] == ["No."])
    background.run(bug, heard.append, lambda failure: heard.append(failure.code))
    qtbot.waitUntil(lambda: heard[2:] == ["internal"])
    posted, later = threading.Event(), Background(chickadee.window)

    def post() -> None:
        background.call_in_window(lambda: heard.append("posted, but not delivered before the end"))
        posted.set()

    background.run(post, ignore)
    assert posted.wait(SECONDS)
    background.close()
    background.call_in_window(lambda: heard.append("too late"))
    later.run(lambda: "after all that", heard.append)
    qtbot.waitUntil(lambda: heard[3:] == ["after all that"])
