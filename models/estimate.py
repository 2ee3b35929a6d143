"""Estimates: of a model that is not on this computer, and of one that is, for its entry in the catalogue."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

from common.planning import Estimate
from models.features import SNAPSHOTS
from models.header import Header
from models.shapes import Layer, Shapes, shapes_of
from models.split import whole_header
from models.tensor_types import TENSOR_TYPES, TYPE_NUMBERS

BITS = {"F32": 32.0, "F16": 16.0, "BF16": 16.0, "Q8_0": 8.5, "Q6_K": 6.6, "Q5_K_M": 5.7, "Q4_K_M": 4.85, "Q4_0": 4.6}
USUAL_BITS = 4.85
USUAL_KV = 2048  # 8 heads of 128 for keys, as many for values: most models of the last years
USUAL_VOCABULARY = 152_000
# (most parameters, usual number of layers, usual embedding length)
USUAL = ((0.2e9, 30, 576), (0.45e9, 32, 960), (0.8e9, 24, 896), (2e9, 28, 1536), (3.5e9, 36, 2048), (6e9, 36, 2560),
         (9e9, 36, 4096), (20e9, 48, 5120), (40e9, 64, 5120), (math.inf, 80, 8192))  # fmt: skip


def guess_estimate(name: str, size: int, quantisation: str = "", parameters: int = 0, n_ctx_train: int = 0) -> Estimate:
    """Estimate a model's shapes from what the hub says of its file.

    The hub gives size and quantisation, and perhaps the number of parameters and the context; a `parameters` of 0 is
    computed from the size.
    """
    parameters = parameters or int(size * 8 / _bits(quantisation))
    _, layers, embedding = USUAL[bisect.bisect_left([most for most, _, _ in USUAL], parameters)]
    return Estimate(
        name=name,
        size=size,
        layers=layers,
        kv_width=USUAL_KV,
        embedding=embedding,
        feed_forward=4 * embedding,
        vocabulary=USUAL_VOCABULARY,
        n_ctx_train=n_ctx_train,
        quantisation=quantisation,
        guessed=True,
    )


def _bits(quantisation: str) -> float:
    """Return the usual bits per weight of a file, of which some matrices often have more than its type."""
    type = TENSOR_TYPES.get(TYPE_NUMBERS.get(quantisation, -1))
    return BITS.get(quantisation, type.bits if type else USUAL_BITS)


def estimate_of(headers: Sequence[Header], quantisation: str = "") -> Estimate:
    """Return what an estimate can hold of a model whose files' headers were read, the first one first.

    The planner's own numbers for a file are better. Raises Failure if the header leaves its shapes open.
    """
    header = whole_header(headers)
    shapes = shapes_of(header)
    full = [layer for layer in shapes.layers if layer.kv_elements and layer.window is None]
    windows = [layer for layer in shapes.layers if layer.kv_elements and layer.window is not None]
    unread = shapes.expert_bytes * (1 - shapes.reads.share)
    return Estimate(
        name=header.name,
        size=header.file_bytes,
        layers=len(shapes.layers),
        kv_width=_width(full or windows),
        kv_layers=len(full) + len(windows),
        window=max((layer.window or 0 for layer in windows), default=0),
        window_layers=len(windows),
        window_width=_width(windows),
        state_bytes=shapes.state_bytes,
        snapshots=shapes.state_bytes > 0 and header.architecture in SNAPSHOTS,
        attention=shapes.heads * max((layer.key_length for layer in full or windows), default=0),
        embedding=shapes.embedding,
        feed_forward=_feed_forward(header, shapes),
        vocabulary=shapes.vocabulary,
        n_ctx_train=header.n_ctx_train,
        active_share=1 - unread / header.file_bytes,
        experts=shapes.experts if shapes.experts > 1 else 0,
        used_experts=shapes.used_experts if shapes.experts > 1 else 0,
        quantisation=quantisation,
    )


def _width(layers: Sequence[Layer]) -> int:
    """Return the mean of the numbers in one token's keys and values of a layer, at least 1."""
    return max(1, round(sum(layer.kv_elements for layer in layers) / len(layers))) if layers else 1


def _feed_forward(header: Header, shapes: Shapes) -> int:
    """Return the numbers between the two matrices of a layer, in a mixture those of all experts that a token uses."""
    if shapes.experts <= 1:
        return shapes.feed_forward
    sizes = [
        header.metadata.get(f"{header.architecture}.{name}_feed_forward_length") for name in ("expert", "expert_shared")
    ]
    each, shared = (size if isinstance(size, int) else 0 for size in sizes)
    return (each or shapes.feed_forward) * shapes.used_experts + shared
