"""Tests that headers which would crash a library are refused, and headers of real models are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.failures import Failure
from models.collection import describe_model
from models.default import default_model
from models.header import Header, Scalar
from models.validation import checked_headers, validate_header
from tests.models.make_gguf import make_gguf

NAN = float("nan")
Values = Scalar | tuple[float, ...]


def header_of(architecture: str = "llama", **values: Values) -> Header:
    """Build a header with these keys of the architecture (`__` stands for a dot); a tuple becomes an array."""
    named = {f"{architecture}.{key}".replace("__", "."): value for key, value in values.items()}
    scalars: dict[str, Scalar] = {key: value for key, value in named.items() if not isinstance(value, tuple)}
    arrays = {key: value for key, value in named.items() if isinstance(value, tuple)}
    lengths = {key: len(value) for key, value in arrays.items()}
    metadata = {"general.architecture": architecture} | scalars
    return Header(Path("bird.gguf"), 1, 3, metadata, lengths, (), 0, arrays)


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("block_count", {"block_count": 0}),
        ("block_count", {"block_count": 65_536}),
        ("block_count", {"block_count": True}),
        ("block_count", {"block_count": "two"}),
        ("block_count", {"block_count": (2,)}),
        ("context_length", {"context_length": -1}),
        ("embedding_length", {"embedding_length": 1 << 31}),
        ("expert_count", {"expert_count": 1 << 31, "expert_used_count": 1}),
        ("expert_used_count", {"expert_count": 4, "expert_used_count": 1 << 31}),
        ("expert_used_count", {"expert_count": 4}),
        ("expert_used_count", {"block_count": 2, "expert_count": 4, "expert_used_count": (1, 5)}),
        ("expert_used_count", {"expert_used_count": 1}),
        ("expert_group_count", {"expert_count": 4, "expert_used_count": 2, "expert_group_count": 3}),
        ("expert_group_used_count", {"expert_count": 4, "expert_used_count": 2, "expert_group_count": 2}),
        ("attention.head_count_kv", {"block_count": 2, "attention__head_count_kv": (1, 1, 1)}),
        ("attention.head_count_kv", {"block_count": 2, "attention__head_count_kv": (1.0, 1.0)}),
        ("attention.head_count_kv", {"attention__head_count": 4, "attention__head_count_kv": 3}),
        ("attention.head_count_kv", {"attention__head_count": 4, "attention__head_count_kv": 8}),
        ("attention.head_count", {"block_count": 2, "attention__head_count": (4, -4)}),
        ("attention.layer_norm_rms_epsilon", {"attention__layer_norm_rms_epsilon": NAN}),
        ("nextn_predict_layers", {"block_count": 2, "nextn_predict_layers": 3}),
        ("rope.scaling.type", {"rope__scaling__type": "bogus"}),
    ],
)
def test_what_makes_no_sense_is_named(key, values):
    with pytest.raises(Failure, match=rf"“llama\.{key}” makes no sense") as caught:
        validate_header(header_of(**values))
    assert caught.value.code == "bad_model"


@pytest.mark.parametrize(
    ("architecture", "values"),
    [  # as converters write them
        ("mamba", {"block_count": 24, "attention__head_count": 0, "feed_forward_length": 0, "context_length": 1 << 20}),
        ("rwkv7", {"block_count": 12, "attention__head_count": 0, "context_length": 1 << 20}),
        ("jamba", {"block_count": 4, "attention__head_count": 32, "attention__head_count_kv": (0, 0, 8, 0)}),
        (
            "nemotron_h",
            {
                "block_count": 3,
                "attention__head_count": (0, 40, 0),
                "attention__head_count_kv": (0, 8, 0),
                "feed_forward_length": (0, 0, 12_288),
            },
        ),
        (
            "openelm",
            {"block_count": 2, "attention__head_count": (12, 16), "attention__head_count_kv": (3, 4)},
        ),
        (
            "deepseek2",
            {
                "block_count": 61,
                "nextn_predict_layers": 1,
                "attention__head_count": 128,
                "attention__head_count_kv": 1,
                "expert_count": 256,
                "expert_used_count": 8,
                "expert_group_count": 8,
                "expert_group_used_count": 4,
                "rope__scaling__type": "yarn",
            },
        ),
        ("hunyuan-dense", {"block_count": 32, "expert_count": 1, "expert_used_count": 1, "expert_group_count": 0}),
        ("hunyuan-dense", {"block_count": 32, "expert_count": 1}),
        ("llama", {"block_count": 22, "expert_count": 0, "expert_used_count": 0}),
        ("llama4", {"block_count": 48, "context_length": 10_485_760, "expert_count": 16, "expert_used_count": 1}),
        ("gemma3n", {"block_count": 2, "feed_forward_length": (16_384, 16_384), "embedding_length": 2048}),
        ("phi3", {"block_count": 32, "rope__scaling__type": "longrope", "attention__head_count": 32}),
        ("bert", {"attention__layer_norm_epsilon": 1e-12}),
        ("new", {}),
    ],
)
@pytest.mark.no_assertion("`validate_header` raises for a header that it refuses")
def test_real_models_are_let_pass(architecture, values):
    validate_header(header_of(architecture, **values))


def test_the_default_model_is_let_pass():
    assert checked_headers(default_model())[0].architecture == "llama"


@pytest.mark.parametrize("alignment", [1, 0, 4, 33, True])
def test_an_alignment_that_ggml_cannot_compute_with(tmp_path, alignment):
    with pytest.raises(Failure):
        checked_headers(make_gguf(tmp_path / "bird.gguf", general__alignment=alignment))


def test_a_vocabulary_whose_lists_do_not_go_together():
    lengths = {"tokenizer.ggml.tokens": 5, "tokenizer.ggml.token_type": 4}
    with pytest.raises(Failure, match="token_type"):
        validate_header(Header(Path("bird.gguf"), 1, 3, {}, lengths, (), 0))


@pytest.mark.parametrize(
    ("key", "value"),
    [("tokens", 5), ("tokens", (1, 2)), ("merges", "a b"), ("merges", (1, 2)), ("token_type", 1), ("scores", 0.5)],
)
def test_a_vocabulary_that_is_no_list(key, value):
    """In such a file ik_llama.cpp reads from an arbitrary address."""
    name = f"tokenizer.ggml.{key}"
    scalars, arrays = ({}, {name: value}) if isinstance(value, tuple) else ({name: value}, {})
    with pytest.raises(Failure, match=f"“{name}” makes no sense"):
        validate_header(Header(Path("bird.gguf"), 1, 3, scalars, {name: 2} if arrays else {}, (), 0, arrays))


def test_the_list_says_what_is_wrong(tmp_path, own_data):
    good, bad = (make_gguf(tmp_path / f"{count}.gguf", llama__block_count=count) for count in (2, 0))
    assert describe_model(good).usable
    assert not describe_model(bad).usable
    assert "“llama.block_count” makes no sense" in str(describe_model(bad).problem)
