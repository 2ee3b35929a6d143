"""Times real passes of a loaded target.

What it needs: a target whose cache nobody else uses meanwhile (its content is dropped), with room for some 200 tokens
or more; no other work on its threads. Knows it only as a `Runtime`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, cycle, islice
from statistics import median

from common.failures import Failure
from engine.costs.cost_model import KS, Timings
from engine.machine import usable_cores
from engine.runtime.interface import Runtime, prefill

BUDGET = 6.0  # seconds, not counting a pass that has begun
LOW_DEPTH = 16  # tokens
DEPTHS = (2048, 1024, 512, 256)  # the higher depth is the first that can be reached in its share of the budget
DEPTH_SHARE = 0.45
DEEP_KS = (1, 2, 4, 8, 16)  # what depth adds grows evenly with k: these show it
SMALL_KS = (1, 2, 3, 4, 5, 6, 7, 8)  # the ones that decisions turn on are timed most often
FIRST_KS = (1, 2, 3, 4)
ROW_K = 16
PATIENCE = 2.5  # budgets: longer than that a busy machine is not waited for
UNDISTURBED = 0.85  # of its cores' time in a pass that the process must have had
TEXT = "A small bird sat on the old stone wall and sang until 7 o'clock; nobody knew its name, but everyone listened. "


@dataclass(frozen=True, slots=True)
class Progress:
    """Seconds used, and about how many it will take."""

    seconds: float
    expected: float


class Calibration:
    """One calibration of `target`, which runs on so many `threads`.

    Times are the best of several runs, spread out in time: noise only adds. A pass in which the process had less
    processor time than its threads wanted was disturbed by another program; one that was never timed without is
    repeated, within limits, and else the timings say so."""

    def __init__(
        self,
        target: Runtime,
        threads: int,
        budget: float | None = None,
        clock: Callable[[], float] = time.perf_counter,
        processor_clock: Callable[[], float] = time.process_time,
    ) -> None:
        self.target = target
        self.cores = min(threads, usable_cores())
        self.budget = BUDGET if budget is None else budget
        self.clock = clock
        self.processor_clock = processor_clock
        self.clean: set[tuple[int, int, int]] = set()  # keys of `best` with an undisturbed pass
        self.ks = [k for k in KS if k <= target.max_batch]
        self.best: dict[tuple[int, int, int], float] = {}  # (depth, k, rows) → seconds
        self.row_k = min(ROW_K, self.ks[-1])
        self.large = 0, 0.0
        self.depth = 0
        words = target.vocabulary.tokenize(TEXT, special=False)
        self.words = cycle(words)
        if target.n_ctx < LOW_DEPTH + 2 * self.ks[-1]:
            raise Failure("context_too_small.to_calibrate", n_ctx=target.n_ctx)

    def run(self) -> Iterator[Progress | Timings]:
        """Progress after each pass; the last item is the Timings. Raises Stopped; the cache is left empty."""
        self.started = self.clock()
        try:
            for _ in self._passes():
                yield Progress(self.clock() - self.started, self.budget)
            yield self.timings()
        finally:
            self.target.truncate(0)

    def _passes(self) -> Iterator[None]:
        yield from self._go_to(LOW_DEPTH)
        yield from self._time(1)  # not counted: the first pass touches memory for the first time
        self.best.clear()
        self.clean.clear()
        yield from self._round((1, *self.ks))
        yield from self._time(self.row_k, rows=1)
        deep = self._reachable_depth()
        yield from self._go_deep(deep)
        for _ in range(2 if self._left() > self.budget * (1 - PATIENCE) else 1):
            yield from self._round((1, *(k for k in DEEP_KS if k in self.ks)))
        yield from self._go_to(LOW_DEPTH)
        for _ in range(2):  # the sizes that most decisions compare, also where the time is used up
            yield from self._round(FIRST_KS)
        while ks := self._worth_repeating():
            for k in ks:
                yield from self._time(k)
            yield from self._time(self.row_k, rows=1)

    def _round(self, ks: tuple[int, ...]) -> Iterator[None]:
        for k in ks:
            yield from self._time(k)

    def _left(self) -> float:
        return self.budget - (self.clock() - self.started)

    def _worth_repeating(self) -> list[int]:
        """All sizes of passes while a round of them fits into the time left, then the small ones; then what was never
        timed undisturbed."""
        left = self._left()
        if left > 0:
            whole = sum(self.best[self.depth, k, k] for k in self.ks)
            return self.ks if whole < left else [k for k in SMALL_KS if k in self.ks]
        disturbed = [k for k in self.ks if (self.depth, k, k) not in self.clean]
        return disturbed if left > self.budget * (1 - PATIENCE) else []

    def _time(self, k: int, rows: int | None = None) -> Iterator[None]:
        """One pass of k tokens at the present depth, kept if it is the fastest, and taken back."""
        target, tokens = self.target, self._tokens(k)
        if target.size + k > target.n_ctx:  # only where passes cannot be taken back
            target.truncate(0)
        started, processor = self.clock(), self.processor_clock()
        target.forward(tokens, rows or k)
        seconds = self.clock() - started
        key = self.depth, k, rows or k
        if self.processor_clock() - processor > UNDISTURBED * self.cores * seconds:
            self.clean.add(key)
        self.best[key] = min(seconds, self.best.get(key, seconds))
        if target.can_truncate:  # a recurrent model's pass costs the same at any depth: it just goes on
            target.truncate(self.depth)
        yield

    def _tokens(self, count: int) -> list[int]:
        return list(islice(self.words, count))

    def _go_to(self, depth: int) -> Iterator[None]:
        self.target.truncate(depth)
        if self.target.size < depth:
            for _ in prefill(self.target, self._tokens(depth - self.target.size)):
                yield
        self.depth = depth

    def _reachable_depth(self) -> int:
        """The higher depth: the deeper, the surer is what a cached token costs, but getting there takes time."""
        k = self.ks[-1]
        seconds = self.best[LOW_DEPTH, k, k] / k
        room = self.target.n_ctx - max(DEEP_KS)
        affordable = self.budget * DEPTH_SHARE / seconds
        return next((d for d in DEPTHS if d <= room and d <= affordable), min(DEPTHS[-1], room))

    def _go_deep(self, depth: int) -> Iterator[None]:
        """Fill the cache up to `depth`; of the passes as large as the first one the fastest counts."""
        self.target.truncate(LOW_DEPTH)
        while self.target.size < depth:
            before, started = self.target.size, self.clock()
            for _ in prefill(self.target, self._tokens(min(self.target.max_batch, depth - before))):
                yield
            passed = self.target.size - before, self.clock() - started
            if not self.large[0] or (passed[0] == self.large[0] and passed[1] < self.large[1]):
                self.large = passed
        self.depth = depth

    def timings(self) -> Timings:
        """What the passes so far say; sizes not timed at the higher depth are worked out from those that were."""
        low = {k: self.best[LOW_DEPTH, k, k] for k in self.ks}
        depth = max(depth for depth, _, _ in self.best)
        rise = even_rise({k: self.best[depth, k, k] - low[k] for k in DEEP_KS if k in self.ks})
        times = {LOW_DEPTH: low, depth: {k: low[k] + rise(k) for k in self.ks}}
        row = max(0.0, (low[self.row_k] - self.best[LOW_DEPTH, self.row_k, 1]) / (self.row_k - 1))
        return Timings(times, row, *self.large, disturbed=not all((LOW_DEPTH, k, k) in self.clean for k in self.ks))


def even_rise(differences: Mapping[int, float]) -> Callable[[int], float]:
    """Seconds that the higher depth adds to a pass of k tokens: a + b·k, fitted to differences of noisy times.

    Reading the cache is the same for all k, attention grows with each token. b is the median slope between all pairs of
    points and a the median rest (Theil, Sen), so that a disturbed time does little harm."""
    points = sorted(differences.items())
    b = max(0.0, median((y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in combinations(points, 2)))
    a = max(0.0, median(y - b * x for x, y in points))
    return lambda k: a + b * k
