"""The marks around a thought are part of the answer, wherever they come from."""

from __future__ import annotations

import pytest

from engine.engine import Engine
from engine.protocol import Event, Message, PrefillProgress, Text
from engine.tokenization.continuing import continued_prompt
from engine.tokenization.reasoning import opened_thought, with_opening
from engine.tokenization.template import CHATML
from tests.engine.asking import ask

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
    assert opened_thought([ord(character) for character in prompt][-16:], chr) == opening


def test_the_mark_stands_before_the_first_text() -> None:
    events: list[Event] = [PrefillProgress(1, 1, 1, 0), Text(1, "hm"), Text(1, " so")]
    assert list(with_opening("<think>\n", events)) == [events[0], Text(1, "<think>\nhm"), events[2]]
    assert list(with_opening("", events)) == events


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
