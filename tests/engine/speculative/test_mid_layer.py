"""Mid-layer decoding with a tiny model: drafts change no answer, costs count what verifying saves; gains are kept."""

from __future__ import annotations

import dataclasses
import math
import random

import numpy as np
import pytest

from common.failures import Failure
from engine.costs.cost_model import CostModel, Timings
from engine.costs.measurements import CalibrationKey
from engine.generation.decode import decode
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import Session
from engine.machine import fingerprint
from engine.runtime.interface import RowLogits, prefill
from engine.speculative.drafting import Auto, Fixed
from engine.speculative.mid_layer import (
    EXIT_LAYER_KEY,
    EXITS,
    EarlyExits,
    Exit,
    ExitFound,
    Exits,
    Gain,
    MidLayer,
    exit_of,
    load_exits,
    store_exits,
    trained_exits,
)
from engine.speculative.policy import DraftPolicy
from engine.speculative.published import PublishedMidLayer
from engine.stop import Stopped
from models.default import default_model
from models.header import read_header
from models.shapes import shapes_of
from tests.engine.fake_runtime import END, FakeRuntime, greedy, letters, script
from tests.engine.speculative.test_draft_model import Dear

PROMPT = list(b"the small bird sang. the small bird ")
EXIT = Exit(2, lower=0.5, look=0.6)
KEY = CalibrationKey("model", 2, "f16", "chickadee-graph 2; b", fingerprint())


class Exiting(FakeRuntime):
    """A fake model whose lower layers predict what `guess` says of all tokens so far, with this probability."""

    probability = 0.9

    def __init__(self, choose=letters, guess=letters, **more):
        super().__init__(choose, **more)
        self.guess = guess
        self.exits = range(1, 4)
        self.ahead: list[int] = []
        self.looked: list[list[int]] = []

    def look_ahead(self, tokens, layers):
        if self.stop.is_set():
            raise Stopped
        assert self.size + len(self.ahead) + len(tokens) <= self.n_ctx
        self.ahead.extend(tokens)
        self.looked.append(list(tokens))
        row = np.zeros(257, np.float32)
        row[self.guess([*self.cache, *self.ahead])] = math.log(self.probability / (1 - self.probability) * 256)
        return RowLogits([row])

    def _run(self, tokens):
        said = super()._run(tokens)
        self.ahead = []
        return said


def table(c: float = 0.0) -> CostModel:
    """Return costs at which a pass of one token takes a second and each further token `c` seconds."""
    return CostModel(Timings({0: {k: 1 + c * (k - 1) for k in (1, 8, 48)}}, 0.0, 512, 1 + c * 511))


def answer(target, drafting, count=60) -> list[int]:
    session = Session(target)
    list(session.prefill(PROMPT))
    steps = decode(session, greedy(), PartialFixed(AlwaysPolicy(), 64), count, drafting)
    return [token for step in steps for token in step.tokens]


def often_wrong(seed: int):
    def guess(tokens):
        right = random.Random(f"{seed} {tokens}").random() < 0.7
        return letters(tokens) if right else 97

    return guess


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_no_answer_changes(published, seed):
    plain = answer(FakeRuntime(), None)
    target, costs = Exiting(guess=often_wrong(seed)), Dear()
    drafter = (PublishedMidLayer if published else MidLayer)(target, EXIT, lambda: costs)
    drafting = Fixed(drafter, None) if published else Auto((drafter,), DraftPolicy(), costs)
    assert answer(target, drafting) == plain
    assert len(target.passes) < 50  # of 60 tokens
    assert target.looked


def test_the_published_form_is_one_token_ahead():
    target = Exiting()
    drafter = PublishedMidLayer(target, EXIT, lambda: None)
    drafter.begin(PROMPT)
    list(prefill(target, PROMPT))
    drafter.extend([97])
    (draft,) = drafter.propose(8)
    assert draft.tokens == (letters([*PROMPT, 97]),)
    assert draft.drafter == "midlayer-published"
    assert target.looked == [[97]]


def test_tokens_that_are_not_kept_are_looked_at_first():
    target = Exiting()
    drafter = MidLayer(target, EXIT, Dear)
    drafter.begin([*PROMPT, 97, 98])
    list(prefill(target, PROMPT))
    drafter.extend([99])
    (draft,) = drafter.propose(3)
    assert len(draft.tokens) == 3
    first, second, _ = draft.tokens
    assert target.looked == [[97, 98, 99], [first], [second]]
    assert first == letters([*PROMPT, 97, 98, 99])


@pytest.mark.parametrize(("probability", "length"), [(0.1, 1), (0.5, 2), (0.9, 8), (0.99, 8)])
def test_no_more_is_written_than_is_likely_right(probability, length):
    """One more token costs 0.28 plain steps here, less what verifying saves."""
    target = Exiting()
    target.probability = probability
    drafter = MidLayer(target, Exit(2, lower=0.5, look=0.3), lambda: table(0.04))
    drafter.begin(PROMPT)
    list(prefill(target, PROMPT))
    drafter.extend([97])
    drafter._times.record(1, 0.3)
    (draft,) = drafter.propose(8)
    assert len(draft.tokens) == length
    assert draft.confidence == pytest.approx((probability,) * length, rel=0.01)


def test_what_verifying_saves_is_no_cost():
    drafter = MidLayer(Exiting(), EXIT, lambda: table(0.5))
    assert drafter.cost == pytest.approx(0.6 - 0.5 * 0.5)
    for seconds in (0.4, 0.41, 0.42, 9.0):
        drafter._times.record(1, seconds)
    assert drafter.cost == pytest.approx(0.41 - 0.25)
    for _ in range(32):
        drafter._times.record(1, 0.1)
    assert 0 < drafter.cost < 0.01  # never for nothing


def test_where_the_layers_would_end_the_answer_nothing_is_drafted():
    target = Exiting(script(b"so it is", len(PROMPT)), guess=lambda _tokens: END)
    drafter = PublishedMidLayer(target, EXIT, lambda: None)
    assert bytes(answer(target, Fixed(drafter, None))) == b"so it is"
    assert target.looked
    assert max(target.passes[-8:]) == 1


def test_a_full_context_leaves_no_room_to_look_ahead():
    target = Exiting(n_ctx=len(PROMPT) + 10)
    costs = Dear()
    assert len(answer(target, Auto((MidLayer(target, EXIT, lambda: costs),), DraftPolicy(), costs))) == 11


def test_stopped_while_looking_ahead():
    target = Exiting()
    drafter = PublishedMidLayer(target, EXIT, lambda: None)
    drafter.begin(PROMPT)
    list(prefill(target, PROMPT))
    drafter.extend([97])
    target.stop.set()
    with pytest.raises(Stopped):
        drafter.propose(1)


def test_the_work_of_layers_is_known_from_the_weights():
    shapes = shapes_of(read_header(default_model()))
    third, most = exit_of(shapes, 10, 30), exit_of(shapes, 29, 30)
    assert third.lower == pytest.approx(1 / 3)
    assert 1 / 3 < third.look < most.look < 1
    unknown = exit_of(None, 10, 30)
    assert (unknown.lower, unknown.look) == pytest.approx((1 / 3, 1 / 3))


def test_a_layer_that_the_model_does_not_have_is_not_used():
    middle = EarlyExits(Exiting(), None, lambda: None, best=99, pays=True)
    assert middle.paying_drafters() == ()


# --- stored measurements ---


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))


def exit_found(layers: int, speedup: float) -> ExitFound:
    return ExitFound(layers, 0.5, 0.6, Gain(speedup, 2), Gain(1.0, 1))


def test_the_best_is_kept_for_this_model_and_machine(folder):
    everything = Exits(KEY, 100, (exit_found(10, 0.7), exit_found(20, 1.2), exit_found(29, 0.9)))
    store_exits(everything)
    again = load_exits(KEY)
    assert again == everything
    assert again.best.layers == 20
    assert again.pays
    assert load_exits(dataclasses.replace(KEY, build="chickadee-graph 9; b")) is None
    assert load_exits(dataclasses.replace(KEY, model="other")) is None
    (path,) = EXITS.folder.iterdir()
    path.write_bytes(b"{")
    assert load_exits(KEY) is None


def test_a_layer_that_loses_does_not_pay():
    assert not Exits(KEY, 100, (exit_found(10, 0.7), exit_found(20, 1.04))).pays


def test_a_folder_that_cannot_be_written(folder):
    EXITS.folder.write_text("a file")
    with pytest.raises(Failure, match="cannot be saved"):
        store_exits(Exits(KEY, 100, (exit_found(10, 0.7),)))


@pytest.mark.parametrize(("value", "layers"), [(20, (20,)), (0, ()), (True, ()), ("20", ()), (None, ())])
def test_a_file_may_say_which_layer_was_trained(value, layers):
    header = read_header(default_model())
    assert trained_exits(dataclasses.replace(header, metadata=header.metadata | {EXIT_LAYER_KEY: value})) == layers
