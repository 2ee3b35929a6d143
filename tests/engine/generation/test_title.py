"""Titles in idle time: nothing is read again, nothing of the chat is lost, and a stop ends one at once."""

from __future__ import annotations

import threading

import pytest

from engine.engine import Engine
from engine.generation import title
from engine.protocol.requests import MOST_TITLE, Message, ThinkingOptions, Title
from engine.stop import Stopped
from tests.engine.asking import QUESTION, ask

REQUEST = Message("user", "Write a title for this conversation. Only the title.")
NEXT = Message("user", "And a large one?")


def chat(engine: Engine, id: str = "a") -> tuple[Message, ...]:
    text, _ = ask(engine, QUESTION, chat=id)
    return (QUESTION, Message("assistant", text))


def test_a_title_is_one_line_and_costs_the_chat_nothing(whole: Engine) -> None:
    messages = chat(whole)
    session = whole._loaded().session
    before, size = list(session.tokens), session.runtime.n_ctx
    titled = whole.title(Title(1, (*messages, REQUEST), "a"))
    assert titled.id == 1
    assert titled.text.strip()
    assert "\n" not in titled.text
    assert session.tokens == before[: len(session.tokens)]
    assert len(before) - len(session.tokens) <= 2  # how the answer ended
    assert session.runtime.n_ctx == size
    _, finished = ask(whole, *messages, NEXT, chat="a")
    assert finished.statistics.reused_tokens >= len(before) - 2


def test_the_next_answer_is_the_same(whole: Engine) -> None:
    messages = chat(whole)
    expected, _ = ask(whole, *messages, NEXT, chat="a")
    whole.forget()
    chat(whole)
    whole.title(Title(1, (*messages, REQUEST), "a"))
    assert ask(whole, *messages, NEXT, chat="a")[0] == expected


def test_a_stop_ends_it_and_leaves_the_chat(engine: Engine) -> None:
    messages = chat(engine)
    session = engine._loaded().session
    before = list(session.tokens)
    engine.stop.set()
    with pytest.raises(Stopped):
        engine.title(Title(1, (*messages, REQUEST), "a"))
    engine.stop.clear()
    assert session.tokens == before
    timer = threading.Timer(0.05, engine.stop.set)
    timer.start()
    try:  # a title of so many tokens may be written by then
        engine.title(Title(1, (*messages, REQUEST), "a", max_tokens=MOST_TITLE))
    except Stopped:
        pass
    finally:
        timer.join()
        engine.stop.clear()
    assert session.tokens == before[: len(session.tokens)]
    assert len(before) - len(session.tokens) <= 2


@pytest.mark.parametrize("reason", ["another chat", "much to read", "much to lose", "no room", "no way back"])
def test_a_title_that_would_cost_something_is_not_written(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    messages = chat(engine)
    asked = Title(1, (*messages, REQUEST), "a")
    if reason == "another chat":
        asked = Title(1, (*messages, REQUEST), "b")
    elif reason == "much to read":
        asked = Title(1, (Message("user", "word " * title.MOST_READ), *messages[1:], REQUEST), "a")
    elif reason == "much to lose":
        asked = Title(1, (messages[0], REQUEST), "a")
    elif reason == "no room":
        monkeypatch.setattr(engine._loaded().session, "limit", len(engine._loaded().session.tokens) + 20)
    else:
        monkeypatch.setattr(type(engine._loaded().target), "can_truncate", False)
    before = list(engine._loaded().session.tokens)
    assert engine.title(asked).text == ""
    assert engine._loaded().session.tokens == before


def test_without_a_chat_in_the_cache_there_is_none(engine: Engine) -> None:
    assert engine.title(Title(1, (Message("user", "word " * 200), REQUEST))).text == ""
    assert engine._loaded().session.tokens == []


def test_the_thinking_mode_of_the_chat_does_not_matter_where_there_is_no_switch(whole: Engine) -> None:
    messages = chat(whole)
    assert whole.title(Title(1, (*messages, REQUEST), "a", thinking=ThinkingOptions("off"))).text
