"""The marks around a thought are part of the answer, wherever they come from."""

from __future__ import annotations

from itertools import groupby

import pytest

from engine.engine import Engine
from engine.generation.answer import Answer, AnswerOptions
from engine.kv.policy import Always, PartialFixed
from engine.kv.session import Session
from engine.protocol import WRITTEN, Message, ThinkingEnded
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
    """Also where all of the text came at the end: it could have become a stop."""
    prompt = [1, 2, 3]
    target = FakeRuntime(script(b"hm!", len(prompt)))
    options = AnswerOptions(stops, opening="<think>\n")
    answer = Answer(Session(target), greedy(), PartialFixed(Always(), 64), options)
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
    answer = Answer(Session(target), greedy(), PartialFixed(Always(), 64), AnswerOptions(begun=begun))
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
