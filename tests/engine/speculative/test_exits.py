"""The best exit layer, computed from what the layers predicted."""

from __future__ import annotations

import dataclasses

import pytest

from common.failures import Failure
from engine.costs.cost_model import LAPTOP, Curve
from engine.costs.measurements import CalibrationKey
from engine.machine import fingerprint
from engine.speculative import exits
from engine.speculative.exits import (
    ExitFound,
    Exits,
    Gain,
    best_gain,
    candidate_exits,
    draft_lengths,
    load_exits,
    trained_exits,
)
from engine.speculative.mid_layer import Exit
from models.default import default_model
from models.header import read_header

KEY = CalibrationKey("model", 2, "f16", "chickadee-graph 2; b", fingerprint())
HALF = Exit(2, lower=0.5, look=0.5)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))


def found(layers: int, speedup: float) -> ExitFound:
    return ExitFound(layers, 0.5, 0.6, Gain(speedup, 2), Gain(1.0, 1))


def test_what_steps_draft():
    assert draft_lengths([True] * 6, 2) == [2, 2]
    assert draft_lengths([False] * 3, 2) == [2, 1, 0]
    assert draft_lengths([True, False, True, True, True], 2) == [2, 2]
    assert draft_lengths([], 2) == []


def test_where_passes_of_any_size_cost_the_same_a_layer_that_is_always_right_drafts_far():
    best = best_gain([[True] * 90], HALF, lambda _k: 1.0, look=0.1)
    assert best.ahead == 8
    assert best.speedup == pytest.approx(9 / 1.8)


def test_a_layer_that_is_never_right_costs_what_it_costs():
    best = best_gain([[False] * 100], HALF, lambda _k: 1.0, look=0.6)
    assert best.ahead == 1
    assert best.speedup == pytest.approx(1 / 1.6, rel=0.01)


def test_what_the_lower_layers_have_seen_is_not_paid_twice():
    """Where each token costs a whole pass, drafting costs no more than the output heads and the rejected tokens."""
    best = best_gain([[True] * 100], HALF, lambda k: float(k), look=0.5)
    assert best.speedup == pytest.approx(1, rel=0.01)


def test_bandwidth_favours_drafts():
    answers = [[True, True, False] * 30]
    assert (
        best_gain(answers, HALF, Curve(LAPTOP).at, 0.5).speedup
        > best_gain(answers, HALF, lambda k: 0.7 * k + 0.3, 0.5).speedup
    )


@pytest.mark.parametrize("layers", [2, 3, 12, 30, 80])
def test_layers_that_are_tried(layers):
    tried = candidate_exits(layers)
    assert len(tried) <= 13
    assert tried[0] == max(1, layers // 4)
    assert tried[-1] == layers - 1


def test_the_best_is_kept_for_this_model_and_machine(folder):
    everything = Exits(KEY, 100, (found(10, 0.7), found(20, 1.2), found(29, 0.9)))
    exits.store_exits(everything)
    again = load_exits(KEY)
    assert again == everything
    assert again.best.layers == 20
    assert again.pays
    assert load_exits(dataclasses.replace(KEY, build="chickadee-graph 9; b")) is None
    assert load_exits(dataclasses.replace(KEY, model="other")) is None
    (path,) = exits.EXITS.folder.iterdir()
    path.write_bytes(b"{")
    assert load_exits(KEY) is None


def test_a_layer_that_loses_does_not_pay():
    assert not Exits(KEY, 100, (found(10, 0.7), found(20, 1.04))).pays


def test_a_folder_that_cannot_be_written(folder):
    exits.EXITS.folder.write_text("a file")
    with pytest.raises(Failure, match="cannot be saved"):
        exits.store_exits(Exits(KEY, 100, (found(10, 0.7),)))


@pytest.mark.parametrize(("value", "layers"), [(20, (20,)), (0, ()), (True, ()), ("20", ()), (None, ())])
def test_a_file_may_say_which_layer_was_trained(value, layers):
    header = read_header(default_model())
    assert (
        trained_exits(dataclasses.replace(header, metadata=header.metadata | {exits.EXIT_LAYER_KEY: value})) == layers
    )
