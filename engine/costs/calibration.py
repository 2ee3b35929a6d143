"""Calibration: times real passes of a loaded model.

The target's cache must not be in use, because calibration drops its content, and must have room for about 200 tokens or
more; no other work may run on its threads. The target is known only as a `Runtime`.

The tokens are those of a real text, each of them once: a mixture of experts reads more weights the more different
tokens a pass has, and a text that repeats itself would make large passes look too cheap.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, cycle, islice
from statistics import median

from common.failures import Failure
from engine.costs.cost_model import KS, Timings
from engine.costs.threads import ThreadCost, fastest_counts
from engine.machine import usable_cores
from engine.runtime.contexts import PROMPT_PASS, ThreadCounts
from engine.runtime.interface import Runtime, ThreadedRuntime, prefill
from models.assets import asset

BUDGET = 6.0  # seconds; what is needed at least is timed even if that takes longer
LOW_DEPTH = 16  # tokens
DEPTHS = (2048, 1024, 512, 256)  # candidates for the higher depth, in tokens
DEPTH_SHARE = 0.45  # share of the budget that filling the cache to the higher depth may take
DEEP_KS = (1, 2, 4, 8, 16)  # the cost of depth is linear in k, so these sizes suffice to fit it
SMALL_KS = (1, 2, 3, 4, 5, 6, 7, 8)  # most decisions compare these sizes, so they are timed most often
FIRST_KS = (1, 2, 3, 4)
FEW_KS = (1, 2, 3, 4, 6, 8, 16, 32)  # sizes for a model of which one pass of each of KS would take the whole budget
ROW_K = 16
PATIENCE = 2.5  # calibration of a busy machine ends after this many budgets
UNDISTURBED = 0.85  # share of its cores' time that the process gets in an undisturbed pass
TEXT = "calibration/prose.txt"
TEXT_CHARACTERS = 16_000  # 3,000 to 4,000 tokens
THREAD_ROUNDS = 3  # passes for each number of threads that is tried, after one that starts them


Clocks = tuple[Callable[[], float], Callable[[], float]]


class Calibration:
    """One calibration of `target`, which runs on `threads` threads; `budget` in seconds (None: BUDGET).

    If `others` are given, these numbers of threads are tried first, for short passes and for those of prompts, and the
    rest is timed with the fastest ones. `clocks` return the seconds that have passed, and those that this process used.

    Each time is the best of several runs that are spread out in time, because noise only makes a pass slower. A pass in
    which the process got less processor time than its threads wanted was disturbed by another program. Sizes that were
    only timed in disturbed passes are repeated, for a limited time; if that does not help, the timings are marked
    `disturbed`. A calibration that was abandoned, or whose timings are disturbed, can be run again; it then times only
    what is still missing. So the passes of a large model may be spread over several pauses.
    """

    def __init__(
        self,
        target: Runtime,
        threads: int,
        budget: float | None = None,
        others: Sequence[int] = (),
        clocks: Clocks = (time.perf_counter, time.process_time),
    ) -> None:
        self.target = target
        self.threads = ThreadCounts(threads, threads)
        counts = (threads, *others) if others and isinstance(target, ThreadedRuntime) else ()
        self.untried = [(tokens, count) for tokens in (1, PROMPT_PASS) for count in counts]
        self.thread_costs: dict[tuple[int, int], ThreadCost] = {}  # (tokens, threads) → shortest undisturbed pass
        self.budget = BUDGET if budget is None else budget
        self.clock, self.processor_clock = clocks
        self.spent = 0.0  # seconds of earlier runs
        self.deep = 0  # the higher depth in tokens, once it was timed
        self.undisturbed: set[tuple[int, int, int]] = set()  # keys of `best` that had at least one undisturbed pass
        self.ks = [k for k in KS if k <= target.max_batch]
        self.best: dict[tuple[int, int, int], float] = {}  # (depth, k, rows) → seconds
        self.row_k = min(ROW_K, self.ks[-1])
        self.large = 0, 0.0
        self.depth = 0
        text = asset(TEXT).read_text("utf-8")[:TEXT_CHARACTERS]
        self.tokens = cycle(target.vocabulary.tokenize(text, special=False))
        if target.n_ctx < LOW_DEPTH + 2 * self.ks[-1]:
            raise Failure("context_too_small.to_calibrate", n_ctx=target.n_ctx)

    def run(self) -> Iterator[Timings | None]:
        """Run the calibration; yield None after each pass, and the Timings at the end.

        The target's cache is empty afterwards, and the target uses the fastest numbers of threads. Raises Stopped.
        """
        self.started = self.clock()
        try:
            yield from self._passes()
            yield self.timings()
        finally:
            self.spent += self._seconds_of_run()
            self._use(self.threads)
            self.target.truncate(0)

    def _passes(self) -> Iterator[None]:
        yield from self._set_depth(LOW_DEPTH)
        yield from self._pass(1)  # the first pass touches new memory, so its time does not count
        if self.untried:
            yield from self._try_threads()
        yield from self._time_missing((1, self.row_k))
        if sum(self.ks) * self.best[LOW_DEPTH, self.row_k, self.row_k] / self.row_k > self.budget:
            self.ks = [k for k in self.ks if k in FEW_KS]
        yield from self._time_missing(self.ks)
        if (LOW_DEPTH, self.row_k, 1) not in self.best:
            yield from self._time(self.row_k, rows=1)
        if not self.deep:
            yield from self._time_deep(self._reachable_depth())
            yield from self._set_depth(LOW_DEPTH)
            for _ in range(2):  # these sizes matter most, so they are timed even if the budget is used up
                yield from self._time_sizes(FIRST_KS)
        while ks := self._sizes_to_repeat():
            yield from self._time_sizes(ks)
            yield from self._time(self.row_k, rows=1)

    def _time_missing(self, ks: Iterable[int]) -> Iterator[None]:
        yield from self._time_sizes([k for k in ks if (LOW_DEPTH, k, k) not in self.best])

    def _time_deep(self, depth: int) -> Iterator[None]:
        yield from self._fill_to_depth(depth)
        for _ in range(2 if self._has_patience() else 1):
            yield from self._time_sizes((1, *(k for k in DEEP_KS if k in self.ks)))
        self.deep = depth

    def _time_sizes(self, ks: Iterable[int]) -> Iterator[None]:
        for k in ks:
            yield from self._time(k)

    def _seconds_of_run(self) -> float:
        return self.clock() - self.started

    def _seconds_left(self) -> float:
        return self.budget - self.spent - self._seconds_of_run()

    def _has_patience(self) -> bool:
        return self._seconds_of_run() < self.budget * PATIENCE

    # --- threads ---

    def _try_threads(self) -> Iterator[None]:
        """Time short passes and passes of prompts with each number of threads; use the fastest numbers from now on.

        The number that was used so far stays if none of the others is clearly faster, or other programs disturbed it.
        """
        if self.target.max_batch < PROMPT_PASS or self.target.n_ctx < LOW_DEPTH + PROMPT_PASS:
            self.untried.clear()
        while self.untried:
            tokens, count = self.untried[0]
            self._use(ThreadCounts(count, count))
            yield from self._pass(tokens)  # starts the threads
            for _ in range(1 if tokens > 1 else THREAD_ROUNDS):
                seconds, own = self._run(tokens, 1)
                shortest = self.thread_costs.get((tokens, count))
                is_shorter = shortest is None or seconds < shortest.seconds
                if is_shorter and own > UNDISTURBED * min(count, usable_cores()) * seconds:
                    self.thread_costs[tokens, count] = ThreadCost(tokens, count, seconds)
                yield
            del self.untried[0]
        self.threads = fastest_counts(self.thread_costs.values(), self.threads.decode)
        self._use(self.threads)

    def _use(self, threads: ThreadCounts) -> None:
        if isinstance(self.target, ThreadedRuntime):
            self.target.use_threads(threads)

    # --- passes ---

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
        return disturbed if self._has_patience() else []

    def _time(self, k: int, rows: int | None = None) -> Iterator[None]:
        """Time one pass of `k` tokens at the current depth, keep the time if it is the fastest, and undo the pass.

        `rows`: for how many tokens logits are computed (None: all).
        """
        seconds, own = self._run(k, rows or k)
        key = self.depth, k, rows or k
        if own > UNDISTURBED * min(self.threads.of(k), usable_cores()) * seconds:
            self.undisturbed.add(key)
        self.best[key] = min(seconds, self.best.get(key, seconds))
        yield

    def _pass(self, k: int) -> Iterator[None]:
        """Run a pass of `k` tokens whose time does not count, and undo it."""
        self._run(k, 1)
        yield

    def _run(self, k: int, rows: int) -> tuple[float, float]:
        """Run and undo a pass of `k` tokens with `rows` rows of logits.

        Returns the seconds that passed and those that this process used, on all cores together.
        """
        target, tokens = self.target, self._next_tokens(k)
        if target.size + k > target.n_ctx:  # happens only where passes cannot be undone
            target.truncate(0)
        started, processor = self.clock(), self.processor_clock()
        target.forward(tokens, rows)
        seconds, own = self.clock() - started, self.processor_clock() - processor
        if target.can_truncate:  # recurrent models cannot; their passes cost the same at any depth
            target.truncate(self.depth)
        return seconds, own

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
        rise = fit_depth_cost({k: self.best[self.deep, k, k] - low[k] for k in DEEP_KS if k in self.ks})
        times = {LOW_DEPTH: low, self.deep: {k: low[k] + rise(k) for k in self.ks}}
        row = max(0.0, (low[self.row_k] - self.best[LOW_DEPTH, self.row_k, 1]) / (self.row_k - 1))
        disturbed = not all((LOW_DEPTH, k, k) in self.undisturbed for k in self.ks)
        counts, costs = self.threads, tuple(self.thread_costs.values())
        return Timings(times, row, *self.large, disturbed, counts.decode, counts.prompt, costs)


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
