"""Shapes of a model, from its header: layers, heads and sizes that the cost formulas need. Loads nothing.

Work and size are counted from the tensors, whose shapes are reliable for every architecture; heads and windows come
from the metadata, as llama.cpp reads them (src/llama-hparams.cpp, src/models/*.cpp).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from common.failures import Failure
from common.planning import DEFAULT_KV_TYPE, KVType
from models.header import Header
from models.tensor_types import TENSOR_TYPES
from models.tensors import TensorInfo, is_expert, tensor_bytes

KV_ELEMENT_BYTES: dict[KVType, float] = {"f16": 2.0, "q8_0": 34 / 32, "q4_0": 18 / 32}  # a block of 32 has one scale

MAX_LAYERS, MAX_SIZE = 4096, 1 << 32

# Every n-th layer sees all tokens, the others a window: llama.cpp's defaults for files without a pattern. For all other
# architectures, Phi-3 and Qwen2 among them, llama.cpp ignores a window in the file.
FULL_EVERY = {
    "afmoe": 4, "cohere2": 4, "cohere2moe": 4, "exaone-moe": 4, "exaone4": 4, "gemma2": 2, "gemma3": 6, "gemma3n": 5,
    "gpt-oss": 2, "laguna": 4, "llama4": 4, "mellum": 4, "olmo2": 4, "plamo3": 8, "smallthinker": 4,
}  # fmt: skip
FULL_FIRST = {"cohere2moe", "laguna", "smallthinker"}  # the full layer is the first of the n, not the last
IGNORED_WINDOWS = {"phi3"}

STATE_BYTES = 4  # llama.cpp keeps recurrent states as 32-bit floats
GEMMA3N_KV_LAYERS = 20  # fixed in llama.cpp: later layers use the keys and values of these


@dataclass(frozen=True, slots=True)
class Layer:
    """Sizes of one layer.

    Attributes:
        kv_heads: heads with keys and values; 0 if the layer caches none.
        window: tokens that attention sees; None for all.
        flops: operations per token, without attention over the cache.
        pass_bytes: bytes of weights that one token reads.
    """

    kv_heads: int
    key_length: int
    value_length: int
    window: int | None
    flops: int
    pass_bytes: int

    @property
    def kv_elements(self) -> int:
        """Numbers in one token's keys and values."""
        return self.kv_heads * (self.key_length + self.value_length)

    def cached(self, tokens: int) -> int:
        """Return how many of the `tokens` before the current one the layer's attention sees."""
        return tokens if self.window is None else min(tokens, self.window)


@dataclass(frozen=True, slots=True)
class WeightReads:
    """Bytes of weights that passes read.

    `always`: those that every pass reads. `experts`: those of all experts, of which one token uses the `share`.
    """

    always: float
    experts: float = 0.0
    share: float = 1.0

    def touched(self, tokens: int) -> float:
        """Return the share of the experts that a pass of `tokens` tokens is expected to use.

        With k of n experts for each token it is 1 - (1 - k/n)^tokens: the expected share of different draws if each
        token chooses its experts without regard to the others. Neighbouring tokens often choose the same ones
        (Mixtral of Experts, arXiv:2401.04088, section 5), so it is an upper bound.
        """
        return 1.0 - (1.0 - self.share) ** tokens

    def bytes(self, tokens: int) -> float:
        """Return the bytes of weights that a pass of `tokens` tokens reads."""
        return self.always + self.experts * self.touched(tokens)


@dataclass(frozen=True)
class Shapes:
    """Shapes of a whole model: `output` is the projection to the vocabulary, `weight_bytes` the size of all tensors.

    `expert_bytes`: the size of those tensors that hold all experts of a mixture. `state_bytes`: the size of one
    sequence's recurrent states (of Mamba, gated delta nets and short convolutions; 0 for other kinds).
    """

    layers: tuple[Layer, ...]
    output: Layer
    embedding: int
    heads: int
    feed_forward: int
    vocabulary: int
    experts: int
    used_experts: int
    weight_bytes: int
    expert_bytes: int = 0
    state_bytes: int = 0

    @property
    def reads(self) -> WeightReads:
        """Bytes of weights that passes read, by their number of tokens."""
        share = self.used_experts / self.experts
        return WeightReads(max(0.0, self.pass_bytes - self.expert_bytes * share), self.expert_bytes, share)

    @cached_property
    def pass_bytes(self) -> int:
        """Bytes of weights that a pass of one token reads: all but the embedding table (one row) and unused experts."""
        return sum(layer.pass_bytes for layer in (*self.layers, self.output))

    @cached_property
    def flops(self) -> int:
        """Operations per token, without attention over the cache (2 per weight: multiply and add)."""
        return sum(layer.flops for layer in (*self.layers, self.output))

    @cached_property
    def costliest(self) -> Layer:
        """The layer, or the output projection, with the most operations per token."""
        return max((*self.layers, self.output), key=lambda layer: layer.flops)

    @property
    def kv_layers(self) -> int:
        """Number of layers that cache keys and values."""
        return sum(layer.kv_elements > 0 for layer in self.layers)

    def kv_bytes_per_token(self, kv_type: KVType = DEFAULT_KV_TYPE) -> float:
        """Return the bytes of one token's keys and values in all layers."""
        return sum(layer.kv_elements for layer in self.layers) * KV_ELEMENT_BYTES[kv_type]

    def kv_bytes_read(self, tokens: int, kv_type: KVType = DEFAULT_KV_TYPE) -> float:
        """Return the bytes of keys and values that a pass after `tokens` cached ones reads; windows limit them."""
        elements = sum(layer.kv_elements * layer.cached(tokens) for layer in self.layers)
        return elements * KV_ELEMENT_BYTES[kv_type]


def shapes_of(header: Header) -> Shapes:
    """Return the model's shapes. Raises Failure if the header, which is hostile input, states none that are usable."""
    reader = _Reader(header)
    n_layers = reader.size("block_count", most=MAX_LAYERS)
    embedding, heads = reader.size("embedding_length"), max(reader.per_layer("attention.head_count", n_layers, 1))
    experts = reader.size("expert_count", 1) or 1
    used = min(reader.size("expert_used_count", experts) or experts, experts)
    blocks: list[list[TensorInfo]] = [[] for _ in range(n_layers)]
    others: dict[str, TensorInfo] = {}
    for tensor in header.tensors:
        match = re.match(r"blk\.(\d{1,4})\.", tensor.name)
        if match is None:
            others[tensor.name] = tensor
        elif int(match[1]) < n_layers:
            blocks[int(match[1])].append(tensor)
    return Shapes(
        layers=tuple(_layers(reader, blocks, embedding, heads, used / experts)),
        output=_output(others),
        embedding=embedding,
        heads=heads,
        feed_forward=max(reader.per_layer("feed_forward_length", n_layers, 0)),
        vocabulary=_vocabulary(header, others),
        experts=experts,
        used_experts=used,
        weight_bytes=_weight_bytes(header),
        expert_bytes=sum(tensor_bytes(tensor) for tensors in blocks for tensor in tensors if is_expert(tensor)),
        state_bytes=_state_bytes(reader, blocks, embedding),
    )


def _layers(
    reader: _Reader, blocks: list[list[TensorInfo]], embedding: int, heads: int, share: float
) -> Iterable[Layer]:
    count = len(blocks)
    kv_heads = reader.per_layer("attention.head_count_kv", count, heads)
    windows = reader.windows(count)
    own_kv = count - reader.size("attention.shared_kv_layers", 0)
    if reader.architecture == "gemma3n":
        own_kv = min(count, GEMMA3N_KV_LAYERS)
    for i, tensors in enumerate(blocks):
        suffix = "" if windows[i] is None else "_swa"
        key = reader.head_length("key_length", suffix, embedding, heads)
        value = reader.head_length("value_length", suffix, embedding, heads)
        if reader.has("attention.key_length_mla"):  # multi-head latent attention caches one vector as both
            value = 0
        keeps = i < own_kv and _has_attention(tensors)
        yield Layer(
            kv_heads=kv_heads[i] if keeps else 0,
            key_length=key,
            value_length=value,
            window=windows[i],
            flops=round(sum(2 * math.prod(t.shape) * _used(t, share) for t in tensors if len(t.shape) > 1)),
            pass_bytes=round(sum(tensor_bytes(t) * _used(t, share) for t in tensors)),
        )


def _has_attention(tensors: list[TensorInfo]) -> bool:
    """Return whether a layer caches keys and values; a gated delta net's `attn_qkv` belongs to its state."""
    if any(".attn_k." in tensor.name or "_kv_a_mqa" in tensor.name for tensor in tensors):
        return True
    return any("attn_qkv" in t.name for t in tensors) and not any(".ssm_" in t.name for t in tensors)


def _state_bytes(reader: _Reader, blocks: list[list[TensorInfo]], embedding: int) -> int:
    """Return the bytes of the states of all recurrent layers: `n_embd_r` and `n_embd_s` in src/llama-hparams.cpp."""
    layers = sum(any(".ssm_" in t.name or ".shortconv." in t.name for t in tensors) for tensors in blocks)
    if not layers:
        return 0
    if reader.has("shortconv.l_cache"):
        return layers * embedding * (reader.size("shortconv.l_cache") - 1) * STATE_BYTES
    inner, state = reader.size("ssm.inner_size", 0), reader.size("ssm.state_size", 0)
    convolution = max(0, reader.size("ssm.conv_kernel", 0) - 1) * (
        inner + 2 * reader.size("ssm.group_count", 0) * state
    )
    return layers * (convolution + state * inner) * STATE_BYTES


def _used(tensor: TensorInfo, share: float) -> float:
    """Return the share of a tensor that one token reads: `share` for tensors of experts, otherwise all."""
    return share if is_expert(tensor) else 1.0


def _output(others: dict[str, TensorInfo]) -> Layer:
    """Return the projection to the vocabulary; models without an output tensor use the embedding table for it."""
    tensor = others.get("output.weight") or others.get("token_embd.weight")
    flops, size = (2 * math.prod(tensor.shape), tensor_bytes(tensor)) if tensor else (0, 0)
    return Layer(0, 0, 0, None, flops, size)


def _vocabulary(header: Header, others: dict[str, TensorInfo]) -> int:
    table = others.get("token_embd.weight")
    return table.shape[-1] if table and table.shape else header.array_lengths.get("tokenizer.ggml.tokens", 0)


def _weight_bytes(header: Header) -> int:
    if any(tensor.type not in TENSOR_TYPES for tensor in header.tensors):
        return header.file_bytes - header.data_offset
    return sum(tensor_bytes(tensor) for tensor in header.tensors)


class _Reader:
    """Reader of the metadata of the header's architecture; raises Failure for values that are no sensible counts."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.architecture = header.architecture

    def has(self, key: str) -> bool:
        return f"{self.architecture}.{key}" in self.header.metadata

    def size(self, key: str, default: int | None = None, most: int = MAX_SIZE) -> int:
        """Return a count, which must be present and positive if there is no default."""
        value = self.header.metadata.get(f"{self.architecture}.{key}", default)
        if isinstance(value, bool) or not isinstance(value, int) or not (default is None) <= value <= most:
            raise self.failure(key, value)
        return value

    def per_layer(self, key: str, count: int, default: int) -> tuple[int, ...]:
        """Return one count for each of `count` layers, whether the file gives one for all or a list."""
        values = self.header.arrays.get(f"{self.architecture}.{key}")
        if values is None:
            return (self.size(key, default),) * count
        numbers = tuple(int(value) for value in values[:count])
        if len(numbers) < count or not all(0 <= number <= MAX_SIZE for number in numbers):
            raise self.failure(key, values[:8])
        return numbers

    def head_length(self, key: str, suffix: str, embedding: int, heads: int) -> int:
        usual = self.size(f"attention.{key}", embedding // max(1, heads))
        return self.size(f"attention.{key}{suffix}", usual) if suffix else usual

    def windows(self, count: int) -> tuple[int | None, ...]:
        """Return each layer's sliding window in tokens, None for a layer that sees all tokens."""
        window = self.size("attention.sliding_window", 4096 if self.architecture == "gemma2" else 0)
        key = f"{self.architecture}.attention.sliding_window_pattern"
        pattern, every = self.header.arrays.get(key), FULL_EVERY.get(self.architecture)
        if not window or self.architecture in IGNORED_WINDOWS:
            return (None,) * count
        if pattern:
            return tuple(window if i < len(pattern) and pattern[i] else None for i in range(count))
        every = self.size("attention.sliding_window_pattern", every or 1)
        full = 0 if self.architecture in FULL_FIRST else every - 1
        return tuple(None if every and i % every == full else window for i in range(count))

    def failure(self, key: str, value: object) -> Failure:
        return Failure(
            "bad_model.shapes", f"{self.architecture}.{key} = {value!r}", name=self.header.file_name, key=key
        )
