"""The sizes of a model that is not here yet, from its file's size and its shapes. Loads nothing.

Against llama.cpp's own sizes (SmolLM2-135M, Qwen2.5-Coder-0.5B and -1.5B; contexts of 512 to 32,768 tokens, batches of
128 and 512) keys and values are exact, what is repacked too, and compute buffers 0 to 8 MiB too much. What is repacked
follows from how llama.cpp quantises (`llama_tensor_get_type` in src/llama-quant.cpp) and what it has kernels for.
"""

from __future__ import annotations

from engine.runtime.sizes import MAX_LOGITS, ContextSizes, KVType, WeightSizes
from models.estimate import Estimate
from models.shapes import KV_ELEMENT_BYTES

INNER = 10  # vectors of the embedding's length that a pass holds for each token, besides two of the feed-forward's
TOKEN = 38  # bytes of the file for each token of the vocabulary, besides the weights
PLAIN = ("Q4_0", "IQ4_NL")  # one type for all matrices; each of 18 bytes for 32 weights, as Q4_K's
K_ROW = 256  # weights: rows of another length than a multiple are stored in a type that is not repacked


class EstimatedSizes:
    """Implements `engine.runtime.sizes.Sizes`."""

    def __init__(self, model: Estimate) -> None:
        self.model = model
        file = max(0, model.size - TOKEN * model.vocabulary)
        repacked = min(file, _repacked(model))
        self.weights = WeightSizes(file, repacked, file - repacked)

    @property
    def n_ctx_train(self) -> int:
        return self.model.n_ctx_train

    @property
    def n_vocab(self) -> int:
        return self.model.vocabulary

    def context(self, n_ctx: int, kv_type: KVType, n_batch: int, max_logits: int = MAX_LOGITS) -> ContextSizes:
        """See `engine.runtime.sizes.Sizes`."""
        model = self.model
        kv = n_ctx * model.layers * model.kv_width * KV_ELEMENT_BYTES[kv_type]
        inner = n_batch * (2 * model.feed_forward + INNER * model.embedding) * 4
        mask = n_ctx * n_batch * 2
        return ContextSizes(round(kv), max(inner, model.vocabulary * max_logits * 4) + mask, model.vocabulary * 4)


def _repacked(model: Estimate) -> int:
    """Bytes of the matrices that llama.cpp copies into another order; embeddings are none of them."""
    kind = model.quantisation.upper()
    if kind not in PLAIN and not kind.startswith("Q4_K"):
        return 0
    step = 32 if kind in PLAIN else K_ROW
    more = 0 if kind in PLAIN else sum(_has_more_bits(layer, model.layers) for layer in range(model.layers))
    queries = model.attention or model.embedding
    halved = model.layers - more  # layers whose values' and last matrix have no more bits than the others
    matrices = (
        (model.embedding, queries + model.kv_width // 2 + 2 * model.feed_forward, model.layers),
        (queries, model.embedding, model.layers),
        (model.embedding, model.kv_width // 2, halved),
        (model.feed_forward, model.embedding, halved),
    )
    weights = sum(row * rows * layers for row, rows, layers in matrices if row % step == 0)
    return weights * 18 // 32


def _has_more_bits(layer: int, layers: int) -> bool:
    """Of Q4_K_M: `use_more_bits` in src/llama-quant.cpp."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
