"""A model file's sizes on our own graph, without room for it: llama.cpp's, whose layouts of weights, cache and buffers
it shares (checked by a test)."""

from __future__ import annotations

from pathlib import Path

from engine.graph import needs
from engine.graph.dimensions import dimensions_of
from engine.llama.dry import DryModel
from engine.llama.library import build as library_build
from engine.sizes import ContextSizes, KVType
from models.failures import Failure

VERSION = 1  # of what our graph computes and how fast; what was saved or timed with another is of no use


class DryGraph(DryModel):
    """Implements `engine.sizes.DrySizes`. Raises Failure for a file that the graph cannot compute."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        refusal = needs.refusal(self.header)
        if refusal:
            self.close()
            raise Failure("not_supported", refusal)
        self.dimensions = dimensions_of(self.header)

    def context(self, n_ctx: int, kv_type: KVType = "f16", n_batch: int = 512) -> ContextSizes | None:
        """Keys and values are F16."""
        return super().context(n_ctx, kv_type, n_batch) if kv_type == "f16" else None


def build() -> str:
    return f"chickadee-graph {VERSION}; {library_build()}"
