"""The plain KV cache: one cell per token, layer and kv-head. This module knows no pass.

One head's keys lie together in the order of the tokens, and so do its values. llama.cpp keeps a token's heads together,
so attention, which reads one head at a time, has to skip the others: behind 4,096 tokens, passes of a model with two
heads of 128 took 7 % longer that way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.ggml import F16, I64, Graph
from engine.runtime.graph.kv_layout import KeysAndValues, KVLayout, Projected, Rotate, Seen, fill_mask, round_up


class ExactKV(KVLayout):
    """A KV cache with the same content as llama.cpp's, so that passes give the same logits to the last bit."""

    def __init__(self, d: Dimensions, n_ctx: int) -> None:
        super().__init__(d, [(d.kv_heads,)] * d.layers, (round_up(n_ctx),))

    @property
    def form(self) -> str:
        return f"exact {self.d.layers} × {self.d.kv_heads} × {self.d.head}"

    def create_inputs(self, g: Graph, n: int, bucket: Any) -> tuple[Any, ...]:
        """Create the inputs: the rows that new keys and values are written to, and the attention mask."""
        return g.input(I64, n * self.d.kv_heads), g.input(F16, *bucket, n)

    def attend(self, g: Graph, inputs: tuple[Any, ...], layer: int, new: Projected, rotate: Rotate) -> Any:
        index, mask = inputs
        q, k, v = new.q, rotate(new.k), new.v
        for projected in (q, k, v):  # llama.cpp's order, for equal results
            g.expand(projected)
        self._store(g, layer, index, k, v)
        return self._attention(g, layer, 0, q, mask)

    def fill_inputs(self, arrays: Sequence[NDArray[Any]], size: int, seen: Seen) -> None:
        """Fill the row numbers and the mask for new tokens behind `size` cached ones.

        Each new token sees all cached ones, and those of the new ones that `seen` marks.
        """
        index, mask = arrays
        heads = np.arange(self.d.kv_heads) * self.n_ctx
        index[:] = (np.arange(size, size + len(mask))[:, None] + heads).ravel()
        fill_mask(mask, size, seen)

    def copy_tokens(self, size: int) -> list[KeysAndValues]:
        """Return a copy of the first `size` tokens' keys and values, layer by layer."""
        layers = (cells.views() for cells in self.layers)
        return [(keys[:size].copy(), values[:size].copy()) for keys, values in layers]
