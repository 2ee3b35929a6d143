"""The sizes of a model that is not here yet, from its file's size and its shapes. Loads nothing.

Against llama.cpp's own sizes (SmolLM2-135M, Qwen2.5-0.5B and -1.5B; contexts of 512 to 32,768 tokens, batches of 128
and 512) keys and values are exact and compute buffers 0 to 8 MiB too much.
"""

from __future__ import annotations

from engine.sizes import ContextSizes, KVType, WeightSizes
from models.estimate import Estimate
from models.shapes import KV_ELEMENT_BYTES

OUTPUT_ROWS = 64  # logits that a pass has room for
INNER = 10  # vectors of the embedding's length that a pass holds for each token, besides two of the feed-forward's
# Of a 4-bit file llama.cpp repacks the matrices, not the embeddings and what is stored with more bits (Q4_K_M: 56 %).
REPACKED, BESIDE = 0.6, 0.5


class EstimatedSizes:
    """Implements `engine.sizes.Sizes`."""

    def __init__(self, model: Estimate) -> None:
        self.model = model
        repacks = model.quantisation.upper().removeprefix("I").startswith("Q4")
        size = model.size
        self.weights = WeightSizes(size, round(size * REPACKED * repacks), round(size * BESIDE) if repacks else size)

    @property
    def n_ctx_train(self) -> int:
        return self.model.n_ctx_train

    @property
    def n_vocab(self) -> int:
        return self.model.vocabulary

    def context(self, n_ctx: int, kv_type: KVType, n_batch: int) -> ContextSizes:
        model = self.model
        kv = n_ctx * model.layers * model.kv_width * KV_ELEMENT_BYTES[kv_type]
        inner = n_batch * (2 * model.feed_forward + INNER * model.embedding) * 4
        mask = n_ctx * n_batch * 2
        return ContextSizes(round(kv), max(inner, model.vocabulary * OUTPUT_ROWS * 4) + mask, model.vocabulary * 4)
