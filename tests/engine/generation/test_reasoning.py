"""The marks around a thought are part of the answer, wherever they come from."""

from __future__ import annotations

import pytest

from engine.engine import Engine
from engine.generation.answer import Answer, AnswerOptions
from engine.kv.policy import Always, PartialFixed
from engine.kv.session import Session
from engine.protocol import Message, Text
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


@pytest.mark.parametrize(("stops", "expected"), [((), ["<think>\nh", "m", "!"]), (("!!",), ["<think>\nh", "m", "!"])])
def test_the_mark_stands_before_the_first_text(stops: tuple[str, ...], expected: list[str]) -> None:
    """Also where all of the text came at the end: it could have become a stop."""
    prompt = [1, 2, 3]
    target = FakeRuntime(script(b"hm!", len(prompt)))
    options = AnswerOptions(stops, opening="<think>\n")
    answer = Answer(Session(target), greedy(), PartialFixed(Always(), 64), options)
    assert [event.text for event in answer.events(1, prompt) if isinstance(event, Text)] == expected


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
