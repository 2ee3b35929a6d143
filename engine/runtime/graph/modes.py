"""How the keys and values of a model are kept: in full, or a share of its heads compressed in one of three ways.

Which heads are compressed first `python -m engine rank-heads` has found (`engine.runtime.graph.ranker`). What a cache
takes is told without room for it: llama.cpp's sizes, whose layouts of weights, cache and buffers our graph shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from common.failures import Failure
from common.sentences import Sentence
from common.store import Store
from engine.protocol import FlashAttention, KVModeName, KVType
from engine.runtime.capi.model import CModel, ModelFile
from engine.runtime.contexts import EXACT, MAX_LOGITS, ContextSizes, KVMode, size_class
from engine.runtime.graph.dimensions import Dimensions, dimensions_of, refusal
from engine.runtime.graph.exact import ExactKV
from engine.runtime.graph.ggml import array
from engine.runtime.graph.layout import HALF, Layout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.published import PublishedKV, PublishedSlots
from engine.runtime.graph.slots import BLOCK, MergedSlots, Rotation, WindowSlots, window
from engine.runtime.graph.split import FIRST, MOST_AT_ONCE, SplitKV
from engine.runtime.llama.library import build as library_build
from engine.runtime.llama.runtime import DryModel
from models.identity import file_identity

Head = tuple[int, int]  # layer, kv-head


class Price(msgspec.Struct, frozen=True):
    """Perplexity beside the plain model's, and the share of a plain cache's entries, with a share of the heads."""

    share: float
    ratio: float
    entries: float


class Ranking(msgspec.Struct, frozen=True):
    """`heads`: the least harmful first; `damage`: of each compressed alone, in nats per token (Kullback-Leibler)."""

    model: str
    mode: KVModeName
    tokens: int
    heads: tuple[Head, ...]
    damage: tuple[float, ...]
    prices: tuple[Price, ...] = ()

    def chosen(self, share: float) -> tuple[Head, ...]:
        """The heads that are compressed first, so large a share of them."""
        return self.heads[: count_of(share, len(self.heads))]

    def price(self, share: float) -> Price | None:
        """What that share costs, if it was measured."""
        return next((price for price in self.prices if abs(price.share - share) < 1e-6), None)


RANKINGS = Store("rankings", 3, Ranking)


def count_of(share: float, heads: int) -> int:
    """How many heads a share of them is."""
    return max(1, round(share * heads))


def identity_of(model: GraphModel) -> str:
    """Of the model's file."""
    return file_identity(model.path, model.header.data_offset)


def keep(ranking: Ranking) -> None:
    """Raises Failure where it cannot be written."""
    try:
        RANKINGS.put(ranking, ranking.model, ranking.mode)
    except OSError as error:
        raise Failure("ranking_unwritable.folder", folder=RANKINGS.folder, reason=error.strerror) from error


def read(identity: str, mode: str) -> Ranking | None:
    """What is kept for this model and mode; None if there is none, or it is of another or damaged."""
    return RANKINGS.get(identity, mode)


def heads_for(model: GraphModel, mode: KVMode) -> tuple[Head, ...]:
    """The heads that `mode` compresses; raises Failure where they are not known."""
    found = read(identity_of(model), mode.name)
    if found is None or not fits(found, model.dimensions):
        raise Failure("no_ranking.of_model", name=model.path.name, mode=mode.name, path=model.path)
    return found.chosen(mode.share)


def fits(ranking: Ranking, d: Dimensions) -> bool:
    """Are they all this model's heads, each once?"""
    return sorted(ranking.heads) == [(layer, head) for layer in range(d.layers) for head in range(d.kv_heads)]


# --- caches by mode ---


def make_kv(model: GraphModel, n_ctx: int, mode: KVMode) -> Layout:
    """Raises Failure where the model's heads were not ranked for this mode, or there is no memory."""
    if mode == EXACT:
        return ExactKV(model.dimensions, n_ctx)
    heads = heads_for(model, mode)
    return split_kv(model, n_ctx, mode.name, heads)


def split_kv(model: GraphModel, n_ctx: int, name: KVModeName, heads: Sequence[Head]) -> SplitKV:
    """With these heads compressed."""
    d, rotation = model.dimensions, rotation_of(model)
    if name == "published":
        return PublishedKV(d, rotation, n_ctx, name, PublishedSlots(FIRST), heads)
    slots = MergedSlots(FIRST) if name == "merged" else WindowSlots(FIRST)
    return SplitKV(d, rotation, n_ctx, name, slots, heads)


def lossy_note(model: CModel, mode: KVMode) -> Sentence | None:
    """What a lossy mode costs this very model; None for exact keys and values."""
    if mode == EXACT:
        return None
    assert isinstance(model, GraphModel)
    found = read(identity_of(model), mode.name)
    price = found.price(mode.share) if found else None
    if price is None:
        return Sentence.of("lossy.unmeasured", share=mode.share, mode=mode.name)
    return Sentence.of("lossy.measured", share=mode.share, mode=mode.name, ratio=float(price.ratio))


def rotation_of(model: GraphModel) -> Rotation:
    """Of the model's keys."""
    factors = model.weights.find("rope_freqs.weight")
    return Rotation(model.dimensions, array(factors, np.float32, model.dimensions.head // 2) if factors else None)


# --- sizes without room for them ---


MARGIN = 1.25
VERSION = 3  # of what our graph computes and how fast; what was saved or timed with another is of no use


class DryGraph(DryModel):
    """Implements `engine.runtime.contexts.DrySizes`. Raises Failure for a file that the graph cannot compute."""

    def __init__(self, file: ModelFile, flash_attention: FlashAttention = "auto", kv_mode: KVMode = EXACT) -> None:
        if flash_attention == "off":
            raise Failure("not_supported.without_flash_attention")
        super().__init__(file)
        self.kv_mode = kv_mode
        if reason := refusal(self.header):
            self.close()
            raise Failure("not_supported.model", reason=reason)
        self.dimensions = dimensions_of(self.header)

    def context(
        self, n_ctx: int, kv_type: KVType = "f16", n_batch: int = 512, max_logits: int = MAX_LOGITS
    ) -> ContextSizes | None:
        """Keys and values are F16. How many entries merging leaves depends on the text: some more than usual."""
        sizes = super().context(n_ctx, kv_type, n_batch, max_logits) if kv_type == "f16" else None
        if sizes is None or self.kv_mode == EXACT:
            return sizes
        slots = min(n_ctx, size_class(int(MARGIN * window(n_ctx)) + BLOCK + MOST_AT_ONCE, 1 << 40))
        d = self.dimensions
        heads, entry = d.layers * d.kv_heads, 2 * d.head * HALF
        compressed = count_of(self.kv_mode.share, heads)
        return replace(sizes, kv=entry * (heads - compressed) * n_ctx, kv_compressed=entry * compressed * slots)


def build() -> str:
    """What tells passes of our graph from others, and of one llama.cpp from those of another."""
    return f"chickadee-graph {VERSION}; {library_build()}"
