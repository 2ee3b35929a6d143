"""An error of our own: reported once, and nothing waits for ever because of it."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable

import pytest
from pytestqt.exceptions import capture_exceptions
from pytestqt.qtbot import QtBot

from app.bugs import log_bugs
from app.events import Event
from app.state.conversation import Conversation
from app.wiring import Chickadee
from common.sentences import restored

Ask = Callable[[Chickadee, str], None]


def stumble(*_: object) -> None:
    raise ZeroDivisionError("a listener's bug")


def test_the_others_hear_of_an_event_all_the_same() -> None:
    heard: list[int] = []
    event: Event[int] = Event()
    for listener in (stumble, heard.append):
        event.connect(listener)
    with capture_exceptions() as caught:
        event.emit(3)
        event.disconnect(heard.append)
        event.emit(4)
    assert heard == [3]
    assert [kind for kind, _, _ in caught] == [ZeroDivisionError, ZeroDivisionError]


EVENTS = ["phase_changed", "message_added", "text_appended", "answer_ended", "entry_changed"]


@pytest.mark.parametrize("name", EVENTS)
def test_a_chat_is_answered_whatever_its_listeners_do(chickadee: Chickadee, qtbot: QtBot, ask: Ask, name: str) -> None:
    getattr(chickadee.open_chats.current, name)._listeners.insert(0, stumble)
    with capture_exceptions() as caught:
        ask(chickadee, "Hello")
        qtbot.waitUntil(
            lambda: len(chickadee.open_chats.current.messages) == 2 and not chickadee.open_chats.current.busy
        )
    answer = chickadee.open_chats.current.messages[-1]
    assert (answer.stop_reason, bool(answer.content)) == ("end", True)
    assert {error for error, _, _ in caught} == {ZeroDivisionError}


@pytest.mark.parametrize("step", ["begin", "grow", "finish"])
def test_a_chat_that_cannot_go_on_ends_with_a_sentence(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as broken, capture_exceptions() as caught:
        broken.setattr(Conversation, step, stumble)
        ask(chickadee, "Hello")
        qtbot.waitUntil(lambda: bool(caught) and not chickadee.open_chats.current.busy)
    last = chickadee.open_chats.current.messages[-1]
    if step != "begin":  # without an answer there is nothing to say it at
        assert (last.role, last.stop_reason) == ("assistant", "failed")
        assert "inside Chickadee" in str(restored(last.problem))
    ask(chickadee, "And now?")
    qtbot.waitUntil(
        lambda: chickadee.open_chats.current.messages[-1].stop_reason == "end" and not chickadee.open_chats.current.busy
    )


def test_what_nobody_catches_is_logged_and_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    told: list[int] = []

    def tell() -> None:
        told.append(1)
        sys.excepthook(ValueError, ValueError("while telling"), None)

    monkeypatch.setattr(sys, "excepthook", lambda *_: None)
    log_bugs(tell)
    with caplog.at_level(logging.ERROR):
        sys.excepthook(ZeroDivisionError, ZeroDivisionError("no use"), None)
    assert told == [1]
    assert "no use" in caplog.text
    assert "while telling" in caplog.text


def test_ctrl_c_is_no_bug(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(sys, "excepthook", lambda *_: None)
    log_bugs(stumble)
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert not caplog.records
