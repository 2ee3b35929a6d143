"""The target on ik_llama.cpp."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.generation.sampling import RowSampler
from engine.protocol import Sampling
from engine.runtime.capi.context import ContextOptions
from engine.runtime.capi.target import CTarget
from engine.runtime.ik.context import IkContext
from engine.runtime.ik.library import lib
from engine.runtime.ik.model import IkModel, largest_pass
from engine.stop import StopFlag


class IkTarget(CTarget):
    def __init__(self, model: IkModel, options: ContextOptions, stop: StopFlag, folder: Path | None = None) -> None:
        self.head = model.head
        n_batch = min(options.n_batch, largest_pass(model.header))
        options = replace(options, n_batch=n_batch, max_rows=min(options.max_rows, n_batch))
        super().__init__(model, options, stop, folder)

    def open_context(self, options: ContextOptions) -> IkContext:
        return IkContext(self.model, options, self.stop)

    def logits(self, row: int) -> NDArray[np.float32]:
        return self.best_logits(row, 0)

    def best_logits(self, row: int, count: int, apart: Sequence[int] = ()) -> NDArray[np.float32]:
        logits = super().logits(row)
        if self.head:
            address, first = logits.ctypes.data, lib.llama_get_logits(self.context.pointer)
            self.head.finish((address - first) // logits.nbytes, address, count, apart)
        return logits

    def sampler(self, sampling: Sampling, history: Sequence[int]) -> RowSampler:
        return RowSampler(self.best_logits, sampling, history)

    def set_aside(self) -> Callable[[], None]:
        put_back = super().set_aside()

        def put_back_and_shrink() -> None:
            """Into a new context: the old one keeps a buffer for the most rows it ever gave."""
            put_back()
            self.grow(self.n_ctx)

        return put_back_and_shrink
