"""Small GGUF files with random weights, in every architecture and shape that our own graph computes."""

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
    """Architecture options of a tiny model; `biases` and `norms` name the tensors that have one.

    The first layers are the same whatever `layers` is.
    """

    layers: int = LAYERS
    width: int = WIDTH
    vocabulary: int = VOCABULARY
    heads: int = 4
    kv_heads: int = 2
    head: int = 32
    tied: bool = False
    biases: tuple[str, ...] = ()
    norms: tuple[str, ...] = ()
    factors: bool = False
    type: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.Q8_0
    output: np.ndarray | None = None  # bytes of the head's weights, of the type Q6_K
    metadata: Mapping[str, Any] = field(default_factory=dict)
    alignment: int = 0


def write_tiny(path: Path, architecture: str, **shape: Any) -> Path:
    """Write a model without a vocabulary (token ids only); `shape` gives fields of `Shape`."""
    made, dice = Shape(**shape), np.random.default_rng(1)
    writer = gguf.GGUFWriter(path, architecture)
    _add_metadata(writer, made)
    for name, sizes in tensors_of(made):
        data = dice.normal(size=sizes, scale=sizes[-1] ** -0.5).astype(np.float32)
        if made.output is not None and name == ("token_embd.weight" if made.tied else "output.weight"):
            writer.add_tensor(name, made.output, raw_dtype=gguf.GGMLQuantizationType.Q6_K)
        elif len(sizes) == 1:
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
    writer.add_vocab_size(shape.vocabulary)
    writer.add_context_length(2048)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(shape.layers)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_layer_norm_rms_eps(1e-6)
    if shape.head * shape.heads != shape.width:
        writer.add_key_length(shape.head)
        writer.add_value_length(shape.head)
        writer.add_rope_dimension_count(shape.head)
    if shape.alignment:
        writer.add_custom_alignment(shape.alignment)
    for key, value in shape.metadata.items():
        writer.add_string(key, value) if isinstance(value, str) else writer.add_float32(key, value)


def tensors_of(shape: Shape) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the names and sizes of a model's tensors."""
    yield "token_embd.weight", (shape.vocabulary, shape.width)
    yield "output_norm.weight", (shape.width,)
    if not shape.tied:
        yield "output.weight", (shape.vocabulary, shape.width)
    if shape.factors:
        yield "rope_freqs.weight", (shape.head // 2,)
    width, queries, keys = shape.width, shape.head * shape.heads, shape.head * shape.kv_heads
    sizes = {
        "attn_q": (queries, width), "attn_k": (keys, width), "attn_v": (keys, width),
        "attn_output": (width, queries), "ffn_gate": (FEED_FORWARD, width), "ffn_up": (FEED_FORWARD, width),
        "ffn_down": (width, FEED_FORWARD),
    }  # fmt: skip
    for layer in range(shape.layers):
        for name, size in sizes.items():
            yield f"blk.{layer}.{name}.weight", size
            if name in shape.biases:
                yield f"blk.{layer}.{name}.bias", size[:1]
        yield f"blk.{layer}.attn_norm.weight", (width,)
        yield f"blk.{layer}.ffn_norm.weight", (width,)
        for name in shape.norms:
            yield f"blk.{layer}.{name}.weight", (shape.head,)
