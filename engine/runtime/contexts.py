"""Contexts: how one is asked for, how many bytes its parts take, and the sizes of an elastic cache.

Without flash attention a pass holds a number for each of its tokens, each cell of the cache and each head at once. It
is there for comparing: off is slower, takes more memory, and the libraries read quantised values with flash attention
only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

from common.failures import Failure
from engine.protocol import FlashAttention, KVModeName, KVType
from models.header import Header

MAX_LOGITS = 64  # rows of one pass that a target has room for: to verify drafts, and to calibrate
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
        raise Failure("bad_option.flash_attention", kv_type=kv_type)


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


# --- how many bytes ---


@dataclass(frozen=True, slots=True)
class WeightSizes:
    """Bytes of a model's weights.

    `file`: all tensors as they lie in the file. `repacked`: the copy of those tensors that the processor can compute
    faster in another order. `plain`: the tensors that are needed beside that copy; a mapped file holds them all.
    `in_place`: there is no copy, the library puts what it has read into that order: it needs `file` bytes, no more.
    """

    file: int
    repacked: int
    plain: int
    in_place: bool = False

    def __post_init__(self) -> None:
        assert 0 <= self.plain <= self.file, self
        assert self.repacked >= 0, self

    @property
    def ways(self) -> tuple[tuple[bool, bool], ...]:
        """Ways to load them, the best first: are they repacked, is the file mapped?"""
        if self.in_place:
            return ((True, False),)
        return ((True, True), (True, False), (False, True)) if self.repacked else ((False, True),)


@dataclass(frozen=True, slots=True)
class ContextSizes:
    """Bytes of a context: KV cache (all of it resident from the start), compute buffers, one row of logits.

    `kv_compressed`: of heads that keep less than every token, where some do; `kv` is then of the others."""

    kv: int
    compute: int
    output: int
    kv_compressed: int = 0


class Sizes(Protocol):
    """The sizes of one model file; `context` is cheap enough for a search (milliseconds)."""

    @property
    def weights(self) -> WeightSizes:
        """Bytes of the weights."""

    @property
    def n_ctx_train(self) -> int:
        """Tokens of context the model was trained for, 0 if its file does not say."""

    @property
    def n_vocab(self) -> int:
        """Tokens of the vocabulary: a row of logits has so many numbers."""

    def context(self, n_ctx: int, kv_type: KVType, n_batch: int, max_logits: int = MAX_LOGITS) -> ContextSizes | None:
        """Of a context whose passes have at most `n_batch` tokens and `max_logits` rows of logits.

        None when the model cannot have such a KV cache (its heads do not divide into the type's blocks)."""


class DrySizes(Sizes, Protocol):
    """The sizes of a file that a library has open without room for its weights; to be closed."""

    @property
    def header(self) -> Header:
        """The file's."""

    @property
    def can_truncate(self) -> bool:
        """See `engine.runtime.interface.Runtime.can_truncate`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: object, value: object, trace: object) -> None: ...


# --- how many tokens a cache is made for ---


SMALLEST = 512  # tokens
STEP = 256  # tokens: llama.cpp rounds contexts up to this
ANSWER_ROOM = 256  # tokens a cache has free for the answer when a prompt is read, so that it need not move at once


def size_class(tokens: int, limit: int) -> int:
    """The smallest class of 512, 768, 1024, 1280, … that holds `tokens`, or `limit` if that is smaller.

    Four classes in each doubling: on average an eighth of the cells is unused, with doubling alone a third. A chat that
    grows to n tokens copies 6 n tokens in all, which is nothing beside reading them (1.5B model: 30 µs a token copied,
    10,000 read), and one that is fetched from the disk does not wait for cells it has no use for."""
    size = SMALLEST
    while size < tokens:
        size += max(STEP, (1 << size.bit_length() - 1) // 4)
    return min(size, limit)
