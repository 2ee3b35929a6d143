"""Every form of drafting on the real default model gives the same answer, with and without pending tokens."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from common.failures import Failure
from engine.costs.cost_model import CostModel, Timings
from engine.engine import Engine
from engine.protocol.events import Trace
from engine.protocol.requests import Generate, Lookup, Message, Sampling
from engine.speculative.policy import DraftPolicy
from tests.engine.asking import GREEDY, QUESTION, ask, assert_same_but_for_near_ties, some_and_all
from tests.engine.kv.test_policy_answers import PUBLISHED

TEXT = "The wren sings in the hedge. The wren sings all day. The robin sings in the hedge too, and all night."
QUESTIONS = [
    f"Repeat this text word by word: {TEXT}",
    f"Replace robin by finch in this text: {TEXT}",
    "Write a poem in which every line begins with the words 'A small bird'.",
]
MODES: dict[str, dict[str, Any]] = {
    "auto": {"draft": "auto"},
    "published": {"draft": "history-published", "lookup": Lookup(1, 1, 6)},
    "published tree": {"draft": "history-published", "lookup": Lookup(1, 4, 5)},
    "published random": {"draft": "history-published", "lookup": Lookup(2, 8, 4, "random")},
}
LAYERS: dict[str, dict[str, Any]] = {  # our own graph's alone
    "a layer": {"draft": "midlayer", "exit_layers": 28},
    "a layer as published": {"draft": "midlayer-published", "exit_layers": 28},
}


def forms(modes: Iterable[str], *usual: str) -> list[Any]:
    """Return parameters for every mode with and without pending tokens.

    All questions are asked in `make test-slow`; the `usual` forms, named by mode and cache, ask one question in every
    run.
    """
    cases = []
    for mode, (cache, pending) in itertools.product(modes, {"cached": False, "pending": True}.items()):
        name = f"{mode} {cache}"
        if name in usual:
            cases.append(pytest.param(mode, pending, QUESTIONS[:1], id=name))
        cases.append(pytest.param(mode, pending, QUESTIONS, id=f"{name} all", marks=pytest.mark.slow))
    return cases


@pytest.fixture
def engine(whole: Engine) -> Engine:
    """Return the engine with the whole model, because only text that makes sense is drafted well."""
    return whole


@pytest.fixture
def free_passes(engine, monkeypatch):
    """Let the engine believe that passes of any size cost the same, and forget what it learned.

    The cost is far more than drafting takes on any computer.
    """
    chat = engine._loaded()
    free = Timings({0: dict.fromkeys((1, 8, 48), 100.0)}, 0.0, 512, 200.0)
    monkeypatch.setattr(chat.cost_measurements, "cost_model", CostModel(free))
    monkeypatch.setattr(chat.sources, "policy", DraftPolicy())
    monkeypatch.setattr(type(chat.cost_measurements), "observe", lambda *_: None)


@pytest.mark.parametrize(
    ("mode", "pending", "questions"),
    forms(MODES, "auto pending", "published tree pending", "published random cached"),
)
def test_greedy_answers_are_the_plain_ones(engine, free_passes, monkeypatch, mode, pending, questions):
    if pending:
        monkeypatch.setattr("engine.engine.policy_for", lambda *_: PUBLISHED)
    accepted = recomputed = 0
    for question in questions:
        messages = (Message("user", question),)
        _, plain = ask(engine, *messages, max_tokens=24, kv_policy="always", draft="off")
        _, drafted = ask(engine, *messages, max_tokens=24, **(MODES | LAYERS)[mode])
        assert_same_but_for_near_ties(engine, messages, plain.tokens, drafted.tokens)
        numbers = drafted.statistics
        assert numbers.accepted <= numbers.drafted
        assert sum(one.accepted for one in numbers.drafters) == numbers.accepted
        assert numbers.steps + numbers.accepted >= numbers.decode_tokens - 1
        accepted += numbers.accepted
        recomputed += numbers.recomputed_tokens
    assert accepted > 3 * len(questions)
    assert (recomputed > 0) == pending


@pytest.mark.parametrize("questions", some_and_all(QUESTIONS[:2], 1))
def test_a_seed_gives_one_text_on_every_run(engine, free_passes, questions):
    """What was learned between the runs changes the drafts but not the text."""
    warm = Sampling(temperature=0.9, repeat_penalty=1.1, seed=11)
    modes = ({"draft": "off"}, {"draft": "auto"}, {"draft": "auto"}, MODES["published tree"])
    for question in questions:
        runs = []
        for mode in modes:
            engine.forget()  # a prompt that is read in other pieces has other last bits
            runs.append(ask(engine, Message("user", question), sampling=warm, max_tokens=16, **mode)[1])
        assert len({finished.tokens for finished in runs}) == 1
        assert all(finished.statistics.accepted for finished in runs[1:])


def test_models_that_are_not_there_draft_nothing(engine):
    with pytest.raises(Failure, match="No draft model") as caught:
        list(engine.generate(Generate(1, (QUESTION,), draft="model")))
    assert caught.value.code == "no_draft_model"


@pytest.mark.parametrize("mode", LAYERS)
def test_layers_draft_on_our_own_graph_only(engine, mode):
    with pytest.raises(Failure, match="Choose the built-in engine") as caught:
        list(engine.generate(Generate(1, (QUESTION,), **LAYERS[mode])))
    assert caught.value.code == "no_early_exit"


def test_what_drafting_does_is_counted_and_traced(engine, free_passes):
    messages = (Message("user", QUESTIONS[0]),)
    *events, finished = engine.generate(Generate(1, messages, GREEDY, max_tokens=32, draft="history", trace=True))
    passes = [event for event in events if isinstance(event, Trace)]
    numbers, (lookup,) = finished.statistics, finished.statistics.drafters
    assert (lookup.name, lookup.drafted, lookup.accepted) == ("history", numbers.drafted, numbers.accepted)
    assert lookup.proposed >= lookup.drafted == sum(p.drafted for p in passes) > 0
    assert 0 < lookup.seconds <= numbers.drafting_seconds
    assert numbers.verifying_seconds == sum(p.seconds for p in passes if p.drafted)
    # Every pass takes a second, whatever its size.
    assert numbers.estimated_speedup == pytest.approx((len(passes) + numbers.accepted) / len(passes), rel=0.01)
    for p in passes:
        assert p.plain_seconds == p.pass_seconds == 100
        assert (p.drafter == "history") == bool(p.drafted) == (p.gain > 1)
        assert (p.expected > 0) == bool(p.drafted)


def test_a_model_without_timings_drafts_in_published_form_only(engine, monkeypatch):
    monkeypatch.setattr(engine._loaded().cost_measurements, "cost_model", None)
    assert not engine.calibrated
    messages = (Message("user", QUESTIONS[0]),)
    for mode in ("auto", "history"):
        assert ask(engine, *messages, max_tokens=8, draft=mode)[1].statistics.drafters == ()
    numbers = ask(engine, *messages, max_tokens=24, draft="history-published")[1].statistics
    assert numbers.accepted > 0
    assert numbers.estimated_speedup == 1
