"""The target on ik_llama.cpp."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from engine.capi.context import ContextOptions
from engine.capi.model import CModel
from engine.capi.target import CTarget
from engine.ik.context import IkContext
from engine.ik.faults import most_at_once
from engine.protocol import Sampling
from engine.sampling import RowSampler
from engine.stop import StopFlag

LONGEST = 0.1  # seconds that a pass may take which cannot be interrupted
FEWEST = 8  # tokens of a prompt's pass: fewer would read it slower than llama.cpp does


class IkTarget(CTarget):
    """Reads prompts in passes as large as a stop can wait for: their size follows the time that they take."""

    def __init__(self, model: CModel, options: ContextOptions, stop: StopFlag, folder: Path | None = None) -> None:
        n_batch = min(options.n_batch, most_at_once(model.header))
        options = replace(options, n_batch=n_batch, max_rows=min(options.max_rows, n_batch))
        super().__init__(model, options, stop, folder)
        self._at_once = FEWEST

    def prefill(self, tokens: Sequence[int]) -> Iterator[int]:
        done = 0
        while done < len(tokens):
            part = tokens[done : done + self._at_once]
            started = time.perf_counter()
            self.run(part)
            if len(part) == self._at_once:
                self._at_once = fitting(len(part), time.perf_counter() - started, self.most_inputs)
            done += len(part)
            yield done

    def open_context(self, options: ContextOptions) -> IkContext:
        return IkContext(self.model, options, self.stop)

    def sampler(self, sampling: Sampling, history: Sequence[int]) -> RowSampler:
        return RowSampler(self.logits, sampling, history)

    def set_aside(self) -> Callable[[], None]:
        put_back = super().set_aside()

        def put_back_and_shrink() -> None:
            """Into a new context: the old one fills a buffer for the most rows it ever gave with zeros at each pass."""
            put_back()
            self.grow(self.n_ctx)

        return put_back_and_shrink


def fitting(tokens: int, seconds: float, most: int) -> int:
    """How many tokens the next pass takes, after `tokens` took `seconds`: at most twice as many."""
    return min(max(int(tokens * min(2.0, LONGEST / seconds)), FEWEST), most)
