"""Continued answers: an answer that stopped goes on as if it had not, with the real model."""

from __future__ import annotations

import pytest

from common.failures import Failure
from engine.engine import Engine
from engine.protocol.requests import Infill, Message
from engine.tokenization.prompt import continued_prompt, infill_prompt
from engine.tokenization.tokens import InfillTokens
from tests.engine.asking import QUESTION, ask, assert_same_but_for_near_ties
from tests.engine.fake_runtime import FakeVocabulary

LONG = Message("user", "Explain in a few sentences why the sky is blue.")


@pytest.mark.parametrize("first", [pytest.param(1, marks=pytest.mark.slow), 8])
def test_a_continued_answer_is_the_uninterrupted_one(engine: Engine, first: int) -> None:
    whole, uninterrupted = ask(engine, LONG, max_tokens=24)
    engine.forget()
    begun, stopped = ask(engine, LONG, max_tokens=first)
    assert stopped.statistics.stop_reason == "length"
    rest, finished = ask(engine, LONG, Message("assistant", begun), max_tokens=24 - first, continue_last=True)
    tokens = stopped.tokens + finished.tokens
    assert_same_but_for_near_ties(engine, (LONG,), tokens, uninterrupted.tokens)
    if tokens == uninterrupted.tokens:
        assert begun + rest == whole
    # Two tokens run: one whose keys and values were not needed before, and the last one for its logits.
    assert finished.statistics.prompt_tokens - finished.statistics.reused_tokens <= 2


def test_a_continued_answer_can_be_continued(engine: Engine) -> None:
    first, _ = ask(engine, LONG, max_tokens=5)
    second, _ = ask(engine, LONG, Message("assistant", first), max_tokens=5, continue_last=True)
    messages = (LONG, Message("assistant", first + second))
    third, finished = ask(engine, *messages, max_tokens=5, continue_last=True)
    assert third
    assert finished.statistics.prompt_tokens - finished.statistics.reused_tokens <= 2


def test_an_answer_of_another_day_goes_on_from_its_text(engine: Engine) -> None:
    """Nothing is cached or remembered: the prompt is the same text, though its tokens may differ."""
    chat = engine._loaded()
    answer = Message("assistant", "The sky is blue because <|im_end|> of the way")
    prompt = "".join(map(chat.model.vocabulary.text, continued_prompt(chat.template, (LONG, answer), [])))
    asked = "".join(map(chat.model.vocabulary.text, chat.template.tokens((LONG,))))
    assert prompt == asked + answer.content
    text, _ = ask(engine, LONG, answer, max_tokens=8, continue_last=True)
    assert text


def test_forgotten_turns_are_left_out_of_a_continuation_too(engine: Engine) -> None:
    chat = (QUESTION, Message("assistant", "Tits are small."), LONG)
    begun, _ = ask(engine, *chat, max_tokens=4)
    _, finished = ask(engine, *chat, Message("assistant", begun), max_tokens=4, continue_last=True, forget_turns=1)
    _, alone = ask(engine, LONG, max_tokens=1)
    assert finished.statistics.prompt_tokens - alone.statistics.prompt_tokens in (4, 5)


@pytest.mark.parametrize("messages", [(LONG,), (Message("assistant", "I"),), (LONG, LONG)])
def test_there_must_be_an_answer_to_continue(engine: Engine, messages: tuple[Message, ...]) -> None:
    with pytest.raises(Failure, match="no answer to continue"):
        ask(engine, *messages, continue_last=True)


class InfillVocabulary(FakeVocabulary):
    """A vocabulary whose tokens are bytes, and the marks 256 to 260."""

    infill_tokens: InfillTokens | None = InfillTokens(256, 257, 258)


MARKS = {256: "<PRE>", 257: "<SUF>", 258: "<MID>", 259: "<REPO>", 260: "<FILE>"}


def infilled(infill: Infill, answer: int, n_ctx: int, vocabulary: FakeVocabulary) -> str:
    """Return a prompt for the middle of a text, with its marks in words."""
    tokens = infill_prompt(vocabulary, infill, answer, n_ctx)
    assert len(tokens) + answer <= n_ctx
    return "".join(MARKS.get(token, chr(token)) for token in tokens)


def test_a_prompt_for_the_middle_of_a_text() -> None:
    vocabulary = InfillVocabulary()
    files = (("a.py", "x"), ("b.py", "y"))
    assert infilled(Infill("before", "behind"), 10, 100, vocabulary) == "<PRE>before<SUF>behind<MID>"
    assert infilled(Infill("before", "behind", files), 10, 100, vocabulary) == "\n\nx\n\ny<PRE>before<SUF>behind<MID>"
    vocabulary.infill_tokens = InfillTokens(256, 257, 258, 259, 260)
    assert infilled(Infill("before", "behind", files), 10, 100, vocabulary) == (
        "<REPO>project\n<FILE>a.py\nx<FILE>b.py\ny<FILE>current\n<PRE>before<SUF>behind<MID>"
    )


def test_what_is_near_the_middle_stays_of_a_text_that_does_not_fit() -> None:
    vocabulary, files = InfillVocabulary(), (("a.py", "x" * 50),)
    assert infilled(Infill("before", "behind", files), 10, 30, vocabulary) == "xxx<PRE>before<SUF>behind<MID>"
    assert infilled(Infill("before", "behind", files), 10, 23, vocabulary) == "<PRE>before<SUF>be<MID>"
    assert infilled(Infill("before" * 9, "b", files), 10, 23, vocabulary) == "<PRE>ebefore<SUF>b<MID>"
    assert infilled(Infill("b", "behind" * 9), 10, 23, vocabulary) == "<PRE>b<SUF>behindb<MID>"


def test_a_model_without_marks_for_the_middle_is_told() -> None:
    vocabulary = InfillVocabulary()
    vocabulary.infill_tokens = None
    with pytest.raises(Failure, match=r"Qwen2\.5-Coder"):
        infill_prompt(vocabulary, Infill("a", "b"), 10, 100)
