"""The way of one piece of an answer through the window: which files it crosses, and which messages hear of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.services.json_line_process import JsonLineProcess
from app.services.timers import Throttle
from app.transcript.message_view import MessageView
from app.wiring import Chickadee
from tests.app.conftest import CHECKOUT, SECONDS
from tests.app.test_window import Ask, done, last_text

ROOMS = tuple(f"{CHECKOUT / room}{os.sep}" for room in ("app", "common", "engine", "models"))
MOST = 21


def test_a_piece_of_an_answer_crosses_few_files(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A piece that stays within a line takes the shortest way; one that begins a new line makes the message higher.

    On a busy computer several pieces are drawn at once, so that new lines are more frequent.
    """
    whole: list[set[str]] = []  # for each piece that was drawn, the files from the engine's line to the laid out text
    last: set[str] = set()

    def profiled(function: Callable[[Any], None]) -> Callable[[Any], None]:
        def call(owner: object) -> None:
            if function is read:
                last.clear()
            sys.setprofile(lambda frame, _event, _value: last.add(frame.f_code.co_filename))
            try:
                function(owner)
            finally:
                sys.setprofile(None)
            files = {Path(file).name for file in last if file.startswith(ROOMS)}
            if "document.py" in files:
                whole.append(files)
                last.clear()

        return call

    ask(chickadee, "slow")
    qtbot.waitUntil(lambda: "word5" in last_text(chickadee), timeout=SECONDS)
    read, fire = JsonLineProcess._read, Throttle.flush
    monkeypatch.setattr(JsonLineProcess, "_read", profiled(read))
    monkeypatch.setattr(Throttle, "flush", profiled(fire))
    qtbot.waitUntil(lambda: len(whole) > 20, timeout=SECONDS)
    monkeypatch.undo()
    shortest = min(whole, key=len)
    assert len(shortest) <= MOST, " ".join(sorted(shortest))


def test_the_progress_of_a_prompt_touches_no_message(
    chickadee: Chickadee, ask: Ask, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in ("one", "two"):
        ask(chickadee, text)
        qtbot.waitUntil(lambda: done(chickadee), timeout=SECONDS)
    conversation = chickadee.open_chats.current
    conversation.send("three")
    conversation.begin_answer("model")
    marked: list[str] = []
    set_position = MessageView.set_position

    def noting(view: MessageView, *values: object) -> None:
        marked.append(view.text)
        set_position(view, *values)  # type: ignore[arg-type]

    monkeypatch.setattr(MessageView, "set_position", noting)
    conversation.update_prompt_progress(1_200, 3_000, 0)
    assert chickadee.window.composer.progress.text().startswith("Reading 1,200 of 3,000 tokens")
    assert marked == []
    conversation.fail_answer(None, reason="cancelled")
    assert marked
