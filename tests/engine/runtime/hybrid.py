"""Small GGUF files of models that keep one state for all tokens, with random weights.

They have the default model's vocabulary. The architectures are as in llama.cpp's test-llama-archs: lfm2 has
convolutions beside attention, mamba2 has no attention.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np

from models.default import default_model
from models.header import read_header
from models.token_list import TEXTS, read_token_list

MERGES = "tokenizer.ggml.merges"
ARCHITECTURES = ("lfm2", "mamba2")
WIDTH, FEED_FORWARD, HEADS, LAYERS = 64, 96, 2, 2
CONVOLUTION = 3  # tokens that a convolution of lfm2 covers
INNER, STATE, KERNEL, STEPS, GROUPS = 128, 16, 4, 4, 1  # sizes of mamba2

Tensors = Iterator[tuple[str, tuple[int, ...]]]


def write_hybrid(path: Path, architecture: str) -> Path:
    writer, dice = gguf.GGUFWriter(path, architecture), np.random.default_rng(1)
    vocabulary = copy_words(writer)
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(vocabulary)
    tensors = _lfm2(writer) if architecture == "lfm2" else _mamba2(writer)
    for name, sizes in [("token_embd.weight", (vocabulary, WIDTH)), *tensors]:
        writer.add_tensor(name, _weights(dice, name, sizes))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def copy_words(writer: gguf.GGUFWriter) -> int:
    """Write the default model's vocabulary and chat template, and return the number of tokens."""
    header = read_header(default_model())
    for key, value in header.metadata.items():
        if key.startswith("tokenizer."):
            kinds = {bool: writer.add_bool, int: writer.add_uint32, str: writer.add_string}
            kinds[type(value)](key, value)
    merges = {TEXTS: header.value_offsets[MERGES]}, {TEXTS: header.array_lengths[MERGES]}
    words = read_token_list(header)
    writer.add_token_list(words.texts)
    writer.add_token_types(words.kinds)
    writer.add_token_merges(read_token_list(replace(header, value_offsets=merges[0], array_lengths=merges[1])).texts)
    return len(words.texts)


def _weights(dice: np.random.Generator, name: str, sizes: tuple[int, ...]) -> np.ndarray:
    data = dice.normal(size=sizes, scale=sizes[-1] ** -0.5).astype(np.float32)
    if name.endswith("norm.weight"):
        return (1 + data).astype(np.float32)
    if name.endswith("ssm_a"):
        return -np.abs(data)  # a state that fades
    return data.astype(np.float16) if name.startswith("token_embd") else data


def _lfm2(writer: gguf.GGUFWriter) -> Tensors:
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv([0, HEADS])  # the first layer is a convolution
    writer.add_shortconv_l_cache(CONVOLUTION)
    yield "token_embd_norm.weight", (WIDTH,)
    for layer in range(LAYERS):
        sizes: dict[str, tuple[int, ...]] = {
            "attn_norm": (WIDTH,), "ffn_norm": (WIDTH,), "ffn_gate": (FEED_FORWARD, WIDTH),
            "ffn_up": (FEED_FORWARD, WIDTH), "ffn_down": (WIDTH, FEED_FORWARD),
        }  # fmt: skip
        if layer:
            sizes |= dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (WIDTH, WIDTH))
            sizes |= dict.fromkeys(("attn_q_norm", "attn_k_norm"), (WIDTH // HEADS,))
        else:
            sizes |= {"shortconv.conv": (WIDTH, CONVOLUTION), "shortconv.in_proj": (3 * WIDTH, WIDTH)}
            sizes |= {"shortconv.out_proj": (WIDTH, WIDTH)}
        yield from ((f"blk.{layer}.{name}.weight", size) for name, size in sizes.items())


def _mamba2(writer: gguf.GGUFWriter) -> Tensors:
    writer.add_feed_forward_length(0)
    writer.add_head_count(0)
    writer.add_ssm_conv_kernel(KERNEL)
    writer.add_ssm_inner_size(INNER)
    writer.add_ssm_state_size(STATE)
    writer.add_ssm_time_step_rank(STEPS)
    writer.add_ssm_group_count(GROUPS)
    convolved = INNER + 2 * GROUPS * STATE
    yield "output_norm.weight", (WIDTH,)
    for layer in range(LAYERS):
        sizes: dict[str, tuple[int, ...]] = {
            "attn_norm.weight": (WIDTH,), "ssm_in.weight": (INNER + convolved + STEPS, WIDTH),
            "ssm_conv1d.weight": (convolved, KERNEL), "ssm_conv1d.bias": (convolved,), "ssm_dt.bias": (STEPS,),
            "ssm_a": (STEPS, 1), "ssm_d": (STEPS, 1), "ssm_norm.weight": (GROUPS, INNER // GROUPS),
            "ssm_out.weight": (WIDTH, INNER),
        }  # fmt: skip
        yield from ((f"blk.{layer}.{name}", size) for name, size in sizes.items())
