"""Bytes: what a model takes when it is loaded in one way, what it may take here, and what one that is not here would.

Of a model that is not here only its file's size and its shapes are known. Against llama.cpp's own sizes (SmolLM2-135M,
Qwen2.5-Coder-0.5B and -1.5B; contexts of 512 to 32,768 tokens, batches of 128 and 512) keys and values are exact, what
is repacked too, and compute buffers 0 to 8 MiB too much. What is repacked follows from how llama.cpp quantises
(`llama_tensor_get_type` in src/llama-quant.cpp) and what it has kernels for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from common.planning import Estimate
from engine.protocol import KVType
from engine.runtime.contexts import MAX_LOGITS, SMALLEST, ContextSizes, Sizes, WeightSizes
from models.shapes import KV_ELEMENT_BYTES

MIB = 1 << 20

# Python, numpy, llama.cpp's code: resident memory of an engine that has answered, less all other parts (52 MiB), and
# what the process that renders templates has for itself (10.6 MiB).
RUNTIME = 63 * MIB
PHRASES = 6 * MIB  # table of what usually comes next: 4.8 (SmolLM2) to 5.8 MB (Qwen2.5); none where it cannot pay
VOCABULARY = 330  # bytes per token in llama.cpp's tables: 321 (Qwen2.5) to 347 (SmolLM2), merges included
ALWAYS_LISTED = ("weights_mapped", "weights_repacked", "kv", "compute", "output", "vocabulary")
DRAFT_LOGITS = 1  # rows of one pass: a draft model writes token by token
DRAFT = "draft_"  # begins the names of a draft model's parts

# Left to the system: other programs grow while the user chats, and a plan is exact to some percent only.
RESERVE, RESERVE_SHARE, RESERVE_MOST_SHARE = 512 * MIB, 0.10, 0.25
BUDGET_SHARE = 0.05  # left of a budget that the user set: for the plan's own inexactness alone

INNER = 10  # vectors of the embedding's length that a pass holds for each token, besides two of the feed-forward's
TOKEN = 38  # bytes of the file for each token of the vocabulary, besides the weights
PLAIN = ("Q4_0", "IQ4_NL")  # one type for all matrices; each of 18 bytes for 32 weights, as Q4_K's
K_ROW = 256  # weights: rows of another length than a multiple are stored in a type that is not repacked


@dataclass(frozen=True, slots=True)
class Layout:
    """One way to load the weights and to make contexts; `n_batch`: most tokens of a pass."""

    kv_type: KVType
    n_batch: int
    repack: bool
    mmap: bool


def all_parts(sizes: Sizes, draft: Sizes | None, layout: Layout, n_ctx: int, rows: int) -> dict[str, int] | None:
    """Of a whole engine with a model, a draft model if there is one, and `rows` rows of logits.

    None when the model cannot have the layout's type of KV cache."""
    own = model_parts(sizes, layout, n_ctx, rows)
    if own is None:
        return None
    listed = {name: size for name, size in own.items() if size or name in ALWAYS_LISTED}
    return listed | {"phrases": PHRASES, "runtime": RUNTIME} | (draft_parts(draft, layout, n_ctx) if draft else {})


def model_parts(
    sizes: Sizes, layout: Layout, n_ctx: int, rows: int, max_logits: int = MAX_LOGITS
) -> dict[str, int] | None:
    """Of one model with a context of `n_ctx` tokens: `rows` of logits are held, and a pass can compute `max_logits`.

    None as `all_parts`."""
    context, weights = sizes.context(n_ctx, layout.kv_type, layout.n_batch, max_logits), sizes.weights
    if context is None:
        return None
    return {
        "weights_mapped": weights.file if layout.mmap else 0,
        "weights_read": 0 if layout.mmap else weights.plain,
        "weights_repacked": weights.repacked if layout.repack else 0,
        "kv": context.kv,
        "kv_compressed": context.kv_compressed,
        "compute": context.compute,
        "output": context.output * rows,
        "vocabulary": sizes.n_vocab * VOCABULARY,
    }


def draft_parts(draft: Sizes, layout: Layout, n_ctx: int) -> dict[str, int]:
    """A draft model is loaded as the model is, with a context as large as far as it was trained for one."""
    layout = replace(layout, kv_type=draft_kv_type(draft, layout.kv_type))
    found = model_parts(draft, layout, min(n_ctx, draft.n_ctx_train or n_ctx), DRAFT_LOGITS, DRAFT_LOGITS)
    assert found, "any model can have an f16 cache"
    return {DRAFT + name: size for name, size in found.items() if size}


def draft_kv_type(draft: Sizes, wanted: KVType) -> KVType:
    """The model's own type of KV cache, if the draft model's heads allow it."""
    return wanted if draft.context(SMALLEST, wanted, n_batch=128) else "f16"


def given_back(parts: Mapping[str, int], grown: float, prefix: str = "") -> int:
    """What unloading a model gives back when it has this share of its KV cache; mapped files count as free anyway."""
    names = ("weights_repacked", "weights_read", "vocabulary")
    kv = sum(parts.get(prefix + name, 0) for name in ("kv", "kv_compressed"))
    return sum(parts.get(prefix + name, 0) for name in names) + int(kv * grown)


# --- what it may take ---


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes the engine may take; `reserve` is what was left out of them; `limit` is the user's own, if one was set."""

    usable: int
    reserve: int
    limit: int | None = None


def budget(total: int, available: int, limit: int | None = None, freed_bytes: int = 0) -> Budget:
    """What may be used of a machine with `total` bytes of RAM of which `available` are free for us.

    The reserve is a tenth of the RAM, at least 512 MiB but never more than a quarter. `freed_bytes` is what the loaded
    model will give back."""
    reserve = int(max(min(RESERVE, total * RESERVE_MOST_SHARE), total * RESERVE_SHARE))
    usable = max(0, available + freed_bytes - reserve)
    if limit is not None and int(limit * (1 - BUDGET_SHARE)) <= usable:
        spare = limit - int(limit * (1 - BUDGET_SHARE))
        return Budget(limit - spare, spare, limit)
    return Budget(usable, reserve, limit)


# --- what a model that is not here would take ---


class EstimatedSizes:
    """Implements `engine.runtime.contexts.Sizes` for a model of which only an estimate is here."""

    def __init__(self, model: Estimate) -> None:
        self.model = model
        file = max(0, model.size - TOKEN * model.vocabulary)
        repacked = min(file, _repacked(model))
        self.weights = WeightSizes(file, repacked, file - repacked)

    @property
    def n_ctx_train(self) -> int:
        """Tokens of context that it was trained for, 0 if that is not known."""
        return self.model.n_ctx_train

    @property
    def n_vocab(self) -> int:
        """Tokens of its vocabulary, perhaps a guess."""
        return self.model.vocabulary

    def context(self, n_ctx: int, kv_type: KVType, n_batch: int, max_logits: int = MAX_LOGITS) -> ContextSizes:
        """Bytes of keys and values (layers × width × tokens), of a pass's vectors and mask, and of a row of logits."""
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
