"""How the keys and values of a model are kept: in full, or a share of its heads compressed in one of three ways."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.protocol import KVModeName
from engine.runtime.capi.model import CModel
from engine.runtime.graph import ranking
from engine.runtime.graph.exact import ExactKV
from engine.runtime.graph.ggml import array
from engine.runtime.graph.layout import Layout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.published import PublishedKV, PublishedSlots
from engine.runtime.graph.ranking import Head
from engine.runtime.graph.rotation import Rotation
from engine.runtime.graph.slots import MergedSlots, WindowSlots
from engine.runtime.graph.split import FIRST, SplitKV
from engine.runtime.options import EXACT, KVMode


def make_kv(model: GraphModel, n_ctx: int, mode: KVMode) -> Layout:
    """Raises Failure where the model's heads were not ranked for this mode, or there is no memory."""
    if mode == EXACT:
        return ExactKV(model.dimensions, n_ctx)
    heads = ranking.heads_for(model, mode)
    return split_kv(model, n_ctx, mode.name, heads)


def split_kv(model: GraphModel, n_ctx: int, name: KVModeName, heads: Sequence[Head]) -> SplitKV:
    """With these heads compressed."""
    d, rotation = model.dimensions, rotation_of(model)
    if name == "published":
        return PublishedKV(d, rotation, n_ctx, name, PublishedSlots(FIRST), heads)
    slots = MergedSlots(FIRST) if name == "merged" else WindowSlots(FIRST)
    return SplitKV(d, rotation, n_ctx, name, slots, heads)


def lossy_note(model: CModel, mode: KVMode) -> str:
    """What a lossy mode costs this very model, as a sentence; empty for exact keys and values."""
    if mode == EXACT:
        return ""
    assert isinstance(model, GraphModel)
    found = ranking.read(ranking.identity_of(model), mode.name)
    price = found.price(mode.share) if found else None
    share, name = f"{mode.share:.0%}", mode.name
    if price is None:
        return f"Lossy: {share} of the heads keep less than every token ({name}); what that costs is not measured."
    ratio = f"{price.ratio:.3f}"
    return f"Lossy: {share} of the heads keep less than every token ({name}); perplexity × {ratio} as it was measured."


def rotation_of(model: GraphModel) -> Rotation:
    factors = model.weights.find("rope_freqs.weight")
    return Rotation(model.dimensions, array(factors, np.float32, model.dimensions.head // 2) if factors else None)
