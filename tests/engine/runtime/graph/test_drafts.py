"""Drafts and uncached tokens on our own graph with the real default model."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from common.failures import Failure
from engine.engine import Engine
from engine.protocol.requests import Sampling
from models.default import default_model
from tests.engine.asking import QUESTION, ask, loaded_from, some_and_all
from tests.engine.kv import test_policy_answers as policies
from tests.engine.speculative import test_real_drafts as drafts
from tests.engine.speculative.test_real_drafts import engine, free_passes

__all__ = ["engine", "free_passes"]

USUAL = ("auto pending", "published tree cached", "a layer pending", "a layer as published cached")


@pytest.fixture(scope="module")
def loaded_whole() -> Iterator[Engine]:
    with loaded_from(default_model(), "graph") as engine:
        yield engine


@pytest.mark.parametrize(
    ("mode", "pending", "questions"), drafts.forms(["auto", "published tree", *drafts.LAYERS], *USUAL)
)
def test_greedy_answers_are_the_plain_ones(engine, free_passes, monkeypatch, mode, pending, questions):
    drafts.test_greedy_answers_are_the_plain_ones(engine, free_passes, monkeypatch, mode, pending, questions)


def test_a_seed_gives_the_same_text_when_a_layer_drafts(engine, free_passes):
    warm = Sampling(temperature=0.9, seed=11)
    runs = []
    for more in ({"draft": "off"}, drafts.LAYERS["a layer"], drafts.LAYERS["a layer as published"]):
        engine.forget()
        runs.append(ask(engine, QUESTION, sampling=warm, max_tokens=20, **more)[1])
    assert len({finished.tokens for finished in runs}) == 1
    assert all(finished.statistics.accepted for finished in runs[1:]), [each.statistics for each in runs]


def test_a_pass_that_a_layer_has_begun_tells_nothing_of_other_passes(engine, monkeypatch):
    seen = []
    measurements = type(engine._loaded().cost_measurements)
    monkeypatch.setattr(measurements, "observe", lambda _self, tokens, *_: seen.append(tokens))
    numbers = ask(engine, QUESTION, max_tokens=8, **drafts.LAYERS["a layer as published"])[1].statistics
    assert numbers.drafted
    assert set(seen) <= {1}


@pytest.mark.parametrize(("layers", "message"), [(30, "1 to 29 of them"), (4000, "this model has 30 in all")])
def test_layers_that_are_not_there(engine, layers, message):
    with pytest.raises(Failure, match=message) as caught:
        ask(engine, QUESTION, draft="midlayer", exit_layers=layers)
    assert caught.value.code == "no_such_layer"


def test_without_a_measurement_three_quarters_of_the_layers_draft(engine, free_passes):
    middle = engine._loaded().sources.exits
    assert middle.drafter(None).exit.layers == 22
    assert middle.paying_drafters() == ()


@pytest.mark.parametrize("questions", some_and_all(policies.QUESTIONS, 3))
def test_tokens_that_stay_uncached_change_no_answer(engine, monkeypatch, questions):
    test = policies.test_greedy_answers_are_the_same_as_with_every_token_cached
    test(engine, monkeypatch, policies.PUBLISHED, questions)
