"""How many bytes the parts of a loaded model take, as the plan asks for them, and the sizes of an elastic cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, Self

from models.header import Header

MAX_LOGITS = 64  # rows of one pass that a target has room for: to verify drafts, and to calibrate

KVType = Literal["f16", "q8_0", "q4_0"]


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
