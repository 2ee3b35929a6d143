"""Tests that shapes are counted right, and that impossible headers are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.failures import Failure
from models.default import default_model
from models.header import Header, read_header
from models.shapes import Shapes, shapes_of
from models.tensors import TensorInfo

F16, Q8_0 = 1, 8


def header(architecture: str = "llama", layers: int = 2, tensors=None, arrays=None, **metadata) -> Header:
    """Build the header of a small model: embedding 64, 4 heads, 2 KV heads, feed-forward 96, vocabulary 100."""
    values = {
        "block_count": layers,
        "embedding_length": 64,
        "attention.head_count": 4,
        "attention.head_count_kv": 2,
        "feed_forward_length": 96,
    } | {key.replace("__", "."): value for key, value in metadata.items()}
    arrays = {f"{architecture}.{key}": tuple(value) for key, value in (arrays or {}).items()}
    facts = {f"{architecture}.{key}": value for key, value in values.items() if value is not None}
    facts = {key: value for key, value in facts.items() if key not in arrays}
    if tensors is None:
        tensors = [("token_embd.weight", F16, (64, 100)), ("output.weight", Q8_0, (64, 100))]
        for i in range(layers):
            tensors += [
                (f"blk.{i}.attn_norm.weight", 0, (64,)),
                (f"blk.{i}.attn_q.weight", F16, (64, 64)),
                (f"blk.{i}.attn_k.weight", F16, (64, 32)),
                (f"blk.{i}.attn_v.weight", F16, (64, 32)),
                (f"blk.{i}.attn_output.weight", F16, (64, 64)),
                (f"blk.{i}.ffn_up.weight", F16, (64, 96)),
                (f"blk.{i}.ffn_down.weight", F16, (96, 64)),
            ]
    infos = tuple(TensorInfo(name, type, shape, 0) for name, type, shape in tensors)
    facts["general.architecture"] = architecture
    return Header(Path("small.gguf"), 1_000_000, 3, facts, {}, infos, 4096, arrays)


def test_counted_by_hand():
    shapes = shapes_of(header())
    block = 64 * 64 * 2 + 64 * 32 * 2 + 64 * 96 * 2
    assert shapes.layers[0].flops == 2 * block
    assert shapes.layers[0].pass_bytes == 2 * block + 64 * 4
    assert shapes.flops == 2 * (2 * block) + 2 * 64 * 100
    assert shapes.output.pass_bytes == 64 * 100 // 32 * 34
    assert shapes.pass_bytes == shapes.weight_bytes - 64 * 100 * 2
    assert (shapes.embedding, shapes.heads, shapes.feed_forward, shapes.vocabulary) == (64, 4, 96, 100)
    assert shapes.costliest == shapes.layers[0]
    # 2 layers × 2 heads of 16 × keys and values
    assert shapes.kv_bytes_per_token("f16") == 2 * 2 * 16 * 2 * 2
    assert shapes.kv_bytes_per_token("q8_0") == 2 * 2 * 16 * 2 * 34 / 32
    assert shapes.kv_bytes_per_token("q4_0") == 2 * 2 * 16 * 2 * 18 / 32


def test_the_default_model():
    read = read_header(default_model())
    shapes = shapes_of(read)
    assert len(shapes.layers) == shapes.kv_layers == 30
    assert {(layer.kv_heads, layer.key_length, layer.window) for layer in shapes.layers} == {(3, 64, None)}
    assert shapes.kv_bytes_per_token() == 30 * 3 * 64 * 2 * 2
    assert shapes.vocabulary == 49_152
    assert 0.99 < shapes.weight_bytes / (read.file_bytes - read.data_offset) <= 1
    assert shapes.pass_bytes == pytest.approx(shapes.weight_bytes, rel=1e-4)  # the table is the output projection too
    assert shapes.flops == pytest.approx(2 * read.parameters, rel=1e-3)


def test_heads_may_differ_by_layer():
    shapes = shapes_of(header(arrays={"attention.head_count_kv": [0, 3], "feed_forward_length": [96, 48]}))
    assert [layer.kv_heads for layer in shapes.layers] == [0, 3]
    assert shapes.feed_forward == 96
    assert shapes.kv_layers == 1


def test_explicit_head_lengths():
    shapes = shapes_of(header(attention__key_length=128, attention__value_length=48))
    assert shapes.layers[0].kv_elements == 2 * (128 + 48)


def test_a_layer_without_keys_keeps_none():
    tensors = [("blk.0.attn_qkv.weight", F16, (64, 128)), ("blk.1.ssm_in.weight", F16, (64, 128))]
    assert [layer.kv_heads for layer in shapes_of(header(tensors=tensors)).layers] == [2, 0]


def test_latent_attention_keeps_one_vector():
    tensors = [("blk.0.attn_kv_a_mqa.weight", F16, (64, 40)), ("blk.1.attn_kv_a_mqa.weight", F16, (64, 40))]
    latent = header(
        "deepseek2",
        tensors=tensors,
        attention__head_count_kv=1,
        attention__key_length=40,
        attention__value_length=32,
        attention__key_length_mla=24,
    )
    assert shapes_of(latent).layers[0].kv_elements == 40


def test_shared_keys_and_values():
    assert [x.kv_heads for x in shapes_of(header("gemma4", 4, attention__shared_kv_layers=1)).layers] == [2, 2, 2, 0]


def test_only_the_used_experts_count():
    tensors = [("blk.0.ffn_up_exps.weight", F16, (64, 96, 8)), ("blk.0.ffn_gate_inp.weight", F16, (64, 8))]
    shapes = shapes_of(header(layers=1, tensors=tensors, expert_count=8, expert_used_count=2))
    assert shapes.flops == 2 * 64 * 96 * 2 + 2 * 64 * 8
    assert (shapes.experts, shapes.used_experts) == (8, 2)


def windows(shapes: Shapes) -> list[int | None]:
    return [layer.window for layer in shapes.layers]


def test_sliding_windows():
    assert windows(shapes_of(header("gemma3", 7, attention__sliding_window=512))) == [512] * 5 + [None, 512]
    assert windows(shapes_of(header("gemma2", 4))) == [4096, None] * 2
    assert windows(shapes_of(header("smallthinker", 4, attention__sliding_window=9))) == [None, 9, 9, 9]
    assert windows(shapes_of(header("phi3", 2, attention__sliding_window=2047))) == [None, None]
    assert windows(shapes_of(header("qwen2", 2, attention__sliding_window=4096))) == [None, None]
    listed = header("gemma4", 3, arrays={"attention.sliding_window_pattern": [1, 0, 1]}, attention__sliding_window=7)
    assert windows(shapes_of(listed)) == [7, None, 7]
    stated = header("gemma3", 4, attention__sliding_window=7, attention__sliding_window_pattern=2)
    assert windows(shapes_of(stated)) == [7, None, 7, None]


def test_a_window_limits_what_is_read():
    shapes = shapes_of(header("gemma2", 2, attention__sliding_window=100))
    one = 2 * 16 * 2 * 2  # bytes per token and layer
    assert shapes.kv_bytes_read(60) == 2 * 60 * one
    assert shapes.kv_bytes_read(1000) == (100 + 1000) * one
    assert shapes.kv_bytes_per_token() == 2 * one


@pytest.mark.parametrize(("type", "size"), [(41, 18 * 32), (42, 18 * 64), (34, 54 * 16), (35, 66 * 16)])
def test_ternary_and_one_bit_weights_are_counted_by_their_blocks(type, size):
    assert shapes_of(header(tensors=[("blk.0.attn_k.weight", type, (256, 16))])).weight_bytes == size


def test_an_unknown_tensor_type_is_counted_by_the_file():
    assert shapes_of(header(tensors=[("blk.0.attn_k.weight", 999, (64, 64))])).weight_bytes == 1_000_000 - 4096


def test_a_refusal_names_the_file_and_the_key():
    with pytest.raises(Failure, match=r"small\.gguf.*embedding_length"):
        shapes_of(header(embedding_length=None))


@given(
    st.sampled_from(
        [
            "block_count",
            "embedding_length",
            "attention.head_count",
            "attention.head_count_kv",
            "attention.key_length",
            "attention.sliding_window",
            "attention.sliding_window_pattern",
            "attention.shared_kv_layers",
            "expert_count",
            "expert_used_count",
            "feed_forward_length",
        ]
    ),
    st.integers(-10, 100) | st.none() | st.integers(-10, 1 << 64) | st.text(max_size=3) | st.floats() | st.booleans(),
    st.sampled_from(["llama", "gemma3", "gemma2", "deepseek2"]),
)
def test_nonsense_is_refused_or_counted(key, value, architecture):
    odd = header(architecture)
    odd.metadata[f"{architecture}.{key}"] = value
    try:
        shapes = shapes_of(odd)
    except Failure as failure:
        assert "small.gguf" in str(failure)
        return
    assert shapes.kv_bytes_per_token() >= 0
    assert shapes.flops >= 0
    assert len(shapes.layers) <= 4096
