"""Passes through a model's lower layers alone, and passes that finish such tokens in the upper layers.

`predict_at_exits` tells how often a layer predicts what the whole model predicts: it reads the model's own answers
again, with the output head behind many layers at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.exact import ExactKV
from engine.runtime.graph.ggml import F32, Graph, array, rows_of
from engine.runtime.graph.kv_layout import KVLayout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.passes import Forward, GraphPass, PassRunner, Processor
from engine.stop import StopFlag
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


# --- the output head behind many layers at once ---


PASS_TOKENS = 32  # tokens per pass; each exit's rows of logits take memory


@dataclass(frozen=True, slots=True)
class ExitHeads:
    """Factory of passes that predict the likeliest next token behind each of `exits`, layer counts in rising order."""

    exits: tuple[int, ...]

    def __call__(self, model: GraphModel, kv: KVLayout, n: int, rows: int, bucket: Hashable) -> ExitHeadsPass:
        return ExitHeadsPass(self.exits, model, kv, n, rows, bucket)


class ExitHeadsPass(GraphPass):
    """A pass with the output head behind several layers; `predictions` [exits, n] holds the predicted token ids."""

    def __init__(
        self, exits: tuple[int, ...], model: GraphModel, kv: KVLayout, n: int, rows: int, bucket: Hashable
    ) -> None:
        self._exits = exits
        self._likeliest: list[Any] = []
        super().__init__(model, kv, n, rows, bucket)

    def _compute(self, forward: Forward, start: Any, _rows: Any) -> Any:
        x, done = forward.embed(start), 0
        for exit in self._exits:
            x, done = forward.run_layers(x, done, exit), exit
            self._likeliest.append(forward.g.output(forward.g.argmax(forward.logits(x))))
        return self._likeliest[-1]

    def bind(self) -> None:
        super().bind()
        self.predictions: list[NDArray[np.int32]] = [array(pointer, np.int32, self.n) for pointer in self._likeliest]


def predict_at_exits(
    model: GraphModel, tokens: Sequence[int], exits: Sequence[int], threads: int, stop: StopFlag
) -> NDArray[np.int32]:
    """Return the token that each exit predicts after each of `tokens`, [exits, tokens].

    Raises Stopped, and Failure if memory is short.
    """
    found = np.zeros((len(exits), len(tokens)), np.int32)
    with closing(Processor(threads, False, stop)) as processor, closing(ExactKV(model.dimensions, len(tokens))) as kv:
        make = ExitHeads(tuple(exits))
        with closing(PassRunner(model, kv, processor, PASS_TOKENS, 1, make)) as passes:
            for begin in range(0, len(tokens), PASS_TOKENS):
                part = tokens[begin : begin + PASS_TOKENS]
                n, seen = len(part), np.tri(len(part), dtype=np.bool_)
                done = passes.run(make, part, range(begin, begin + n), seen, 1, begin)
                for i, row in enumerate(done.predictions):
                    found[i, begin : begin + n] = row
    return found
