"""What a model takes in memory when it is loaded in one way: bytes by name. Decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from engine.runtime.ladder import SMALLEST
from engine.runtime.sizes import MAX_LOGITS, KVType, Sizes

MIB = 1 << 20

# Python, numpy, llama.cpp's code: resident memory of an engine that has answered, less all other parts (52 MiB), and
# what the process that renders templates has for itself (10.6 MiB).
RUNTIME = 63 * MIB
PHRASES = 6 * MIB  # table of what usually comes next: 4.8 (SmolLM2) to 5.8 MB (Qwen2.5); none where it cannot pay
VOCABULARY = 330  # bytes per token in llama.cpp's tables: 321 (Qwen2.5) to 347 (SmolLM2), merges included
ALWAYS_LISTED = ("weights_mapped", "weights_repacked", "kv", "compute", "output", "vocabulary")
DRAFT_LOGITS = 1  # a draft model writes token by token
DRAFT = "draft_"  # begins the names of a draft model's parts


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to load the weights and to make contexts."""

    kv_type: KVType
    n_batch: int
    repack: bool
    mmap: bool


def all_parts(sizes: Sizes, draft: Sizes | None, choice: Choice, n_ctx: int, rows: int) -> dict[str, int] | None:
    """Of a whole engine with a model, a draft model if there is one, and `rows` rows of logits.

    None when the model cannot have the choice's type of KV cache."""
    own = model_parts(sizes, choice, n_ctx, rows)
    if own is None:
        return None
    listed = {name: size for name, size in own.items() if size or name in ALWAYS_LISTED}
    return listed | {"phrases": PHRASES, "runtime": RUNTIME} | (draft_parts(draft, choice, n_ctx) if draft else {})


def model_parts(
    sizes: Sizes, choice: Choice, n_ctx: int, rows: int, max_logits: int = MAX_LOGITS
) -> dict[str, int] | None:
    """Of one model: `rows` of logits are held, and a pass has room to compute `max_logits`."""
    context, weights = sizes.context(n_ctx, choice.kv_type, choice.n_batch, max_logits), sizes.weights
    if context is None:
        return None
    return {
        "weights_mapped": weights.file if choice.mmap else 0,
        "weights_read": 0 if choice.mmap else weights.plain,
        "weights_repacked": weights.repacked if choice.repack else 0,
        "kv": context.kv,
        "kv_compressed": context.kv_compressed,
        "compute": context.compute,
        "output": context.output * rows,
        "vocabulary": sizes.n_vocab * VOCABULARY,
    }


def draft_parts(draft: Sizes, choice: Choice, n_ctx: int) -> dict[str, int]:
    """A draft model is loaded as the model is, with a context as large as far as it was trained for one."""
    choice = replace(choice, kv_type=draft_kv_type(draft, choice.kv_type))
    found = model_parts(draft, choice, min(n_ctx, draft.n_ctx_train or n_ctx), 1, DRAFT_LOGITS)
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
