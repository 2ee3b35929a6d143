"""A model file's sizes on our own graph, without room for it: llama.cpp's, whose layouts of weights, cache and buffers
it shares (checked by a test)."""

from __future__ import annotations

from dataclasses import replace

from engine.protocol import FlashAttention
from engine.runtime.capi.model import ModelFile
from engine.runtime.graph import needs
from engine.runtime.graph.dimensions import dimensions_of
from engine.runtime.graph.layout import HALF
from engine.runtime.graph.ranking import count_of
from engine.runtime.graph.slots import BLOCK, window
from engine.runtime.graph.split import MOST_AT_ONCE
from engine.runtime.llama.dry import DryModel
from engine.runtime.llama.library import build as library_build
from engine.runtime.options import EXACT, KVMode
from engine.runtime.sizes import MAX_LOGITS, ContextSizes, KVType, size_class
from models.failures import Failure

MARGIN = 1.25
ALWAYS_FLASH = "Chickadee's own graph computes with flash attention only: leave it on, or choose llama.cpp."
VERSION = 3  # of what our graph computes and how fast; what was saved or timed with another is of no use


class DryGraph(DryModel):
    """Implements `engine.runtime.sizes.DrySizes`. Raises Failure for a file that the graph cannot compute."""

    def __init__(self, file: ModelFile, flash_attention: FlashAttention = "auto", kv_mode: KVMode = EXACT) -> None:
        if flash_attention == "off":
            raise Failure("not_supported", ALWAYS_FLASH)
        super().__init__(file)
        self.kv_mode = kv_mode
        refusal = needs.refusal(self.header)
        if refusal:
            self.close()
            raise Failure("not_supported", refusal)
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
    return f"chickadee-graph {VERSION}; {library_build()}"
