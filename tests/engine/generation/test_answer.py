"""Answers: their text however its bytes are cut, and their reasoning with its markers."""

from __future__ import annotations

import codecs
from dataclasses import replace
from itertools import groupby, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.failures import Failure
from engine.engine import Engine
from engine.generation.answer import Answer, AnswerOptions, TextStream
from engine.generation.tool_calls import ToolCallReader
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import Session
from engine.protocol.events import (
    WRITTEN,
    Finished,
    Logprobs,
    PrefillProgress,
    Text,
    Thinking,
    ThinkingEnded,
    ToolCallArguments,
    ToolCallStarted,
)
from engine.protocol.requests import Generate, Message, Tool, ToolCall
from engine.tokenization.prompt import continued_prompt, opened_reasoning
from engine.tokenization.template import CHATML
from engine.tokenization.tool_formats import HERMES
from tests.engine.asking import GREEDY, ask
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


@given(st.binary() | st.text(max_size=9).map(str.encode))
def test_bytes_one_by_one_are_the_text_of_all(raw):
    assert stream([raw[i : i + 1] for i in range(len(raw))]) == codecs.getincrementaldecoder("utf-8")("replace").decode(
        raw
    )


def test_nothing_follows_a_stop_string():
    text = TextStream(["END"])
    assert text.feed(b"a END b") == "a "
    assert text.stopped
    assert text.feed(b"more") == ""
    assert text.finish() == ""


# --- what programs ask for ---


def test_each_token_of_an_answer_has_its_probability_before_its_text(whole: Engine) -> None:
    request = Generate(1, (QUESTION,), GREEDY, 6, top_logprobs=2, draft="history-published")
    events = list(whole.generate(request))
    told = [token for event in events if isinstance(event, Logprobs) for token in event.tokens]
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert tuple(token.token for token in told) == finished.tokens
    assert b"".join(bytes(token.bytes) for token in told).decode() == "".join(
        event.text for event in events if isinstance(event, WRITTEN)
    )
    for token in told:
        assert token.logprob == token.top[0].logprob <= 0  # a greedy answer takes the likeliest
        assert token.top[0].token == token.token
        assert token.top[0].logprob >= token.top[1].logprob
    kinds = [type(event) for event in events if isinstance(event, Logprobs | Text)]
    assert kinds[0] is Logprobs
    assert not any(isinstance(event, Logprobs) for event in whole.generate(Generate(1, (QUESTION,), GREEDY, 2)))


def test_a_biased_token_is_never_chosen(whole: Engine) -> None:
    _, finished = ask(whole, QUESTION, max_tokens=1)
    banned = finished.tokens[0]
    biased = replace(GREEDY, logit_bias=((banned, -100.0),))
    assert ask(whole, QUESTION, max_tokens=8, sampling=biased)[1].tokens[0] != banned


@pytest.mark.parametrize("form", ["text", "tokens"])
def test_a_plain_prompt_goes_on_without_a_chat_template(whole: Engine, form: str) -> None:
    vocabulary = whole._loaded().template.vocabulary
    tokens = tuple(vocabulary.tokenize("One, two, three,", special=True))
    prompt = "One, two, three," if form == "text" else tokens
    events = list(whole.generate(Generate(1, (), GREEDY, 4, prompt=prompt)))
    finished = events[-1]
    assert isinstance(finished, Finished)
    assert finished.statistics.prompt_tokens == len(tokens) + (form == "text" and vocabulary.adds_bos)
    assert "four" in "".join(event.text for event in events if isinstance(event, WRITTEN))


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("", "message is empty"),
        ((-1,), "no such tokens"),
        ((10**6,), "no such tokens"),
        ("a " * 2000, "the context holds"),
    ],
)
def test_a_wrong_plain_prompt_is_explained(engine: Engine, prompt: str | tuple[int, ...], reason: str) -> None:
    with pytest.raises(Failure, match=reason):
        list(engine.generate(Generate(1, (), GREEDY, 4, prompt=prompt)))


CALL = b'Hm.\n<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'


def test_calls_are_events_and_the_reason_why_the_answer_ended() -> None:
    """Thoughts are no calls, whatever they contain."""
    prompt, calls = [1, 2, 3], ToolCallReader(HERMES, (Tool("f"),), lambda: False)
    target = FakeRuntime(script(b"<think>" + CALL + b"</think>" + CALL, len(prompt)))
    answer = Answer(Session(target), greedy(), PartialFixed(AlwaysPolicy(), 64), AnswerOptions(calls=calls))
    events = [event for event in answer.events(1, prompt) if not isinstance(event, PrefillProgress)]
    assert "".join(event.text for event in events if isinstance(event, Text)) == "Hm.\n"
    assert CALL.decode() in "".join(event.text for event in events if isinstance(event, Thinking))
    started, arguments, finished = events[-3:]
    assert isinstance(started, ToolCallStarted)
    assert (started.index, started.name, started.call[:5]) == (0, "f", "call_")
    assert arguments == ToolCallArguments(1, 0, '{"a": 1}')
    assert isinstance(finished, Finished)
    assert finished.statistics.stop_reason == "tool_calls"


def test_calls_of_an_answer_at_the_end_are_in_the_prompt(engine: Engine) -> None:
    """A chat that ends with an answer that calls tools goes on behind its calls."""
    plain = Message("assistant", "I look.")
    calling = replace(plain, tool_calls=(ToolCall("1", "weather", '{"city": "Rome"}'),))
    _, finished = ask(engine, QUESTION, plain, max_tokens=1, continue_last=True)
    _, called = ask(engine, QUESTION, calling, max_tokens=1, continue_last=True)
    assert called.statistics.prompt_tokens > finished.statistics.prompt_tokens
    prompt = "".join(map(engine._loaded().model.vocabulary.text, engine._last_tokens))
    assert '"city": "Rome"' in prompt
    _, only_called = ask(engine, QUESTION, replace(calling, content=""), max_tokens=1)
    assert only_called.statistics.prompt_tokens < called.statistics.prompt_tokens


@pytest.mark.parametrize("continue_last", [False, True])
def test_an_empty_answer_at_the_end_is_one_that_begins(engine: Engine, continue_last: bool) -> None:
    answer, _ = ask(engine, QUESTION)
    engine.forget()
    assert ask(engine, QUESTION, Message("assistant", ""), continue_last=continue_last)[0] == answer


def test_a_stopped_prompt_counts_what_was_read() -> None:
    target, prompt = FakeRuntime(max_batch=4), list(range(20))
    answer = Answer(Session(target), greedy(), PartialFixed(AlwaysPolicy(), 64), AnswerOptions())
    for event in answer.events(1, prompt):
        if isinstance(event, PrefillProgress) and event.done:
            target.stop.set()
    assert isinstance(event, Finished)
    numbers = event.statistics
    assert (numbers.prompt_tokens, numbers.read_tokens, numbers.unread_tokens) == (20, 4, 16)
    assert answer.counts.read == len(target.cache) == 4
