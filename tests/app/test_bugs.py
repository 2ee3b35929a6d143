"""Our own errors: each is reported once, and none keeps a chat waiting for ever."""

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
from common.sentences import decode_sentence

Ask = Callable[[Chickadee, str], None]


def raise_bug(*_: object) -> None:
    raise ZeroDivisionError("a listener's bug")


def test_the_others_hear_of_an_event_all_the_same() -> None:
    heard: list[int] = []
    event: Event[int] = Event()
    for listener in (raise_bug, heard.append):
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
    getattr(chickadee.open_chats.current, name)._listeners.insert(0, raise_bug)
    with capture_exceptions() as caught:
        ask(chickadee, "Hello")
        qtbot.waitUntil(
            lambda: len(chickadee.open_chats.current.messages) == 2 and not chickadee.open_chats.current.busy
        )
    answer = chickadee.open_chats.current.messages[-1]
    assert (answer.stop_reason, bool(answer.content)) == ("end", True)
    assert {error for error, _, _ in caught} == {ZeroDivisionError}


@pytest.mark.parametrize("step", ["begin_answer", "append_text", "finish_answer"])
def test_a_chat_that_cannot_go_on_ends_with_a_sentence(
    chickadee: Chickadee, qtbot: QtBot, ask: Ask, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as broken, capture_exceptions() as caught:
        broken.setattr(Conversation, step, raise_bug)
        ask(chickadee, "Hello")
        qtbot.waitUntil(lambda: bool(caught) and not chickadee.open_chats.current.busy)
    last = chickadee.open_chats.current.messages[-1]
    if step != "begin_answer":  # without an answer no message can show the problem
        assert (last.role, last.stop_reason) == ("assistant", "failed")
        assert "inside Chickadee" in str(decode_sentence(last.problem))
    ask(chickadee, "And now?")
    qtbot.waitUntil(
        lambda: chickadee.open_chats.current.messages[-1].stop_reason == "end" and not chickadee.open_chats.current.busy
    )


def test_what_nobody_catches_is_logged_and_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    notified: list[int] = []

    def notify() -> None:
        notified.append(1)
        sys.excepthook(ValueError, ValueError("while telling"), None)

    monkeypatch.setattr(sys, "excepthook", lambda *_: None)
    log_bugs(notify)
    with caplog.at_level(logging.ERROR):
        sys.excepthook(ZeroDivisionError, ZeroDivisionError("no use"), None)
    assert notified == [1]
    assert "no use" in caplog.text
    assert "while telling" in caplog.text


def test_ctrl_c_is_no_bug(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(sys, "excepthook", lambda *_: None)
    log_bugs(raise_bug)
    sys.excepthook(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert not caplog.records
