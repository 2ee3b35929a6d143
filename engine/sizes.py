"""How many bytes the parts of a loaded model take, as the plan asks for them. Knows neither llama.cpp nor a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

KVType = Literal["f16", "q8_0", "q4_0"]


@dataclass(frozen=True, slots=True)
class WeightSizes:
    """Bytes of a model's weights.

    `file`: all tensors as they lie in the file. `repacked`: the copy of those tensors that the processor can compute
    faster in another order. `plain`: the tensors that are needed beside that copy; a mapped file holds them all.
    """

    file: int
    repacked: int
    plain: int

    def __post_init__(self) -> None:
        assert 0 <= self.plain <= self.file, self
        assert self.repacked >= 0, self


@dataclass(frozen=True, slots=True)
class ContextSizes:
    """Bytes of a context: KV cache (all of it resident from the start), compute buffers, one row of logits."""

    kv: int
    compute: int
    output: int


class Sizes(Protocol):
    """The sizes of one model file; `context` is cheap enough for a search (milliseconds)."""

    @property
    def weights(self) -> WeightSizes: ...

    @property
    def n_ctx_train(self) -> int:
        """Tokens of context the model was trained for, 0 if its file does not say."""

    @property
    def n_vocab(self) -> int: ...

    def context(self, n_ctx: int, kv_type: KVType, n_batch: int) -> ContextSizes | None:
        """None when the model cannot have such a KV cache (its heads do not divide into the type's blocks)."""
