"""How often a layer in the middle of a model says what the model itself says: its answers read again, with the output
head behind many layers at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.exact import ExactKV
from engine.runtime.graph.forward import Forward
from engine.runtime.graph.ggml import array
from engine.runtime.graph.layout import Layout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.passes import Pass, Passes, Processor
from engine.stop import StopFlag

PASS = 32  # tokens: each exit's rows of logits are what this costs


@dataclass(frozen=True, slots=True)
class Guess:
    """Makes passes that tell the likeliest next token behind each of `exits`, numbers of layers in rising order."""

    exits: tuple[int, ...]

    def __call__(self, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> GuessPass:
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
