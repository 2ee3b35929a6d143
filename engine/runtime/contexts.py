"""Options of a context, the bytes that its parts take, and the sizes that an elastic KV cache can have.

Without flash attention a pass holds one number for each combination of token, cache cell and head. "off" exists for
comparisons only: it is slower and takes more memory, and the libraries read quantised values only with flash attention.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from common.failures import Failure
from common.planning import DEFAULT_KV_TYPE, KVType
from engine.protocol.requests import FlashAttention, KVModeName

MAX_LOGITS = 64  # rows of logits that a target has room for in one pass: to verify drafts and to calibrate
DEFAULT_SHARE = 0.25  # of the kv-heads, where a mode is chosen without a share


@dataclass(frozen=True, slots=True)
class KVMode:
    """Compression of the KV cache: `share` of the kv-heads, the least harmful ones, by the method `name`.

    The share is 0 exactly if the name is "exact". Raises ValueError otherwise.
    """

    name: KVModeName = "exact"
    share: float = 0.0

    def __post_init__(self) -> None:
        if self.name == "exact" and self.share:
            raise ValueError("a share of the heads is only compressed with --kv published, merged or window")
        if self.name != "exact" and not 0 < self.share <= 1:
            raise ValueError(f"the share of heads must lie above 0 and up to 1, not {self.share:g}")

    @property
    def suffix(self) -> str:
        """Text added to the keys of saved chats and timings to tell modes apart; empty for exact heads."""
        return "" if self == EXACT else f" {self.name} {self.share:g}"


EXACT = KVMode()


def make_kv_mode(name: KVModeName | None, share: float | None) -> KVMode:
    """Build the mode that a request names; a missing share becomes `DEFAULT_SHARE`. Raises ValueError."""
    if name in (None, "exact"):
        return KVMode("exact", share or 0.0)
    return KVMode(name, DEFAULT_SHARE if share is None else share)


# Tokens from which a pass counts as a prompt's: arithmetic limits it, not the memory's speed. ik_llama.cpp reads the
# prompts of some models, among them the built-in one, in passes of no more tokens (`MAX_EXACT_PASS`).
PROMPT_PASS = 31


@dataclass(frozen=True, slots=True)
class ThreadCounts:
    """Numbers of threads: `decode` for short passes, which wait for memory, and `prompt` for long ones."""

    decode: int
    prompt: int

    def of(self, tokens: int) -> int:
        """Return the number of threads for a pass of `tokens` tokens."""
        return self.prompt if tokens >= PROMPT_PASS else self.decode


def flash_attention_suffix(flash_attention: FlashAttention) -> str:
    """Return the text added to the keys of saved chats and timings where flash attention is off.

    Without flash attention values lie in another order, so such files and timings must not be mixed with others.
    """
    return " without flash attention" if flash_attention == "off" else ""


def supports_kv_type(flash_attention: FlashAttention, kv_type: KVType) -> bool:
    """Return whether keys and values can be stored as `kv_type`: without flash attention only f16 works."""
    return flash_attention != "off" or kv_type == "f16"


def check_kv_type(flash_attention: FlashAttention, kv_type: KVType | None) -> None:
    """Raise Failure if `kv_type` is given and cannot be used with this choice of flash attention."""
    if kv_type and not supports_kv_type(flash_attention, kv_type):
        raise Failure("bad_option.flash_attention", kv_type=kv_type)


@dataclass(frozen=True, slots=True)
class ContextOptions:
    """Options of a context.

    - `n_ctx`: tokens that the KV cache can hold.
    - `threads`: threads of a pass; with `gives_way`, fewer are used while other programs keep the cores busy.
      `prompt_threads`: those of passes of PROMPT_PASS tokens or more; None: the same number.
    - `n_batch`: tokens of the largest pass.
    - `max_logits`: most rows of logits of one pass; each row is a vocabulary of floats.
    - `kv_type`: storage type of keys and values; q8_0 takes 17/32 of f16, q4_0 takes 9/32 and hurts the keys.
    - `sequences`: number of sequences that share the cache; each takes the memory of a row of logits, of a sliding
      window and, in recurrent models, of a whole state.
    - `kv_mode`: compression of the KV cache; used by our own graph only.
    - `flash_attention`: "off" needs f16.
    - `rollback`: tokens of a pass that recurrent layers can forget; each takes the memory of a whole state. Libraries
      that cannot do this for a model ignore it.
    - `own_layers`: let the model's own layers predict further tokens (`PredictingRuntime`); it must be loaded with
      them.
    """

    n_ctx: int
    threads: int
    n_batch: int = 512
    max_logits: int = MAX_LOGITS
    kv_type: KVType = DEFAULT_KV_TYPE
    sequences: int = 1
    gives_way: bool = False
    kv_mode: KVMode = EXACT
    flash_attention: FlashAttention = "auto"
    rollback: int = 0
    prompt_threads: int | None = None
    own_layers: bool = False

    def __post_init__(self) -> None:
        assert self.n_ctx > 0, self.n_ctx
        assert min(self.threads, self.prompt_threads or 1) > 0, self
        assert 0 < self.max_logits <= self.n_batch
        assert self.sequences > 0, self.sequences

    @property
    def thread_counts(self) -> ThreadCounts:
        """Numbers of threads for short passes and for those of prompts."""
        return ThreadCounts(self.threads, self.prompt_threads or self.threads)


# --- how many bytes ---


@dataclass(frozen=True, slots=True)
class WeightSizes:
    """Bytes of a model's weights.

    - `file`: all tensors as they lie in the file.
    - `repacked`: the copy of those tensors that the processor computes faster in another order.
    - `plain`: the tensors that are needed beside that copy; a mapped file holds all of them.
    - `in_place`: the library reorders the weights where it has read them, without a copy, and needs `file` bytes only.
    - `mixture`: most of the weights are experts, of which a token uses a few.
    - `mappable`: the file's tensors lie where a mapping needs them; otherwise the library reads them.
    """

    file: int
    repacked: int
    plain: int
    in_place: bool = False
    mixture: bool = False
    mappable: bool = True

    def __post_init__(self) -> None:
        assert 0 <= self.plain <= self.file, self
        assert self.repacked >= 0, self

    @property
    def ways(self) -> tuple[tuple[bool, bool], ...]:
        """Ways to load the weights as (repacked, mapped), the fastest first.

        A mixture's copy beside the mapped file would double the memory: nearly all of its weights are repacked, and
        there are many times more of them than a token uses.
        """
        if self.in_place:
            return ((True, False),)
        if not self.repacked:
            return ((False, True),)
        once = ((True, False), (False, True))
        return once if self.mixture else ((True, True), *once)


@dataclass(frozen=True, slots=True)
class ContextSizes:
    """Bytes of a context: KV cache (resident as a whole from the start), compute buffers, one row of logits.

    If some heads keep less than every token, `kv_compressed` holds the bytes of their cache and `kv` those of the
    others. `checkpoint`: bytes of a `Checkpoint`, 0 if the cache can be truncated anywhere. `rollback`: tokens of a
    pass that recurrent layers can forget; the memory for that is a part of `kv`.
    """

    kv: int
    compute: int
    output: int
    kv_compressed: int = 0
    checkpoint: int = 0
    rollback: int = 0

    @property
    def snapshots(self) -> int:
        """Bytes of `kv` that are snapshots of recurrent states, so that tokens of a pass can be forgotten."""
        return self.checkpoint * self.rollback


@dataclass(frozen=True, slots=True)
class OwnLayersSizes:
    """Bytes of a model's own layers that predict further tokens: their weights, and their cache with its buffers."""

    weights: WeightSizes
    cache: int


class Sizes(Protocol):
    """The sizes of one model file; `context` is cheap enough for a search (milliseconds)."""

    @property
    def weights(self) -> WeightSizes:
        """Bytes of the weights."""

    @property
    def n_ctx_train(self) -> int:
        """Tokens of context that the model was trained for; 0 if its file does not say."""

    @property
    def n_vocab(self) -> int:
        """Tokens in the vocabulary, which is also the length of a row of logits."""

    def context(
        self, n_ctx: int, kv_type: KVType, n_batch: int, max_logits: int = MAX_LOGITS, rollback: int = 0
    ) -> ContextSizes | None:
        """Return the sizes of a context whose passes have at most `n_batch` tokens and `max_logits` rows of logits.

        `rollback`: tokens of a pass that recurrent layers are to be able to forget (`ContextOptions.rollback`).
        Return None if the model cannot have a KV cache of this type, because its heads do not divide into the type's
        blocks or because flash attention is off.
        """

    def own_layers(self, n_ctx: int, kv_type: KVType, n_batch: int) -> OwnLayersSizes | None:
        """Return the sizes of the model's own layers that predict further tokens; None if they cannot be used.

        They are not part of `weights`.
        """


# --- how many tokens a cache is made for ---


SMALLEST_CACHE = 512  # tokens
CACHE_STEP = 256  # tokens: llama.cpp rounds contexts up to this
ANSWER_ROOM = 256  # tokens a cache has free for the answer when a prompt is read, so that it need not move at once


def size_class(tokens: int, limit: int) -> int:
    """Return the smallest class of 512, 768, 1024, 1280, … that holds `tokens`, or `limit` if that is smaller.

    Each doubling has four classes, so on average an eighth of the cells is unused; with doubling alone a third would
    be. A chat that grows to n tokens copies 6 n tokens in all, which is nothing beside reading them (1.5B model:
    copying a token takes 30 µs, reading it 10,000 µs). A chat that is loaded from the disk does not wait for cells that
    it does not use.
    """
    size = SMALLEST_CACHE
    while size < tokens:
        size += max(CACHE_STEP, (1 << size.bit_length() - 1) // 4)
    return min(size, limit)
