"""A small chat model with random weights and a real vocabulary, whose header can be altered in any way."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import gguf
import numpy as np

from tests.engine.runtime.graph.tiny import Shape, tensors_of

Kind = gguf.GGUFValueType
U8, I8, U32, I32, U64 = Kind.UINT8, Kind.INT8, Kind.UINT32, Kind.INT32, Kind.UINT64
F32, BOOL, STRING = Kind.FLOAT32, Kind.BOOL, Kind.STRING
CONTROL = ("<|im_start|>", "<|im_end|>")
USUAL = Shape(type=gguf.GGMLQuantizationType.F32)


class Value(NamedTuple):
    """A value of the header with its GGUF type; a list becomes an array."""

    value: Any
    type: gguf.GGUFValueType


def texts() -> list[str]:
    """Return as many tokens as `Shape` has: GPT-2's 256 bytes, control tokens, and the rest of two letters each."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in shown]
    letters = [*map(chr, shown), *(chr(256 + i) for i in range(len(others)))]
    pairs = [a + b for a in "abcdefgh" for b in "abcdefgh"]
    return [*CONTROL, *letters, *pairs][: Shape().vocabulary]


def rwkv_values() -> dict[str, Value | None]:
    """Return the changes that make the vocabulary one of RWKV's.

    It has each byte but the first, in Python's notation, and pairs of letters.
    """
    tokens = [repr(bytes((byte,)))[2:-1] for byte in range(1, 256)]
    pairs = [token for token in texts() if len(token) == 2]
    return {
        "tokenizer.ggml.model": Value("rwkv", STRING),
        "tokenizer.ggml.tokens": Value([*tokens, *pairs, "<x>", "<y>", "<z>"][: Shape().vocabulary], STRING),
        "tokenizer.ggml.token_type": None,
    }


def usual_values(shape: Shape = USUAL) -> dict[str, Value]:
    """Return the values of a header that every library accepts."""
    tokens = texts()
    kinds = [3 if token in CONTROL else 1 for token in tokens]
    merges = [f"{token[0]} {token[1]}" for token in tokens if len(token) == 2]
    return {
        "llama.context_length": Value(2048, U32),
        "llama.embedding_length": Value(shape.width, U32),
        "llama.block_count": Value(shape.layers, U32),
        "llama.feed_forward_length": Value(192, U32),
        "llama.attention.head_count": Value(shape.heads, U32),
        "llama.attention.head_count_kv": Value(shape.kv_heads, U32),
        "llama.attention.key_length": Value(shape.head, U32),
        "llama.attention.value_length": Value(shape.head, U32),
        "llama.attention.layer_norm_rms_epsilon": Value(1e-6, F32),
        "llama.rope.dimension_count": Value(shape.head, U32),
        "llama.rope.freq_base": Value(10_000.0, F32),
        "llama.vocab_size": Value(shape.vocabulary, U32),
        "tokenizer.ggml.model": Value("gpt2", STRING),
        "tokenizer.ggml.pre": Value("gpt-2", STRING),
        "tokenizer.ggml.tokens": Value(tokens, STRING),
        "tokenizer.ggml.token_type": Value(kinds, I32),
        "tokenizer.ggml.merges": Value(merges, STRING),
        "tokenizer.ggml.bos_token_id": Value(0, U32),
        "tokenizer.ggml.eos_token_id": Value(1, U32),
    }


def write_altered(
    path: Path, changes: Mapping[str, Value | None] | None = None, shape: Shape = USUAL, architecture: str = "llama"
) -> Path:
    """Write the model with the usual values and `changes`; None removes a value. All keys stay those of "llama"."""
    writer = gguf.GGUFWriter(path, architecture)
    for key, found in (usual_values(shape) | dict(changes or {})).items():
        if found is None:
            continue
        array = isinstance(found.value, list)
        kind = Kind.ARRAY if array else found.type
        writer.add_key_value(key, found.value, kind, sub_type=found.type if array else None)
    dice = np.random.default_rng(1)
    for name, sizes in tensors_of(shape):
        data = dice.normal(size=sizes, scale=sizes[-1] ** -0.5).astype(np.float32)
        if len(sizes) == 1:
            writer.add_tensor(name, data + 1)
        else:
            writer.add_tensor(name, gguf.quants.quantize(data, shape.type), raw_dtype=shape.type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
