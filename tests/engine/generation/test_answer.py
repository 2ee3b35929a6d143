"""Answers: their text however its bytes are cut, and their reasoning with its markers."""

from __future__ import annotations

from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.engine import Engine
from engine.generation.answer import Answer, AnswerOptions, TextStream
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import Session
from engine.protocol.events import WRITTEN, ThinkingEnded
from engine.protocol.requests import Message
from engine.tokenization.template import CHATML, continued_prompt, opened_reasoning
from tests.engine.asking import ask
from tests.engine.fake_runtime import FakeRuntime, greedy, script

QUESTION = Message("user", "What is 2 + 2?")


@pytest.mark.parametrize(
    ("prompt", "opening"),
    [
        ("<|im_start|>assistant\n<think>\n", "<think>\n"),
        ("[/INST][THINK]", "[THINK]"),
        ("<|im_start|>assistant\n", ""),
        ("<think>\n\n</think>\n\n", ""),
        ("", ""),
    ],
)
def test_a_prompt_that_opens_a_thought(prompt: str, opening: str) -> None:
    assert opened_reasoning([ord(character) for character in prompt][-16:], chr) == opening


@pytest.mark.parametrize("stops", [(), ("!!",)])
def test_the_mark_stands_before_the_first_text(stops: tuple[str, ...]) -> None:
    """With a stop string all of the text comes at the end, because it could have become that string."""
    prompt = [1, 2, 3]
    target = FakeRuntime(script(b"hm!", len(prompt)))
    options = AnswerOptions(stops, opening="<think>\n")
    answer = Answer(Session(target), greedy(), PartialFixed(AlwaysPolicy(), 64), options)
    written = [event.text for event in answer.events(1, prompt) if isinstance(event, WRITTEN)]
    assert written == ["<think>", "\nh", "m", "!"]


@pytest.mark.parametrize(
    ("text", "begun", "kinds"),
    [
        ("<think>hm</think>\nyes", "", ["ThinkingStarted", "Thinking", "ThinkingEnded", "Text"]),
        ("m</think>\nyes", "<think>h", ["Thinking", "ThinkingEnded", "Text"]),
        ("hm\n</think>\nyes", "", ["Text", "ThinkingEnded", "Text"]),
        ("a <think>", "", ["Text"]),
        ("nk>hm", "<thi", ["ThinkingStarted", "Thinking"]),
    ],
)
def test_reasoning_arrives_as_events(text: str, begun: str, kinds: list[str]) -> None:
    prompt = [1, 2, 3]
    target = FakeRuntime(script(text.encode(), len(prompt)))
    answer = Answer(Session(target), greedy(), PartialFixed(AlwaysPolicy(), 64), AnswerOptions(answer_so_far=begun))
    events = [event for event in answer.events(1, prompt) if isinstance(event, WRITTEN)]
    assert "".join(event.text for event in events) == text
    assert [kind for kind, _ in groupby(type(event).__name__ for event in events)] == kinds
    opened = [event.opened for event in events if isinstance(event, ThinkingEnded)]
    assert opened == ["<think>" in begun + text] * len(opened)


def test_an_answer_that_begins_inside_a_thought_says_so(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    template = engine._loaded().template
    opening = CHATML.replace("<|im_start|>assistant\n", "<|im_start|>assistant\n<think>\n")
    monkeypatch.setattr(template, "_source", opening)
    begun, _ = ask(engine, QUESTION, max_tokens=4)
    assert begun.startswith("<think>\n")
    assert begun.count("<think>") == 1
    rest, finished = ask(engine, QUESTION, Message("assistant", begun), max_tokens=4, continue_last=True)
    assert "<think>" not in rest
    assert finished.statistics.prompt_tokens - finished.statistics.reused_tokens <= 2
    anew = continued_prompt(template, (QUESTION, Message("assistant", begun)), [])
    assert "".join(map(template.vocabulary.text, anew)).count("<think>") == 1


def stream(pieces, stops=()) -> str:
    text = TextStream(stops)
    return "".join(text.feed(piece) for piece in pieces) + text.finish()


def cut(raw: bytes, at: list[int]) -> list[bytes]:
    places = [0, *sorted(place % (len(raw) + 1) for place in at), len(raw)]
    return [raw[a:b] for a, b in pairwise(places)]


@given(st.text(), st.lists(st.integers(0, 1000)))
def test_any_cut_gives_the_same_text(text, at):
    assert stream(cut(text.encode(), at)) == text


@given(
    st.text("abAB"),
    st.lists(st.text("abAB", min_size=1, max_size=4), min_size=1, max_size=3),
    st.lists(st.integers(0, 99)),
)
def test_any_cut_ends_before_the_same_stop_string(text, stops, at):
    shown = stream(cut(text.encode(), at), stops)
    assert text.startswith(shown)
    assert not any(stop in shown for stop in stops)
    if not any(stop in text for stop in stops):
        assert shown == text


@given(st.binary())
def test_no_bytes_are_too_bad(raw):
    stream([raw[i : i + 1] for i in range(len(raw))])


def test_nothing_follows_a_stop_string():
    text = TextStream(["END"])
    assert text.feed(b"a END b") == "a "
    assert text.stopped
    assert text.feed(b"more") == ""
    assert text.finish() == ""
