"""Thoughts that end early: exactly at their budget, at once on request, the same with any drafts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.reasoning import HURRIED, MARKERS, early_end
from engine.engine import Engine
from engine.generation.answer import Answer, AnswerOptions
from engine.generation.thinking import ThoughtMeter
from engine.kv.policy import PartialFixed
from engine.kv.session import Session
from engine.protocol.events import WRITTEN, Event, Finished, Thinking, ThinkingEnded, ThinkingStarted
from engine.protocol.requests import Generate, Message, ThinkingOptions
from engine.tokenization.template import CHATML
from tests.engine.asking import GREEDY, QUESTION, ask, assert_same_but_for_near_ties
from tests.engine.fake_runtime import END, FakeRuntime, greedy, letters
from tests.engine.kv.test_policy import Listed
from tests.engine.speculative.test_drafting import Guess

PROMPT = list(b"the small bird sang. ")
CLOSING = early_end("</think>")


def thinker(length: int | None = None, opening: str = "<think>", closing: str = "</think>"):
    """Return a model that thinks `length` letters (None: for ever) and answers "yes" once the thought is closed."""
    mark, end = opening.encode(), closing.encode()

    def choose(tokens: Sequence[int]) -> int:
        written = bytes(token for token in tokens[len(PROMPT) :] if token != END)
        _, marker, text = written.partition(end)
        if marker:
            return b"yes"[len(text.strip())] if len(text.strip()) < 3 else END
        if len(written) < len(mark):
            return mark[len(written)]
        thought = written[len(mark) :]
        if length is not None and len(thought) >= length:
            return end[(len(thought) - length) % len(end)]
        return letters(tokens)

    return choose


def answer_of(choose, options, drafting=None, keeps=None, **runtime):
    target = FakeRuntime(choose, **runtime)
    kv = PartialFixed(Listed(keeps or [True]), target.max_batch)
    return Answer(Session(target), greedy(), kv, options, drafting)


def text_and_end(events: Iterator[Event]) -> tuple[str, Finished]:
    parts = list(events)
    assert isinstance(parts[-1], Finished)
    return "".join(event.text for event in parts if isinstance(event, WRITTEN)), parts[-1]


@given(
    st.integers(0, 10**6),
    st.integers(1, 30),
    st.sampled_from([None, 0, 1, 9, 29, 30, 31]),
    st.lists(st.booleans(), min_size=1, max_size=5),
    st.sampled_from([1, 3, 5]),
)
def test_a_thought_has_at_most_its_budget_whatever_is_drafted(seed, budget, length, keeps, branches):
    choose = thinker(length)
    options = AnswerOptions(thinking_budget=budget, max_tokens=300)
    plain, finished = text_and_end(answer_of(choose, options).events(1, PROMPT))
    drafted = answer_of(choose, options, Guess(choose, random.Random(seed), branches), keeps)
    assert text_and_end(drafted.events(1, PROMPT))[0] == plain
    opened, _, rest = plain.partition("<think>")
    assert opened == ""
    # This model's marker is of several tokens, which count until the last one shows that they are a marker.
    ended_itself = length is not None and length + len("</think>") <= budget
    assert len(rest.partition("</think>" if ended_itself else CLOSING)[0]) == (length if ended_itself else budget)
    assert plain.endswith("yes")
    assert finished.statistics.stop_reason == "end"
    assert [*drafted.session.tokens, *drafted.kv.pending][: len(PROMPT)] == PROMPT


@pytest.mark.parametrize(("budget", "max_batch"), [(5, 64), (5, 16), (1, 64)])
def test_the_closing_phrase_stands_at_the_budget(budget, max_batch):
    answer = answer_of(thinker(), AnswerOptions(thinking_budget=budget), max_batch=max_batch)
    text, finished = text_and_end(answer.events(1, PROMPT))
    start = len("<think>")
    assert text[start + budget :] == f"{CLOSING}yes"
    assert bytes(finished.tokens).decode() == text
    assert answer.session.tokens == [*PROMPT, *finished.tokens]
    assert finished.statistics.thinking_tokens >= budget


def test_without_a_budget_a_thought_goes_on():
    text, finished = text_and_end(answer_of(thinker(), AnswerOptions(max_tokens=40)).events(1, PROMPT))
    assert "</think>" not in text
    assert finished.statistics.thinking_tokens == 40 - len("<think>")


def test_text_has_no_budget():
    text, finished = text_and_end(answer_of(letters, AnswerOptions(max_tokens=40, thinking_budget=5)).events(1, PROMPT))
    assert len(text) == 40
    assert finished.statistics.thinking_tokens == 0


def test_a_budget_does_not_exceed_the_longest_answer_or_the_context():
    _, finished = text_and_end(answer_of(thinker(), AnswerOptions(max_tokens=20, thinking_budget=9)).events(1, PROMPT))
    assert (finished.statistics.stop_reason, len(finished.tokens)) == ("length", 16)
    _, finished = text_and_end(answer_of(thinker(), AnswerOptions(thinking_budget=9), n_ctx=60).events(1, PROMPT))
    assert (finished.statistics.stop_reason, len(finished.tokens)) == ("context", 16)


@pytest.mark.parametrize("drafts", [False, True])
def test_answer_now_ends_the_thought_with_the_next_token(drafts):
    choose = thinker()
    answer = answer_of(choose, AnswerOptions(), Guess(choose, random.Random(1)) if drafts else None)
    assert not answer.end_thought()
    written = ""
    at = 0
    for event in answer.events(1, PROMPT):
        if isinstance(event, WRITTEN):
            written += event.text
        if isinstance(event, Thinking) and len(written) > 20 and not at:
            at = len(written)
            assert answer.end_thought()
    assert written[at:] == f"{CLOSING}yes"
    assert not answer.end_thought()


def test_answer_now_has_no_effect_on_text():
    answer = answer_of(letters, AnswerOptions(max_tokens=20))
    for event in answer.events(1, PROMPT):
        assert not (isinstance(event, WRITTEN) and answer.end_thought())
    assert CLOSING not in bytes(answer.counts.tokens).decode()


@pytest.mark.parametrize(("opening", "closings"), MARKERS)
def test_every_marker_is_closed_by_its_own(opening, closings):
    answer = answer_of(thinker(None, opening, closings[0]), AnswerOptions(thinking_budget=4))
    events = list(answer.events(1, PROMPT))
    ended = next(event for event in events if isinstance(event, ThinkingEnded))
    assert ended.text == closings[0]
    assert ended.opened
    assert (HURRIED.strip() in "".join(e.text for e in events if isinstance(e, Thinking))) == (
        opening[:1] == "<" and (closings[0].startswith("</"))
    )
    assert "".join(event.text for event in events if isinstance(event, WRITTEN)).endswith("yes")


def test_a_thought_is_not_ended_within_a_character():
    bird = "🐦".encode()

    def choose(tokens: Sequence[int]) -> int:
        written = len(tokens) - len(PROMPT)
        text = bytes(tokens[len(PROMPT) :])
        if b"</think>" in text:
            return END
        return b"<think>"[written] if 0 <= written < 7 else bird[(written - 7) % 4]

    text, _ = text_and_end(answer_of(choose, AnswerOptions(thinking_budget=6)).events(1, PROMPT))
    assert text == f"<think>🐦🐦{CLOSING}"


def test_a_continued_thought_counts_what_was_thought_before():
    options = AnswerOptions(thinking_budget=10, answer_so_far="<think>abcdef")
    started = [*PROMPT, *b"<think>abcdef"]
    text, _ = text_and_end(answer_of(thinker(), options).events(1, started))
    assert text[4:] == f"{CLOSING}yes"


def test_the_window_learns_how_long_a_thought_was():
    events = list(answer_of(thinker(12), AnswerOptions()).events(1, PROMPT))
    ended = next(event for event in events if isinstance(event, ThinkingEnded))
    # The beginning of the closing marker is several tokens here, which cannot be told from the thought at first.
    assert ended.tokens == 12 + len("</think>") - 1
    assert ended.seconds > 0
    assert isinstance(events[-1], Finished)
    assert events[-1].statistics.thinking_tokens == ended.tokens
    assert events[-1].statistics.thinking_seconds == ended.seconds


def test_the_meter_adds_up_several_thoughts():
    seconds = iter(range(100))
    meter = ThoughtMeter(lambda: float(next(seconds)))
    meter.begin(3)
    meter.add([], 1)
    meter.close()
    assert (meter.tokens, meter.last_tokens, meter.last_seconds) == (4, 4, 1.0)
    meter.begin(0)
    meter.add([], 1)
    meter.close()
    assert (meter.tokens, meter.last_tokens) == (5, 1)


THINKING = CHATML.replace("<|im_start|>assistant\n", "<|im_start|>assistant\n<think>\n")


@pytest.mark.parametrize("draft", ["off", "history-published"])
def test_the_real_model_thinks_as_long_as_allowed(whole: Engine, monkeypatch: pytest.MonkeyPatch, draft: str) -> None:
    engine = whole
    monkeypatch.setattr(engine._loaded().template, "_source", THINKING)
    options = ThinkingOptions(budget=12)
    text, finished = ask(engine, QUESTION, max_tokens=60, thinking=options, draft=draft)
    assert text.startswith("<think>\n")
    assert text.count(CLOSING) == 1
    statistics = finished.statistics
    vocabulary = engine._loaded().model.vocabulary
    closing = vocabulary.tokenize(CLOSING, special=True)
    assert list(finished.tokens[12 : 12 + len(closing)]) == closing
    assert statistics.thinking_tokens >= 12
    _, plain = ask(engine, QUESTION, max_tokens=12, draft="off")
    assert_same_but_for_near_ties(engine, (QUESTION,), finished.tokens[:12], plain.tokens)


def test_the_real_model_answers_now(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine._loaded().template, "_source", THINKING)
    request = Generate(7, (QUESTION,), GREEDY, max_tokens=60)
    kinds: list[type] = []
    for event in engine.generate(request):
        if isinstance(event, Thinking) and ThinkingEnded not in kinds and len(kinds) == 4:
            assert not engine.end_thought(8)
            assert engine.end_thought(7)
        if isinstance(event, WRITTEN):
            kinds.append(type(event))
    assert kinds[0] is ThinkingStarted
    assert kinds.index(ThinkingEnded) <= 8
    assert not engine.end_thought(7)


def test_an_answer_after_a_forced_end_can_be_continued(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine._loaded().template, "_source", THINKING)
    begun, first = ask(engine, QUESTION, max_tokens=50, thinking=ThinkingOptions(budget=6))
    assert first.statistics.stop_reason == "length"
    _, rest = ask(engine, QUESTION, Message("assistant", begun), max_tokens=4, continue_last=True)
    assert rest.statistics.prompt_tokens - rest.statistics.reused_tokens <= 2
