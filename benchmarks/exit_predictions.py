"""Which token a model's output head predicts behind each of many layers: its answers are read again, all at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.exact import ExactKV
from engine.runtime.graph.ggml import array
from engine.runtime.graph.kv_layout import KVLayout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.passes import Forward, GraphPass, PassRunner, Processor
from engine.stop import StopFlag

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
    predictions = np.zeros((len(exits), len(tokens)), np.int32)
    with closing(Processor(threads, False, stop)) as processor, closing(ExactKV(model.dimensions, len(tokens))) as kv:
        make = ExitHeads(tuple(exits))
        with closing(PassRunner(model, kv, processor, PASS_TOKENS, 1, make)) as passes:
            for begin in range(0, len(tokens), PASS_TOKENS):
                part = tokens[begin : begin + PASS_TOKENS]
                n, seen = len(part), np.tri(len(part), dtype=np.bool_)
                done = passes.run(make, part, range(begin, begin + n), seen, 1, begin)
                for i, row in enumerate(done.predictions):
                    predictions[i, begin : begin + n] = row
    return predictions
