"""Passes through some layers of a model alone, from the hidden state before them; for `engine.graph.reading`."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.graph.dimensions import Dimensions
from engine.graph.forward import Forward
from engine.graph.ggml import F32, Graph, rows_of
from engine.graph.layout import Layout
from engine.graph.model import GraphModel
from engine.graph.passes import Pass


@dataclass(frozen=True, slots=True)
class Stretch:
    """Layers from `first` up to `end`, then with `logits` the output head. `taps`: the hidden states before and behind
    each of these layers are wanted too."""

    first: int
    end: int
    logits: bool = True
    taps: bool = False

    def __call__(self, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> StretchPass:
        return StretchPass(self, model, kv, n, rows, bucket)


class StretchPass(Pass):
    """Where it begins in the middle its `tokens` are hidden states, [n, embedding]; `taps` are such states too."""

    def __init__(self, span: Stretch, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> None:
        self._span = span
        self._tapped: list[Any] = []
        super().__init__(model, kv, n, rows, bucket)

    @property
    def states(self) -> NDArray[np.float32]:
        """Behind its last layer, where no logits are asked for."""
        assert not self._span.logits
        return self.logits

    def _start(self, g: Graph, d: Dimensions) -> Any:
        return g.input(F32, d.embedding, self.n) if self._span.first else super()._start(g, d)

    def _compute(self, forward: Forward, start: Any, rows: Any) -> Any:
        x = self._tap(forward.g, start if self._span.first else forward.embed(start))
        for layer in range(self._span.first, self._span.end):
            x = self._tap(forward.g, forward.layer(layer, x))
        return forward.logits(forward.g.get_rows(x, rows)) if self._span.logits else x

    def _tap(self, g: Graph, x: Any) -> Any:
        if self._span.taps:
            self._tapped.append(g.output(x))
        return x

    def bind(self) -> None:
        super().bind()
        self.taps: list[NDArray[np.float32]] = [rows_of(pointer) for pointer in self._tapped]
