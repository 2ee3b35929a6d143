"""Passes through a model's lower layers alone, and passes that finish such tokens in the upper layers."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.ggml import F32, Graph, rows_of
from engine.runtime.graph.kv_layout import KVLayout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.passes import Forward, GraphPass
from engine.tokenization.tokens import common_prefix


@dataclass(frozen=True, slots=True)
class LowerLayers:
    """Factory of passes through the first `layers` layers, followed by the output head if `logits` are wanted."""

    layers: int
    logits: bool

    def __call__(self, model: GraphModel, kv: KVLayout, n: int, rows: int, bucket: Hashable) -> LowerPass:
        return LowerPass(self, model, kv, n, rows, bucket)


class LowerPass(GraphPass):
    """A pass through the lower layers; `states` [n, embedding] holds the hidden states behind them."""

    def __init__(self, make: LowerLayers, model: GraphModel, kv: KVLayout, n: int, rows: int, bucket: Hashable) -> None:
        self._made_by = make
        super().__init__(model, kv, n, rows, bucket)

    def _compute(self, forward: Forward, start: Any, rows: Any) -> Any:
        x = forward.run_layers(forward.embed(start), 0, self._made_by.layers)
        self._behind = forward.g.output(x)
        return forward.logits(forward.g.get_rows(x, rows)) if self._made_by.logits else x

    def bind(self) -> None:
        super().bind()
        self.states: NDArray[np.float32] = rows_of(self._behind)


@dataclass(frozen=True, slots=True)
class UpperLayers:
    """Factory of passes from layer `first` to the logits; these passes take hidden states in place of token ids."""

    first: int

    def __call__(self, model: GraphModel, kv: KVLayout, n: int, rows: int, bucket: Hashable) -> UpperPass:
        return UpperPass(self.first, model, kv, n, rows, bucket)


class UpperPass(GraphPass):
    """A pass through the upper layers; its inputs are hidden states [n, embedding]."""

    def __init__(self, first: int, model: GraphModel, kv: KVLayout, n: int, rows: int, bucket: Hashable) -> None:
        self._lowest = first
        super().__init__(model, kv, n, rows, bucket)

    def _start(self, g: Graph, d: Dimensions) -> Any:
        return g.input(F32, d.embedding, self.n)

    def _compute(self, forward: Forward, start: Any, rows: Any) -> Any:
        return forward.finish(start, self._lowest, rows)


class LookAhead:
    """Tokens behind the cached ones that have passed the first `layers` layers only, with their hidden states."""

    def __init__(self, layers: int = 0) -> None:
        self.layers = layers
        self.tokens: list[int] = []
        self._states: list[NDArray[np.float32]] = []  # [embedding] for each token

    @property
    def states(self) -> NDArray[np.float32]:
        """Hidden states of all these tokens, [tokens, embedding]."""
        return np.array(self._states)

    def add(self, tokens: Sequence[int], states: NDArray[np.float32]) -> None:
        """Append tokens and their hidden states, [tokens, embedding]."""
        self.tokens.extend(tokens)
        self._states.extend(states.copy())

    def covers_first_of(self, tokens: Sequence[int]) -> bool:
        """Return whether `tokens` begin with the first token looked ahead at."""
        return self.tokens[:1] == list(tokens[:1])

    def keep_common(self, tokens: Sequence[int]) -> int:
        """Keep the common prefix with `tokens`; return its length."""
        count = common_prefix(self.tokens, list(tokens))
        del self.tokens[count:], self._states[count:]
        return count

    def clear(self) -> None:
        """Remove all tokens and states."""
        del self.tokens[:], self._states[:]
