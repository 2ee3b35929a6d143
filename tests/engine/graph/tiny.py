"""Small GGUF files with random weights, of every architecture and shape that our own graph computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np

WIDTH, FEED_FORWARD, VOCABULARY, LAYERS = 128, 192, 320, 2


@dataclass(frozen=True, slots=True)
class Shape:
    """`biases` and `norms`: names of tensors that have one. The first layers are the same whatever `layers` is."""

    layers: int = LAYERS
    heads: int = 4
    kv_heads: int = 2
    head: int = 32
    tied: bool = False
    biases: tuple[str, ...] = ()
    norms: tuple[str, ...] = ()
    factors: bool = False
    type: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.Q8_0
    metadata: Mapping[str, Any] = field(default_factory=dict)


def write_tiny(path: Path, architecture: str, **shape: Any) -> Path:
    """Of a `Shape` given by name. Without a vocabulary: token ids only."""
    made, dice = Shape(**shape), np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, architecture)
    _add_metadata(writer, made)
    for name, sizes in _tensors(made):
        data = dice.normal(size=sizes, scale=sizes[-1] ** -0.5).astype(np.float32)
        if len(sizes) == 1:
            writer.add_tensor(name, (1 + data).astype(np.float32))
        else:
            writer.add_tensor(name, gguf.quants.quantize(data, made.type), raw_dtype=made.type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_metadata(writer: gguf.GGUFWriter, shape: Shape) -> None:
    writer.add_string("tokenizer.ggml.model", "no_vocab")
    writer.add_vocab_size(VOCABULARY)
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(1e-6)
    if shape.head * shape.heads != WIDTH:
        writer.add_key_length(shape.head)
        writer.add_value_length(shape.head)
        writer.add_rope_dimension_count(shape.head)
    for key, value in shape.metadata.items():
        writer.add_string(key, value) if isinstance(value, str) else writer.add_float32(key, value)


def _tensors(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Names and sizes."""
    yield "token_embd.weight", (VOCABULARY, WIDTH)
    yield "output_norm.weight", (WIDTH,)
    if not shape.tied:
        yield "output.weight", (VOCABULARY, WIDTH)
    if shape.factors:
        yield "rope_freqs.weight", (shape.head // 2,)
    queries, keys = shape.head * shape.heads, shape.head * shape.kv_heads
    sizes = {
        "attn_q": (queries, WIDTH), "attn_k": (keys, WIDTH), "attn_v": (keys, WIDTH),
        "attn_output": (WIDTH, queries), "ffn_gate": (FEED_FORWARD, WIDTH), "ffn_up": (FEED_FORWARD, WIDTH),
        "ffn_down": (WIDTH, FEED_FORWARD),
    }  # fmt: skip
    for layer in range(shape.layers):
        for name, size in sizes.items():
            yield f"blk.{layer}.{name}.weight", size
            if name in shape.biases:
                yield f"blk.{layer}.{name}.bias", size[:1]
        yield f"blk.{layer}.attn_norm.weight", (WIDTH,)
        yield f"blk.{layer}.ffn_norm.weight", (WIDTH,)
        for name in shape.norms:
            yield f"blk.{layer}.{name}.weight", (shape.head,)
