"""Layers that a model brings to draft its next tokens, as far as headers tell of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.dialogs.model_details import details_of
from benchmarks.tiny_models import write_tiny_model
from benchmarks.tiny_shapes import OWN_LAYERS, SHAPES
from common.sentences import Sentence
from models.choices import Choice
from models.collection import describe_model
from models.commands.info import lines
from models.facts import facts_of
from models.header import Header, Scalar, read_header
from models.own_drafter import USABLE, only_drafts, own_layers, refusal, usable_layers
from models.tensors import tensor_bytes


@pytest.fixture(scope="module")
def header(tmp_path_factory) -> Header:
    path: Path = tmp_path_factory.mktemp("models") / "m.gguf"
    return read_header(write_tiny_model(path, OWN_LAYERS["qwen35-mtp"]))


def changed(header: Header, **values: Scalar) -> Header:
    own = {f"{header.architecture}.{key}": value for key, value in values.items()}
    return replace(header, metadata={**header.metadata, **own})


def test_layers_are_found_with_their_bytes(header):
    layers = usable_layers((header,))
    assert layers is not None
    assert (layers.first, layers.count) == (4, 1)
    assert layers.bytes == sum(tensor_bytes(t) for t in header.tensors if t.name.startswith("blk.4."))
    assert refusal((header,)) is None


def test_layers_may_lie_in_another_file_of_the_model(header):
    own = [tensor for tensor in header.tensors if tensor.name.startswith("blk.4.")]
    others = [tensor for tensor in header.tensors if tensor not in own]
    parts = replace(header, tensors=tuple(others)), replace(header, metadata={}, tensors=tuple(own))
    assert usable_layers(parts) == usable_layers((header,))


def test_a_file_that_leaves_the_layers_out_says_so(header):
    trunk = replace(header, tensors=tuple(t for t in header.tensors if not t.name.startswith("blk.4.")))
    assert refusal((trunk,)) == Sentence.of("own_drafter.left_out")
    assert usable_layers((trunk,)) is None


@pytest.mark.parametrize(("architecture", "count"), [("ernie4_5-moe", 1), ("qwen35", 2)])
def test_layers_that_the_library_cannot_use_are_refused(header, architecture, count):
    metadata = {**header.metadata, "general.architecture": architecture}
    other = changed(replace(header, metadata=metadata), nextn_predict_layers=count, block_count=4 + count)
    assert refusal((other,)) == Sentence.of("own_drafter.unknown", architecture=architecture)


@pytest.mark.parametrize("values", [
    {"nextn_predict_layers": 0}, {"nextn_predict_layers": -1}, {"nextn_predict_layers": "1"},
    {"nextn_predict_layers": True}, {"nextn_predict_layers": 5}, {"block_count": 1 << 40},
])  # fmt: skip
def test_strange_numbers_of_layers_are_none(header, values):
    assert own_layers((changed(header, **values),)) is None
    assert refusal((changed(header, **values),)) is None


def test_most_models_bring_none(tmp_path):
    header = read_header(write_tiny_model(tmp_path / "m.gguf", SHAPES["qwen3"]))
    assert own_layers((header,)) is None


def test_usable_architectures_are_those_that_are_tried():
    assert {shape["architecture"] for shape in OWN_LAYERS.values()} == set(USABLE)


def test_facts_say_whether_a_model_includes_its_own_drafter(header, tmp_path):
    assert facts_of((header,)).own_drafter == Sentence.of("own_drafter.included")
    trunk = replace(header, tensors=tuple(t for t in header.tensors if not t.name.startswith("blk.4.")))
    assert facts_of((trunk,)).own_drafter == Sentence.of("own_drafter.left_out")
    plain = read_header(write_tiny_model(tmp_path / "m.gguf", SHAPES["qwen3"]))
    assert facts_of((plain,)).own_drafter is None


def test_a_file_of_layers_alone_only_drafts(header):
    blocks = tuple(f"blk.{i}." for i in range(4))
    alone = replace(header, tensors=tuple(t for t in header.tensors if not t.name.startswith(blocks)))
    assert only_drafts(alone)
    assert not only_drafts(header)
    assert facts_of((alone,)).kind == "drafter"


def test_cards_and_the_terminal_say_what_drafts(tmp_path):
    path = write_tiny_model(tmp_path / "model.gguf", SHAPES["qwen3"])
    model = describe_model(path)
    assert "Own drafter" not in dict(details_of(Choice(None, model), None))
    assert "own drafter" not in "\n".join(lines(model, None, []))
    whole = describe_model(write_tiny_model(tmp_path / "whole.gguf", OWN_LAYERS["qwen35-mtp"]))
    assert "includes its own drafter" in dict(details_of(Choice(None, whole), None))["Own drafter"]
    assert "own drafter       The model includes its own drafter" in "\n".join(lines(whole, None, []))
