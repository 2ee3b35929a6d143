"""Passes through some layers of a model alone, from the hidden state before them (`engine.runtime.graph.reading`)."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.runtime.graph.dimensions import Dimensions
from engine.runtime.graph.forward import Forward
from engine.runtime.graph.ggml import F32, Graph, rows_of
from engine.runtime.graph.layout import Layout
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.passes import Pass


@dataclass(frozen=True, slots=True)
class Stretch:
    """Layers from `first` on and the output head. `taps`: the hidden states before each layer are wanted too."""

    first: int
    taps: bool = False

    def __call__(self, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> StretchPass:
        return StretchPass(self, model, kv, n, rows, bucket)


class StretchPass(Pass):
    """Where it begins in the middle its `tokens` are hidden states, [n, embedding]; `taps` are such states too."""

    def __init__(self, span: Stretch, model: GraphModel, kv: Layout, n: int, rows: int, bucket: Hashable) -> None:
        self._span = span
        self._tapped: list[Any] = []
        super().__init__(model, kv, n, rows, bucket)

    def _start(self, g: Graph, d: Dimensions) -> Any:
        return g.input(F32, d.embedding, self.n) if self._span.first else super()._start(g, d)

    def _compute(self, forward: Forward, start: Any, rows: Any) -> Any:
        x, last = start if self._span.first else forward.embed(start), forward.d.layers - 1
        for layer in range(self._span.first, last):
            x = forward.layer(layer, self._tap(forward.g, x))
        return forward.logits(forward.layer(last, self._tap(forward.g, x), rows))

    def _tap(self, g: Graph, x: Any) -> Any:
        if self._span.taps:
            self._tapped.append(g.output(x))
        return x

    def bind(self) -> None:
        super().bind()
        self.taps: list[NDArray[np.float32]] = [rows_of(pointer) for pointer in self._tapped]
