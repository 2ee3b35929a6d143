"""Small GGUF files with random weights, of every architecture and shape that our own graph computes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import numpy as np

WIDTH, FEED_FORWARD, VOCABULARY, LAYERS = 128, 192, 320, 2


def write_tiny(
    path: Path,
    architecture: str,
    *,
    heads: int = 4,
    kv_heads: int = 2,
    head: int = 32,
    tied: bool = False,
    biases: tuple[str, ...] = (),
    norms: tuple[str, ...] = (),
    factors: bool = False,
    type: gguf.GGMLQuantizationType = gguf.GGMLQuantizationType.Q8_0,
    metadata: Mapping[str, Any] | None = None,
) -> Path:
    """`biases` and `norms`: names of tensors that have one. Without a vocabulary: token ids only."""
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_string("tokenizer.ggml.model", "no_vocab")
    writer.add_vocab_size(VOCABULARY)
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-6)
    if head * heads != WIDTH:
        writer.add_key_length(head)
        writer.add_value_length(head)
        writer.add_rope_dimension_count(head)
    for key, value in (metadata or {}).items():
        writer.add_string(key, value) if isinstance(value, str) else writer.add_float32(key, value)
    dice = np.random.default_rng(1)

    def put(name: str, *shape: int) -> None:
        data = dice.normal(size=shape, scale=shape[-1] ** -0.5).astype(np.float32)
        if len(shape) == 1:
            writer.add_tensor(name, (1 + data).astype(np.float32))
        else:
            writer.add_tensor(name, gguf.quants.quantize(data, type), raw_dtype=type)

    put("token_embd.weight", VOCABULARY, WIDTH)
    put("output_norm.weight", WIDTH)
    if not tied:
        put("output.weight", VOCABULARY, WIDTH)
    if factors:
        put("rope_freqs.weight", head // 2)
    sizes = {
        "attn_q": (head * heads, WIDTH), "attn_k": (head * kv_heads, WIDTH), "attn_v": (head * kv_heads, WIDTH),
        "attn_output": (WIDTH, head * heads), "ffn_gate": (FEED_FORWARD, WIDTH), "ffn_up": (FEED_FORWARD, WIDTH),
        "ffn_down": (WIDTH, FEED_FORWARD),
    }  # fmt: skip
    for layer in range(LAYERS):
        for name, shape in sizes.items():
            put(f"blk.{layer}.{name}.weight", *shape)
            if name in biases:
                put(f"blk.{layer}.{name}.bias", shape[0])
        put(f"blk.{layer}.attn_norm.weight", WIDTH)
        put(f"blk.{layer}.ffn_norm.weight", WIDTH)
        for name in norms:
            put(f"blk.{layer}.{name}.weight", head)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
