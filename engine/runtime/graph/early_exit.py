"""Passes through a model's lower layers alone, and through the others for tokens that went through those before.

`guesses` tells how often a layer says what the model itself says: its answers are read again, with the output head
behind many layers at once.
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
from engine.runtime.graph.layout import Layout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.passes import Forward, Pass, Passes, Processor
from engine.stop import StopFlag
from engine.tokenization.tokens import common_prefix


@dataclass(frozen=True, slots=True)
class Lower:
    """Makes passes through the first `layers`, then, if `logits` are wanted, the output head."""

    layers: int
    logits: bool

    def __call__(self, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> LowerPass:
        """Makes one."""
        return LowerPass(self, model, kv, n, rows, bucket)


class LowerPass(Pass):
    """`states` [n, embedding]: hidden states behind its last layer."""

    def __init__(self, make: Lower, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> None:
        self._made_by = make
        super().__init__(model, kv, n, rows, bucket)

    def _compute(self, forward: Forward, start: Any, rows: Any) -> Any:
        x = forward.through(forward.embed(start), 0, self._made_by.layers)
        self._behind = forward.g.output(x)
        return forward.logits(forward.g.get_rows(x, rows)) if self._made_by.logits else x

    def bind(self) -> None:
        """See `Pass`."""
        super().bind()
        self.states: NDArray[np.float32] = rows_of(self._behind)


@dataclass(frozen=True, slots=True)
class Upper:
    """Makes passes through the layers from `first` on, with logits, whose inputs are hidden states."""

    first: int

    def __call__(self, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> UpperPass:
        """Makes one."""
        return UpperPass(self.first, model, kv, n, rows, bucket)


class UpperPass(Pass):
    """Its inputs are hidden states, [n, embedding]."""

    def __init__(self, first: int, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> None:
        self._lowest = first
        super().__init__(model, kv, n, rows, bucket)

    def _start(self, g: Graph, d: Dimensions) -> Any:
        return g.input(F32, d.embedding, self.n)

    def _compute(self, forward: Forward, start: Any, rows: Any) -> Any:
        return forward.rest(start, self._lowest, rows)


class Ahead:
    """Tokens behind all that are kept, which went through the first `layers` alone, and what these made of them."""

    def __init__(self, layers: int = 0) -> None:
        self.layers = layers
        self.tokens: list[int] = []
        self._states: list[NDArray[np.float32]] = []  # of one token each

    @property
    def all(self) -> NDArray[np.float32]:
        """[tokens, embedding]"""
        return np.array(self._states)

    def add(self, tokens: Sequence[int], states: NDArray[np.float32]) -> None:
        """More of them, and their hidden states, [tokens, embedding]."""
        self.tokens.extend(tokens)
        self._states.extend(states.copy())

    def begins(self, tokens: Sequence[int]) -> bool:
        """Is the first of `tokens` one of them?"""
        return self.tokens[:1] == list(tokens[:1])

    def cut(self, tokens: Sequence[int]) -> int:
        """Keep those that `tokens` begin with; returns how many these are."""
        count = common_prefix(self.tokens, list(tokens))
        del self.tokens[count:], self._states[count:]
        return count

    def forget(self) -> None:
        """Begin anew."""
        del self.tokens[:], self._states[:]


# --- the output head behind many layers at once ---


PASS = 32  # tokens: each exit's rows of logits are what this costs


@dataclass(frozen=True, slots=True)
class Guess:
    """Makes passes that tell the likeliest next token behind each of `exits`, numbers of layers in rising order."""

    exits: tuple[int, ...]

    def __call__(self, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> GuessPass:
        """Makes one."""
        return GuessPass(self.exits, model, kv, n, rows, bucket)


class GuessPass(Pass):
    """`guesses` [exits, n]: token ids."""

    def __init__(
        self, exits: tuple[int, ...], model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable
    ) -> None:
        self._exits = exits
        self._likeliest: list[Any] = []
        super().__init__(model, kv, n, rows, bucket)

    def _compute(self, forward: Forward, start: Any, _rows: Any) -> Any:
        x, done = forward.embed(start), 0
        for exit in self._exits:
            x, done = forward.through(x, done, exit), exit
            self._likeliest.append(forward.g.output(forward.g.argmax(forward.logits(x))))
        return self._likeliest[-1]

    def bind(self) -> None:
        """See `Pass`."""
        super().bind()
        self.guesses: list[NDArray[np.int32]] = [array(pointer, np.int32, self.n) for pointer in self._likeliest]


def guesses(
    model: GraphModel, tokens: Sequence[int], exits: Sequence[int], threads: int, stop: StopFlag
) -> NDArray[np.int32]:
    """What follows each of `tokens` by each exit, [exits, tokens]. Raises Stopped, and Failure without memory."""
    found = np.zeros((len(exits), len(tokens)), np.int32)
    with closing(Processor(threads, False, stop)) as processor, closing(ExactKV(model.dimensions, len(tokens))) as kv:
        make = Guess(tuple(exits))
        with closing(Passes(model, kv, processor, PASS, 1, make)) as passes:
            for begin in range(0, len(tokens), PASS):
                part = tokens[begin : begin + PASS]
                n, seen = len(part), np.tri(len(part), dtype=np.bool_)
                done = passes.run(make, part, range(begin, begin + n), seen, 1, begin)
                for i, row in enumerate(done.guesses):
                    found[i, begin : begin + n] = row
    return found
