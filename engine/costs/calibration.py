"""Calibration: times real passes of a loaded model.

The target's cache must not be in use, because calibration drops its content, and must have room for about 200 tokens or
more; no other work may run on its threads. The target is known only as a `Runtime`.
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

BUDGET = 6.0  # seconds; the pass that runs when the time is up still ends
LOW_DEPTH = 16  # tokens
DEPTHS = (2048, 1024, 512, 256)  # candidates for the higher depth, in tokens
DEPTH_SHARE = 0.45  # share of the budget that filling the cache to the higher depth may take
DEEP_KS = (1, 2, 4, 8, 16)  # the cost of depth is linear in k, so these sizes suffice to fit it
SMALL_KS = (1, 2, 3, 4, 5, 6, 7, 8)  # most decisions compare these sizes, so they are timed most often
FIRST_KS = (1, 2, 3, 4)
ROW_K = 16
PATIENCE = 2.5  # calibration of a busy machine ends after this many budgets
UNDISTURBED = 0.85  # share of its cores' time that the process gets in an undisturbed pass
TEXT = "A small bird sat on the old stone wall and sang until 7 o'clock; nobody knew its name, but everyone listened. "


@dataclass(frozen=True, slots=True)
class CalibrationProgress:
    """Seconds used so far, and about how many seconds the calibration takes in all."""

    seconds: float
    expected: float


class Calibration:
    """One calibration of `target`, which runs on `threads` threads; `budget` in seconds (None: BUDGET).

    Each time is the best of several runs that are spread out in time, because noise only makes a pass slower. A pass in
    which the process got less processor time than its threads wanted was disturbed by another program. Sizes that were
    only timed in disturbed passes are repeated, for a limited time; if that does not help, the timings are marked
    `disturbed`.
    """

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
        self.undisturbed: set[tuple[int, int, int]] = set()  # keys of `best` that had at least one undisturbed pass
        self.ks = [k for k in KS if k <= target.max_batch]
        self.best: dict[tuple[int, int, int], float] = {}  # (depth, k, rows) → seconds
        self.row_k = min(ROW_K, self.ks[-1])
        self.large = 0, 0.0
        self.depth = 0
        tokens = target.vocabulary.tokenize(TEXT, special=False)
        self.tokens = cycle(tokens)
        if target.n_ctx < LOW_DEPTH + 2 * self.ks[-1]:
            raise Failure("context_too_small.to_calibrate", n_ctx=target.n_ctx)

    def run(self) -> Iterator[CalibrationProgress | Timings]:
        """Run the calibration; yield its progress after each pass, and the Timings at the end.

        The target's cache is empty afterwards. Raises Stopped.
        """
        self.started = self.clock()
        try:
            for _ in self._passes():
                yield CalibrationProgress(self.clock() - self.started, self.budget)
            yield self.timings()
        finally:
            self.target.truncate(0)

    def _passes(self) -> Iterator[None]:
        yield from self._set_depth(LOW_DEPTH)
        yield from self._time(1)  # the first pass touches new memory, so its time does not count
        self.best.clear()
        self.undisturbed.clear()
        yield from self._time_sizes((1, *self.ks))
        yield from self._time(self.row_k, rows=1)
        deep = self._reachable_depth()
        yield from self._fill_to_depth(deep)
        for _ in range(2 if self._seconds_left() > self.budget * (1 - PATIENCE) else 1):
            yield from self._time_sizes((1, *(k for k in DEEP_KS if k in self.ks)))
        yield from self._set_depth(LOW_DEPTH)
        for _ in range(2):  # these sizes matter most, so they are timed even if the budget is used up
            yield from self._time_sizes(FIRST_KS)
        while ks := self._sizes_to_repeat():
            for k in ks:
                yield from self._time(k)
            yield from self._time(self.row_k, rows=1)

    def _time_sizes(self, ks: tuple[int, ...]) -> Iterator[None]:
        for k in ks:
            yield from self._time(k)

    def _seconds_left(self) -> float:
        return self.budget - (self.clock() - self.started)

    def _sizes_to_repeat(self) -> list[int]:
        """Return the batch sizes to time in another round.

        While there is time left: all sizes if they fit into it, otherwise the small ones. Afterwards, within limits:
        the sizes that were never timed undisturbed.
        """
        left = self._seconds_left()
        if left > 0:
            round_seconds = sum(self.best[self.depth, k, k] for k in self.ks)
            return self.ks if round_seconds < left else [k for k in SMALL_KS if k in self.ks]
        disturbed = [k for k in self.ks if (self.depth, k, k) not in self.undisturbed]
        return disturbed if left > self.budget * (1 - PATIENCE) else []

    def _time(self, k: int, rows: int | None = None) -> Iterator[None]:
        """Time one pass of `k` tokens at the current depth, keep the time if it is the fastest, and undo the pass.

        `rows`: for how many tokens logits are computed (None: all).
        """
        target, tokens = self.target, self._next_tokens(k)
        if target.size + k > target.n_ctx:  # happens only where passes cannot be undone
            target.truncate(0)
        started, processor = self.clock(), self.processor_clock()
        target.forward(tokens, rows or k)
        seconds = self.clock() - started
        key = self.depth, k, rows or k
        if self.processor_clock() - processor > UNDISTURBED * self.cores * seconds:
            self.undisturbed.add(key)
        self.best[key] = min(seconds, self.best.get(key, seconds))
        if target.can_truncate:  # recurrent models cannot; their passes cost the same at any depth
            target.truncate(self.depth)
        yield

    def _next_tokens(self, count: int) -> list[int]:
        return list(islice(self.tokens, count))

    def _set_depth(self, depth: int) -> Iterator[None]:
        self.target.truncate(depth)
        if self.target.size < depth:
            for _ in prefill(self.target, self._next_tokens(depth - self.target.size)):
                yield
        self.depth = depth

    def _reachable_depth(self) -> int:
        """Return the deepest of DEPTHS that fits into the context and can be reached in its share of the budget.

        The deeper the second measurement, the more exact is the cost of a cached token.
        """
        k = self.ks[-1]
        seconds = self.best[LOW_DEPTH, k, k] / k
        room = self.target.n_ctx - max(DEEP_KS)
        affordable = self.budget * DEPTH_SHARE / seconds
        return next((d for d in DEPTHS if d <= room and d <= affordable), min(DEPTHS[-1], room))

    def _fill_to_depth(self, depth: int) -> Iterator[None]:
        """Fill the cache up to `depth`, and keep the time of the fastest prefill batch.

        Only batches as large as the first one count.
        """
        self.target.truncate(LOW_DEPTH)
        while self.target.size < depth:
            before, started = self.target.size, self.clock()
            for _ in prefill(self.target, self._next_tokens(min(self.target.max_batch, depth - before))):
                yield
            batch = self.target.size - before, self.clock() - started
            if not self.large[0] or (batch[0] == self.large[0] and batch[1] < self.large[1]):
                self.large = batch
        self.depth = depth

    def timings(self) -> Timings:
        """Return the timings so far; sizes not timed at the higher depth are estimated from those that were."""
        low = {k: self.best[LOW_DEPTH, k, k] for k in self.ks}
        depth = max(depth for depth, _, _ in self.best)
        rise = fit_depth_cost({k: self.best[depth, k, k] - low[k] for k in DEEP_KS if k in self.ks})
        times = {LOW_DEPTH: low, depth: {k: low[k] + rise(k) for k in self.ks}}
        row = max(0.0, (low[self.row_k] - self.best[LOW_DEPTH, self.row_k, 1]) / (self.row_k - 1))
        return Timings(
            times, row, *self.large, disturbed=not all((LOW_DEPTH, k, k) in self.undisturbed for k in self.ks)
        )


def fit_depth_cost(differences: Mapping[int, float]) -> Callable[[int], float]:
    """Fit the seconds that the higher depth adds to a pass of k tokens, and return them as a function of k.

    The model is a + b·k: reading the cache costs the same for all k, and attention grows with each token. `differences`
    are noisy seconds by k. b is the median slope between all pairs of points and a the median remainder (Theil–Sen), so
    that a disturbed time does little harm.
    """
    points = sorted(differences.items())
    b = max(0.0, median((y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in combinations(points, 2)))
    a = max(0.0, median(y - b * x for x, y in points))
    return lambda k: a + b * k
