"""How a model is to run: how its keys and values are kept, with or without flash attention, and a context's options.

Without flash attention a pass holds a number for each of its tokens, each cell of the cache and each head at once. It
is there for comparing: off is slower, takes more memory, and the libraries read quantised values with flash attention
only.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.protocol import FlashAttention, KVModeName, KVType
from engine.runtime.sizes import MAX_LOGITS
from models.failures import Failure

SHARE = 0.25  # of the kv-heads, if none is given


@dataclass(frozen=True, slots=True)
class KVMode:
    """`share` of the kv-heads are compressed, the least harmful ones; 0 and exact go together."""

    name: KVModeName = "exact"
    share: float = 0.0

    def __post_init__(self) -> None:
        if self.name == "exact" and self.share:
            raise ValueError("a share of the heads is only compressed with --kv published, merged or window")
        if self.name != "exact" and not 0 < self.share <= 1:
            raise ValueError(f"the share of heads must lie above 0 and up to 1, not {self.share:g}")

    @property
    def words(self) -> str:
        """What tells saved chats and timings of one mode from another's; empty for exact ones."""
        return "" if self == EXACT else f" {self.name} {self.share:g}"


EXACT = KVMode()


def mode_of(name: KVModeName | None, share: float | None) -> KVMode:
    """Raises ValueError."""
    if name in (None, "exact"):
        return KVMode("exact", share or 0.0)
    return KVMode(name, SHARE if share is None else share)


def words_of(wish: FlashAttention) -> str:
    """What tells saved chats and timings of one way from the other's: values lie in another order without it."""
    return " without flash attention" if wish == "off" else ""


def goes_with(wish: FlashAttention, kv_type: KVType) -> bool:
    """Can keys and values be stored so?"""
    return wish != "off" or kv_type == "f16"


def check_kv_type(wish: FlashAttention, kv_type: KVType | None) -> None:
    """Raises Failure where the two do not go together."""
    if kv_type and not goes_with(wish, kv_type):
        sentence = f"Keys and values stored as {kv_type} need flash attention: leave it on, or store them as f16."
        raise Failure("bad_option", sentence)


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """n_ctx and n_batch in tokens; `max_logits`: most rows of logits of one pass (each row is a vocabulary of floats).

    `kv_type`: how keys and values are stored; q8_0 takes 17/32 of f16, q4_0 takes 9/32 and hurts the keys. `sequences`
    share one cache: each takes the memory of a row of logits, of a sliding window and, in recurrent models, of a whole
    state. `gives_way`: use fewer threads while other programs keep the cores busy. `kv_mode`: of our own graph.
    `flash_attention`: off needs f16."""

    n_ctx: int
    threads: int
    n_batch: int = 512
    max_logits: int = MAX_LOGITS
    kv_type: KVType = "f16"
    sequences: int = 1
    gives_way: bool = False
    kv_mode: KVMode = EXACT
    flash_attention: FlashAttention = "auto"

    def __post_init__(self) -> None:
        assert self.n_ctx > 0, self.n_ctx
        assert self.threads > 0, self.threads
        assert 0 < self.max_logits <= self.n_batch
        assert self.sequences > 0, self.sequences
