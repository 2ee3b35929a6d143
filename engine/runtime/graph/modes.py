"""KV modes of our own graph: keys and values in full, or a share of the heads compressed in one of three ways.

`python -m benchmarks.rank_heads` finds out which heads to compress first. The memory needed is computed without
allocating it, from llama.cpp's sizes: our graph lays out weights, cache and buffers the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np

from common.failures import Failure
from common.planning import DEFAULT_KV_TYPE, KVType
from common.sentences import Sentence
from common.store import Store
from engine.protocol.requests import FlashAttention, KVModeName
from engine.runtime.capi.model import CModel, ModelFile
from engine.runtime.contexts import EXACT, MAX_LOGITS, ContextSizes, KVMode, size_class
from engine.runtime.graph.dimensions import Dimensions, dimensions_of, refusal
from engine.runtime.graph.exact import ExactKV
from engine.runtime.graph.ggml import array
from engine.runtime.graph.head_split import FIRST_SLOTS, MAX_PASS_TOKENS, HeadSplitKV
from engine.runtime.graph.kv_layout import F16_BYTES, KVLayout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.published import PublishedKV, PublishedSlots
from engine.runtime.graph.slots import MERGE_BLOCK, MergedSlots, Rotation, WindowSlots, window_size
from engine.runtime.llama.library import build as library_build
from engine.runtime.llama.runtime import DryModel
from models.identity import file_identity

Head = tuple[int, int]  # layer, kv-head


class Price(msgspec.Struct, frozen=True):
    """The cost of compressing a `share` of the heads.

    `ratio`: perplexity divided by the plain model's; `entries`: share of a plain cache's entries that is still kept.
    """

    share: float
    ratio: float
    entries: float


class Ranking(msgspec.Struct, frozen=True):
    """The order in which a model's heads are compressed, least harmful first.

    `damage`: Kullback-Leibler divergence in nats per token when the head of the same index in `heads` is compressed
    alone.
    """

    model: str
    mode: KVModeName
    tokens: int
    heads: tuple[Head, ...]
    damage: tuple[float, ...]
    prices: tuple[Price, ...] = ()

    def least_harmful(self, share: float) -> tuple[Head, ...]:
        """Return the given share of all heads, least harmful first."""
        return self.heads[: head_count(share, len(self.heads))]

    def price(self, share: float) -> Price | None:
        """Return the measured cost of compressing that share; None if it was not measured."""
        return next((price for price in self.prices if abs(price.share - share) < 1e-6), None)


RANKINGS = Store("rankings", 3, Ranking)


def head_count(share: float, heads: int) -> int:
    """Return how many heads a share of them is, at least 1."""
    return max(1, round(share * heads))


def identity_of(model: GraphModel) -> str:
    """Return the identity of the model's file."""
    return file_identity(model.path, model.header.data_offset)


def store_ranking(ranking: Ranking) -> None:
    """Store a ranking for later starts. Raises Failure if it cannot be written."""
    try:
        RANKINGS.put(ranking, ranking.model, ranking.mode)
    except OSError as error:
        raise Failure("ranking_unwritable.folder", folder=RANKINGS.folder, reason=error.strerror) from error


def load_ranking(identity: str, mode: str) -> Ranking | None:
    """Load the ranking of this model and mode; None if none is stored or the stored one is damaged."""
    return RANKINGS.get(identity, mode)


def ranked_heads(model: GraphModel, mode: KVMode) -> tuple[Head, ...]:
    """Return the heads that `mode` compresses. Raises Failure if this model was not ranked for the mode."""
    ranking = load_ranking(identity_of(model), mode.name)
    if ranking is None or not names_all_heads(ranking, model.dimensions):
        name = model.path.name
        raise Failure("no_ranking.of_model", name=name, mode=mode.name, path=model.path)
    return ranking.least_harmful(mode.share)


def names_all_heads(ranking: Ranking, d: Dimensions) -> bool:
    """Return whether the ranking names each of the model's heads exactly once."""
    return sorted(ranking.heads) == [(layer, head) for layer in range(d.layers) for head in range(d.kv_heads)]


# --- KV caches by mode ---


def make_kv(model: GraphModel, n_ctx: int, mode: KVMode) -> KVLayout:
    """Open a KV cache of the given mode. Raises Failure if the heads were not ranked or memory is short."""
    if mode == EXACT:
        return ExactKV(model.dimensions, n_ctx)
    heads = ranked_heads(model, mode)
    return make_head_split_kv(model, n_ctx, mode.name, heads)


def make_head_split_kv(model: GraphModel, n_ctx: int, name: KVModeName, heads: Sequence[Head]) -> HeadSplitKV:
    """Open a KV cache of the named lossy mode with the given heads compressed. Raises Failure if memory is short."""
    d, rotation = model.dimensions, rotation_of(model)
    if name == "published":
        return PublishedKV(d, rotation, n_ctx, name, PublishedSlots(FIRST_SLOTS), heads)
    slots = MergedSlots(FIRST_SLOTS) if name == "merged" else WindowSlots(FIRST_SLOTS)
    return HeadSplitKV(d, rotation, n_ctx, name, slots, heads)


def lossy_note(model: CModel, mode: KVMode) -> Sentence | None:
    """Return a note that says what a lossy mode costs with this model; None for exact keys and values."""
    if mode == EXACT:
        return None
    assert isinstance(model, GraphModel)
    ranking = load_ranking(identity_of(model), mode.name)
    price = ranking.price(mode.share) if ranking else None
    if price is None:
        return Sentence.of("lossy.unmeasured", share=mode.share, mode=mode.name)
    return Sentence.of("lossy.measured", share=mode.share, mode=mode.name, ratio=float(price.ratio))


def rotation_of(model: GraphModel) -> Rotation:
    """Return the position rotation of the model's keys."""
    factors = model.weights.find("rope_freqs.weight")
    return Rotation(model.dimensions, array(factors, np.float32, model.dimensions.head // 2) if factors else None)


# --- sizes computed without allocating memory ---


MARGIN = 1.25  # merged heads may hold this many times the usual number of entries
VERSION = 3  # rises when our graph computes other numbers or at another speed: saved chats and timings then expire


class DryGraph(DryModel):
    """A model without weights, to plan the memory that our graph would need.

    Raises Failure for a file that the graph cannot compute.
    """

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
        self,
        n_ctx: int,
        kv_type: KVType = DEFAULT_KV_TYPE,
        n_batch: int = 512,
        max_logits: int = MAX_LOGITS,
        rollback: int = 0,  # noqa: ARG002
    ) -> ContextSizes | None:
        """Return the sizes of a context; None for keys and values other than F16.

        How many entries merging leaves depends on the text, so the sizes assume MARGIN times the usual number.
        """
        sizes = super().context(n_ctx, kv_type, n_batch, max_logits) if kv_type == "f16" else None
        if sizes is None or self.kv_mode == EXACT:
            return sizes
        slots = min(n_ctx, size_class(int(MARGIN * window_size(n_ctx)) + MERGE_BLOCK + MAX_PASS_TOKENS, 1 << 40))
        d = self.dimensions
        heads, entry = d.layers * d.kv_heads, 2 * d.head * F16_BYTES
        compressed = head_count(self.kv_mode.share, heads)
        return replace(sizes, kv=entry * (heads - compressed) * n_ctx, kv_compressed=entry * compressed * slots)

    def own_layers(self, n_ctx: int, kv_type: KVType, n_batch: int) -> None:
        """Return None: our graph computes the model's usual layers only."""


def graph_build() -> str:
    """Return the version of our graph with llama.cpp's; saved chats and timings of another build are not used."""
    return f"chickadee-graph {VERSION}; {library_build()}"
