"""Measured exit layers are stored for their model and machine."""

from __future__ import annotations

import dataclasses

import pytest

from common.failures import Failure
from engine.costs.measurements import CalibrationKey
from engine.machine import fingerprint
from engine.speculative import exits
from engine.speculative.exits import ExitFound, Exits, Gain, load_exits, trained_exits
from models.default import default_model
from models.header import read_header

KEY = CalibrationKey("model", 2, "f16", "chickadee-graph 2; b", fingerprint())


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))


def found(layers: int, speedup: float) -> ExitFound:
    return ExitFound(layers, 0.5, 0.6, Gain(speedup, 2), Gain(1.0, 1))


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
