"""Check from a model file's header whether our own graph can compute the model, and read the sizes of a forward pass.

The header is read as llama.cpp reads it (src/llama-model.cpp). No library is loaded.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

import numpy as np

from common.failures import Failure
from common.paths import display_name
from common.sentences import Sentence
from models.header import Header, Scalar

ARCHITECTURES = ("llama", "qwen2", "qwen3")

# Numbers of ggml_type that the CPU can multiply with. Q8_1 and Q8_K (9, 15) are for activations only.
TYPES = {0, 1, 2, 3, 6, 7, 8, *range(10, 15), *range(16, 24), 29, 30, 34, 35, *range(39, 43)}
F32 = 0

PARTS = "attn_q attn_k attn_v attn_output ffn_gate ffn_up ffn_down attn_norm ffn_norm attn_q_norm attn_k_norm"
KNOWN = re.compile(
    rf"(token_embd|output_norm|output|rope_freqs|blk\.\d+\.({PARTS.replace(' ', '|')}))\.weight"
    r"|(output|blk\.\d+\.(attn_q|attn_k|attn_v|attn_output|ffn_gate|ffn_up|ffn_down))\.bias"
)
SCALINGS = ("none", "linear")


def refusal(header: Header) -> Sentence | None:
    """Return why our graph cannot compute the model; None if it can."""
    reason = _reason(header)
    return Sentence.of("graph.cannot_run", reason=reason) if reason else None


def _reason(header: Header) -> Sentence | None:
    name, metadata = header.architecture, header.metadata
    if name not in ARCHITECTURES:
        return Sentence.of("graph.architecture", architecture=display_name(name))
    strange = next((tensor.name for tensor in header.tensors if not KNOWN.fullmatch(tensor.name)), "")
    if metadata.get(f"{name}.expert_count") or strange:
        return Sentence.of("graph.weights", name=strange) if strange else Sentence.of("graph.experts")
    if any(tensor.type not in TYPES for tensor in header.tensors):
        return Sentence.of("graph.quantisation")
    if any(len(tensor.shape) == 1 and tensor.type != F32 for tensor in header.tensors):
        return Sentence.of("graph.norms")
    scaling = metadata.get(f"{name}.rope.scaling.type", "linear")
    if scaling not in SCALINGS:
        return Sentence.of("graph.positions", scaling=scaling)
    return None


NORMAL, NEOX = 0, 2  # numbers of a head that are rotated together: neighbours, or those half a head apart
ROPE_KINDS = {"llama": NORMAL, "qwen2": NEOX, "qwen3": NEOX}


@dataclass(frozen=True, slots=True)
class Dimensions:
    """Sizes and constants of a model's forward pass.

    `head`: numbers in one head's key, value or query; `heads` query heads share `kv_heads` key-value heads.
    """

    layers: int
    embedding: int
    heads: int
    kv_heads: int
    head: int
    vocabulary: int
    epsilon: float
    rope_kind: int
    rope_base: float
    rope_scale: float
    n_ctx_train: int

    def __post_init__(self) -> None:
        """Raise Failure for sizes that would make ggml abort the process."""
        fine = self.layers > 0 and self.kv_heads > 0 and self.heads % self.kv_heads == 0
        if not fine or self.head < 2 or self.head % 2 or not math.isfinite(self.rope_scale):
            raise Failure("bad_model.contradiction", str(self))

    @property
    def queries(self) -> int:
        """Number of query heads that share one kv-head."""
        return self.heads // self.kv_heads

    @property
    def scale(self) -> float:
        """Factor of the attention scores, 1 / √head, computed in 32 bits as llama.cpp does."""
        return float(np.float32(1) / np.sqrt(np.float32(self.head)))


def dimensions_of(header: Header) -> Dimensions:
    """Read a model's dimensions from its header. Raises Failure if the header lacks or contradicts a value."""
    find = _Finder(header)
    heads, embedding = find.count("attention.head_count"), find.count("embedding_length")
    head = find.count("attention.key_length", embedding // heads)
    if {find.count("attention.value_length", head), find.count("rope.dimension_count", head)} != {head}:
        raise Failure("bad_model.uneven_heads", name=header.path.name)
    factor = find.number("rope.scaling.factor", find.number("rope.scale_linear", 0.0))
    linear = header.metadata.get(f"{header.architecture}.rope.scaling.type", "linear") == "linear"
    embeddings = next(tensor for tensor in header.tensors if tensor.name == "token_embd.weight")
    return Dimensions(
        layers=find.count("block_count"),
        embedding=embedding,
        heads=heads,
        kv_heads=find.count("attention.head_count_kv", heads),
        head=head,
        vocabulary=embeddings.shape[1],
        epsilon=find.number("attention.layer_norm_rms_epsilon"),
        rope_kind=ROPE_KINDS[header.architecture],
        rope_base=find.number("rope.freq_base", 10_000.0),
        rope_scale=1 / factor if factor and linear else 1.0,
        n_ctx_train=header.n_ctx_train,
    )


class _Finder:
    """Reader of numbers from the architecture's own metadata; raises Failure for missing or impossible ones."""

    def __init__(self, header: Header) -> None:
        self.header = header

    def _get(self, key: str, default: Scalar | None) -> Scalar:
        value = self.header.metadata.get(f"{self.header.architecture}.{key}", default)
        if value is None or isinstance(value, str):
            raise Failure("bad_model.not_stated", name=self.header.path.name, key=key)
        return value

    def count(self, key: str, default: int | None = None) -> int:
        value = int(self._get(key, default))
        if value < 1:
            raise Failure("bad_model.impossible", name=self.header.path.name, key=key, value=value)
        return value

    def number(self, key: str, default: float | None = None) -> float:
        return float(self._get(key, default))
