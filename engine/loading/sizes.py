"""Sizes in bytes: of a model that is loaded in one way, of the memory that it may use, and of a model yet to download.

Of a model that is not downloaded only its file's size and its shapes are known. Compared with llama.cpp's own sizes
(SmolLM2-135M, Qwen2.5-Coder-0.5B and -1.5B; contexts of 512 to 32,768 tokens, batches of 128 and 512), keys and values
and repacked weights are exact, and compute buffers 0 to 8 MiB too large. Which weights are repacked follows from how
llama.cpp quantises (`llama_tensor_get_type` in src/llama-quant.cpp) and from the kernels that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from common.planning import DEFAULT_KV_TYPE, Estimate, KVType
from engine.costs.cost_model import KS
from engine.runtime.contexts import CACHE_STEP, MAX_LOGITS, SMALLEST_CACHE, ContextSizes, Sizes, WeightSizes
from models.shapes import KV_ELEMENT_BYTES

MIB = 1 << 20

# Python, numpy, llama.cpp's code: resident memory of an engine that has answered, less all other parts (50 MiB), plus
# the private memory of the process that renders templates (10.6 MiB).
PROGRAM_BYTES = 61 * MIB
NGRAM_TABLE_BYTES = 6 * MIB  # n-gram table: 4.8 (SmolLM2) to 5.8 MB (Qwen2.5); no table where it cannot pay
VOCABULARY_BYTES_PER_TOKEN = (
    330  # bytes per token in llama.cpp's tables: 321 (Qwen2.5) to 347 (SmolLM2), merges included
)
# The local API: private memory of its process (30 MiB after 100 requests), and llguidance's table of the vocabulary
# with what making it leaves in the allocator (206 bytes a token: Gemma 3, 266: Qwen2.5, 281: SmolLM2).
API_BYTES = 31 * MIB
GRAMMAR_BYTES_PER_TOKEN = 285
ALWAYS_LISTED = ("weights_mapped", "weights_repacked", "kv", "compute", "output", "vocabulary")
# Checkpoints (`engine.kv.checkpoints`): two are enough to try an answer again and to go on without its thoughts.
FEWEST_CHECKPOINTS, MOST_CHECKPOINTS = 2, 16
CHECKPOINTS_BYTES = 256 * MIB  # of all checkpoints, unless FEWEST_CHECKPOINTS are larger
MOST_ROLLBACK, ROLLBACK_BYTES = 15, 256 * MIB  # tokens of a pass that recurrent layers can forget, and bytes for that
LEAST_ROLLBACK = 2  # tokens: shorter drafts do not pay
DRAFT_LOGITS = 1  # rows of one pass: a draft model writes token by token
DRAFT_PREFIX = "draft_"  # begins the names of a draft model's parts

# Left to the system, because other programs grow while the user chats and a plan is exact to some percent only.
RESERVE, RESERVE_SHARE, RESERVE_MOST_SHARE = 512 * MIB, 0.10, 0.25
BUDGET_SHARE = 0.05  # of a limit that the user set, left free because a plan is exact to some percent only

INNER_VECTORS = (
    10  # vectors of the embedding's length that a pass holds for each token, besides two of the feed-forward's
)
# Room for the nodes of llama.cpp's two graphs: eight nodes of 634 bytes for each of a layer's 9 to 12 tensors.
GRAPH_BYTES_PER_LAYER = 100_000
FILE_BYTES_PER_TOKEN = 38  # bytes of the file for each token of the vocabulary, besides the weights
UNIFORM_TYPES = ("Q4_0", "IQ4_NL")  # one type for all matrices; each of 18 bytes for 32 weights, as Q4_K's
K_ROW = 256  # weights: rows of another length than a multiple are stored in a type that is not repacked


@dataclass(frozen=True, slots=True)
class MemoryLayout:
    """One way to load the weights and to make contexts.

    `n_batch`: most tokens of a pass. `rollback`: tokens of a pass that recurrent layers can forget, so that drafts can
    be verified. `checkpoints`: number of checkpoints that there is room for. `own_layers`: load the model's own layers
    that predict further tokens.
    """

    kv_type: KVType
    n_batch: int
    repack: bool
    mmap: bool
    rollback: int = 0
    checkpoints: int = FEWEST_CHECKPOINTS
    own_layers: bool = False


def engine_parts(
    sizes: Sizes, draft: Sizes | None, layout: MemoryLayout, n_ctx: int, api: bool = False
) -> dict[str, int] | None:
    """Return bytes by name of a whole engine with a model, and a draft model if there is one.

    With `api` also of what other programs need that use it. None if the model cannot have the layout's type of KV
    cache.
    """
    own = model_parts(sizes, layout, n_ctx, KS[-1], MAX_LOGITS)
    if own is None:
        return None
    listed = {name: size for name, size in own.items() if size or name in ALWAYS_LISTED}
    return (
        listed
        | {"phrases": NGRAM_TABLE_BYTES, "runtime": PROGRAM_BYTES}
        | ({"grammars": sizes.n_vocab * GRAMMAR_BYTES_PER_TOKEN, "api": API_BYTES} if api else {})
        | (draft_parts(draft, layout, n_ctx) if draft else {})
    )


def model_parts(sizes: Sizes, layout: MemoryLayout, n_ctx: int, rows: int, max_logits: int) -> dict[str, int] | None:
    """Return bytes by name of one model with a context of `n_ctx` tokens.

    `rows` of logits are allocated at most, as calibrating and verifying drafts compute them; a pass has room for
    `max_logits`. None if the model cannot have the
    layout's type of KV cache.
    """
    context = sizes.context(n_ctx, layout.kv_type, layout.n_batch, max_logits, layout.rollback)
    weights = sizes.weights
    if context is None:
        return None
    own = sizes.own_layers(n_ctx, layout.kv_type, layout.n_batch) if layout.own_layers else None
    return {
        "weights_mapped": weights.file if layout.mmap else 0,
        "weights_read": 0 if layout.mmap else weights.plain,
        "weights_repacked": weights.repacked if layout.repack else 0,
        "kv": context.kv - context.snapshots,
        "kv_compressed": context.kv_compressed,
        "snapshots": context.snapshots,
        "checkpoints": context.checkpoint * layout.checkpoints,
        "compute": context.compute,
        "output": context.output * rows,
        "vocabulary": sizes.n_vocab * VOCABULARY_BYTES_PER_TOKEN,
        "own_layers": weight_bytes(own.weights, layout) if own else 0,
        "own_layers_cache": own.cache if own else 0,
    }


def weight_bytes(weights: WeightSizes, layout: MemoryLayout) -> int:
    """Return the bytes of weights that are loaded as `layout` says."""
    return (weights.file if layout.mmap else weights.plain) + (weights.repacked if layout.repack else 0)


def rollbacks(sizes: Sizes) -> tuple[int, ...]:
    """Return for how many tokens of rollback a context is worth planning, the most first; (0,) without snapshots."""
    context = sizes.context(SMALLEST_CACHE, DEFAULT_KV_TYPE, CACHE_STEP, 1, 1)
    if context is None or not context.rollback or not context.checkpoint:
        return (0,)
    most = min(MOST_ROLLBACK, ROLLBACK_BYTES // context.checkpoint)
    return (most, 0) if most >= LEAST_ROLLBACK else (0,)


def can_take_back(sizes: Sizes, rollback: int) -> bool:
    """Return whether drafts can be taken back: recurrent layers need snapshots (`rollback`) for that."""
    context = sizes.context(SMALLEST_CACHE, DEFAULT_KV_TYPE, CACHE_STEP, 1, 1)
    return rollback > 0 or context is None or not context.rollback


def affordable_checkpoints(parts: Mapping[str, int], layout: MemoryLayout, room: int) -> int:
    """Return how many checkpoints to keep if `room` bytes are left beside `parts`, which contain those of `layout`."""
    each = parts.get("checkpoints", 0) // layout.checkpoints
    if not each:
        return 0
    more = min(room // 2, CHECKPOINTS_BYTES - layout.checkpoints * each) // each
    return min(MOST_CHECKPOINTS, layout.checkpoints + max(0, more))


def draft_parts(draft: Sizes, layout: MemoryLayout, n_ctx: int) -> dict[str, int]:
    """Return bytes by name of the draft model, loaded as the model is.

    Its context is as large as the model's, or as large as it was trained for.
    """
    layout = replace(layout, kv_type=draft_kv_type(draft, layout.kv_type), rollback=0, checkpoints=0, own_layers=False)
    parts = model_parts(draft, layout, min(n_ctx, draft.n_ctx_train or n_ctx), DRAFT_LOGITS, DRAFT_LOGITS)
    assert parts, "any model can have an f16 cache"
    return {DRAFT_PREFIX + name: size for name, size in parts.items() if size}


def draft_kv_type(draft: Sizes, wanted: KVType) -> KVType:
    """Return the model's type of KV cache if the draft model's heads allow it, else f16."""
    return wanted if draft.context(SMALLEST_CACHE, wanted, n_batch=128) else DEFAULT_KV_TYPE


def freed_by_unloading(parts: Mapping[str, int], kv_share: float, prefix: str = "") -> int:
    """Return the bytes that unloading a model frees if its KV cache has grown to the share `kv_share` of its limit.

    Mapped files are left out, because the system counts them as available anyway.
    """
    names = ("weights_repacked", "weights_read", "vocabulary", "device_weights", "device_compute")
    kv = sum(parts.get(prefix + name, 0) for name in ("kv", "kv_compressed", "device_kv"))
    return sum(parts.get(prefix + name, 0) for name in names) + int(kv * kv_share)


# --- the budget ---


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """Bytes that the engine may use; `reserve` was left out of them; `limit` is the user's own limit, or None."""

    usable: int
    reserve: int
    limit: int | None = None


def memory_budget(total: int, available: int, limit: int | None = None, freed_bytes: int = 0) -> MemoryBudget:
    """Return what may be used of a machine with `total` bytes of RAM of which `available` are free for this process.

    The reserve is a tenth of the RAM, at least 512 MiB but never more than a quarter. `freed_bytes` is what the loaded
    model will free.
    """
    reserve = int(max(min(RESERVE, total * RESERVE_MOST_SHARE), total * RESERVE_SHARE))
    usable = max(0, available + freed_bytes - reserve)
    if limit is not None and int(limit * (1 - BUDGET_SHARE)) <= usable:
        spare = limit - int(limit * (1 - BUDGET_SHARE))
        return MemoryBudget(limit - spare, spare, limit)
    return MemoryBudget(usable, reserve, limit)


# --- estimates for a model that is not downloaded ---


class EstimatedSizes:
    """Implementation of `engine.runtime.contexts.Sizes` for a model of which only an estimate is known."""

    def __init__(self, model: Estimate) -> None:
        self.model = model
        file = max(0, model.size - FILE_BYTES_PER_TOKEN * model.vocabulary)
        repacked = min(file, _repacked(model))
        self.weights = WeightSizes(file, repacked, file - repacked, mixture=model.experts > 0)

    @property
    def n_ctx_train(self) -> int:
        """Tokens of context that the model was trained for, 0 if unknown."""
        return self.model.n_ctx_train

    @property
    def n_vocab(self) -> int:
        """Tokens of the model's vocabulary, perhaps a guess."""
        return self.model.vocabulary

    def context(
        self,
        n_ctx: int,
        kv_type: KVType,
        n_batch: int,
        max_logits: int = MAX_LOGITS,
        rollback: int = 0,
    ) -> ContextSizes:
        """Return the bytes of a context's buffers.

        Keys and values (layers × width × tokens), recurrent states with their snapshots, vectors and mask of a pass,
        and one row of logits. A layer with a sliding window keeps the window and one pass more, in steps of CACHE_STEP
        tokens (src/llama-kv-cache-iswa.cpp). A checkpoint holds the states and the windows.
        """
        model = self.model
        cells = _padded(n_ctx)
        window_cells = min(cells, _padded(model.window + n_batch))
        rollback = rollback if model.snapshots else 0
        kv = model.kv_numbers(cells, window_cells) * KV_ELEMENT_BYTES[kv_type] + model.state_bytes * (1 + rollback)
        windows = model.kv_numbers(0, min(window_cells, model.window)) * KV_ELEMENT_BYTES[kv_type]
        checkpoint = round(model.state_bytes + windows)
        inner = n_batch * (2 * model.feed_forward + INNER_VECTORS * model.embedding) * 4
        mask = n_ctx * n_batch * 2
        graphs = GRAPH_BYTES_PER_LAYER * model.layers
        compute = max(inner, model.vocabulary * max_logits * 4) + mask + graphs
        return ContextSizes(
            round(kv), compute, model.vocabulary * 4, checkpoint=checkpoint, rollback=rollback if checkpoint else 0
        )

    def own_layers(self, n_ctx: int, kv_type: KVType, n_batch: int) -> None:
        """Return None: nobody knows before the download whether the file holds such layers."""


def _repacked(model: Estimate) -> int:
    """Return bytes of the matrices that llama.cpp copies into another order; embeddings are not among them.

    Of a mixture at least the experts that a token does not use: such a copy takes the place of the file's weights.
    """
    kind = model.quantisation.upper()
    if kind not in UNIFORM_TYPES and not kind.startswith("Q4_K"):
        return 0
    if model.experts:
        return round(model.size * (1 - model.active_share))
    step = 32 if kind in UNIFORM_TYPES else K_ROW
    more = 0 if kind in UNIFORM_TYPES else sum(_has_more_bits(layer, model.layers) for layer in range(model.layers))
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


def _padded(tokens: int) -> int:
    """Return the cells of a cache for so many tokens."""
    return -(-tokens // CACHE_STEP) * CACHE_STEP


def _has_more_bits(layer: int, layers: int) -> bool:
    """Return whether Q4_K_M stores two matrices of this layer in more bits: `use_more_bits` in src/llama-quant.cpp."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2
