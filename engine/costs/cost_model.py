"""Pass costs: a cost model made from measured times, and the published formulas made from peaks and shapes.

`c(k)` is the time of a pass of k tokens divided by that of a pass of one token at the same depth (tokens in the KV
cache). All times are in seconds.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from common.planning import DEFAULT_KV_TYPE, KVType
from engine.costs.profile import Profile
from engine.costs.threads import ThreadCost
from engine.runtime.contexts import PROMPT_PASS
from models.shapes import Shapes

KS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48)  # batch sizes that calibration times
LAPTOP = {1: 1.0, 2: 1.03, 4: 1.15, 8: 1.5, 16: 2.3, 32: 4.2, 48: 6.0}  # c(k) where memory bandwidth is the limit
NEARLY_FREE = 1.1  # c(k) up to which k tokens count as costing the same as one
WINDOW = 32  # observed passes per batch size, whose lower quartile counts
PROVISIONAL_WINDOW = 4  # for timings of another computer: three slower passes change the estimate
MIN_CHANGE = 0.005  # relative change of a shape that is reported; smaller ones change no decision
FORGET_AFTER = 32  # one-token passes in a row after which each other size forgets one observation


def nt(profile: Profile, shapes: Shapes) -> float:
    """Return the number of tokens that the machine computes in the time of one, as published.

    In units: peak [FLOP/s] × time of the costliest layer for one token [s] / compute of that layer per token [FLOP].
    With one token the layer waits for its weights, so its time is its bytes over the read bandwidth. (Partial-fixed KV
    caching; with 2-byte weights the formula is the rule of thumb peak / bandwidth.)
    """
    layer = shapes.costliest
    seconds = layer.pass_bytes / profile.read_bandwidth_bytes_per_s
    return profile.flops_f32_per_s * seconds / max(1, layer.flops)


def tl(profile: Profile, shapes: Shapes, tokens: int, kv_type: KVType = DEFAULT_KV_TYPE) -> float:
    """Return the seconds to load the keys and values of `tokens` cached tokens, as published.

    The formula is 2 · d · l · b · n / bandwidth, summed layer by layer: d is the length of the *stored* heads together
    (grouped-query attention stores fewer than it computes with), and n at most the layer's sliding window.
    """
    return shapes.kv_bytes_read(tokens, kv_type) / profile.read_bandwidth_bytes_per_s


def td(profile: Profile, shapes: Shapes, inputs: int) -> float:
    """Return the seconds to run `inputs` tokens once at peak: tokens × FLOP per token / peak FLOP/s, as published."""
    return inputs * shapes.flops / profile.flops_f32_per_s


def roofline_seconds(profile: Profile, weight_bytes: int) -> float:
    """Return the seconds to read the weights once at full bandwidth, the shortest possible pass."""
    return weight_bytes / profile.read_bandwidth_bytes_per_s


@dataclass(frozen=True, slots=True)
class Timings:
    """Measured pass times.

    `pass_seconds`: {depth: {tokens: seconds}} at one or two depths, with logits for every token. `row_seconds`: cost of
    one more row of logits. `large_tokens`, `large_seconds`: size and time of one prefill batch at the lower depth, with
    logits for its last token only. `disturbed`: another program was busy all the time, so the times are too long by an
    unknown amount. `decode_threads`, `prompt_threads`: numbers of threads that were found to be fastest for short
    passes and for prompts; 0 where none was looked for. `thread_costs`: what passes cost with other numbers, too.
    """

    pass_seconds: dict[int, dict[int, float]]
    row_seconds: float
    large_tokens: int
    large_seconds: float
    disturbed: bool = False
    decode_threads: int = 0
    prompt_threads: int = 0
    thread_costs: tuple[ThreadCost, ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= len(self.pass_seconds) <= 2:
            raise ValueError("timings need one or two depths")
        ks = [tuple(sorted(times)) for times in self.pass_seconds.values()]
        if ks[0] != ks[-1] or not ks[0] or ks[0][0] != 1 or self.large_tokens <= ks[0][-1]:
            raise ValueError("timings need the same numbers of tokens at each depth, 1 among them, and a larger pass")
        seconds = [s for times in self.pass_seconds.values() for s in times.values()] + [self.large_seconds]
        if not all(s > 0 and math.isfinite(s) for s in seconds) or not 0 <= self.row_seconds < math.inf:
            raise ValueError("timings must be positive")
        if min(self.pass_seconds) < 0:
            raise ValueError("a depth cannot be negative")

    @property
    def ks(self) -> list[int]:
        """Batch sizes with a measured time, excluding the prefill batch."""
        return sorted(self.shallow)

    @property
    def shallow(self) -> dict[int, float]:
        """Seconds of passes by their tokens, at the lower depth."""
        return self.pass_seconds[min(self.pass_seconds)]

    def changed(self, seconds_of: Callable[[int, float], float]) -> Timings:
        """Return timings in which a pass takes `seconds_of(tokens, seconds)` instead of its `seconds`."""
        passes = {
            depth: {tokens: seconds_of(tokens, seconds) for tokens, seconds in times.items()}
            for depth, times in self.pass_seconds.items()
        }
        return replace(self, pass_seconds=passes, large_seconds=seconds_of(self.large_tokens, self.large_seconds))

    @property
    def prompt_speed(self) -> float:
        """Prefill speed in tokens/s, from the large pass."""
        return self.large_tokens / self.large_seconds


def timings_with_threads(timings: Timings, decode_threads: int) -> Timings | None:
    """Estimate the timings with another number of threads for short passes; None if passes were not timed with it.

    With fewer threads, reading the weights takes as many times longer as a pass of one token does; what each further
    token adds is arithmetic, and takes as many times longer as in a pass of PROMPT_PASS tokens.
    """
    known = {(each.tokens, each.threads): each.seconds for each in timings.thread_costs}
    try:
        old, new = (
            (known[1, threads], known[PROMPT_PASS, threads]) for threads in (timings.decode_threads, decode_threads)
        )
    except KeyError:
        return None
    reading = new[0] / old[0]
    adding = max(0.0, new[1] - new[0]) / (old[1] - old[0]) if old[1] > old[0] else reading

    def scaled(tokens: int, seconds: float, one: float) -> float:
        return seconds if tokens >= PROMPT_PASS else one * reading + max(0.0, seconds - one) * adding

    passes = {
        depth: {tokens: scaled(tokens, seconds, times[1]) for tokens, seconds in times.items()}
        for depth, times in timings.pass_seconds.items()
    }
    return replace(
        timings, pass_seconds=passes, row_seconds=timings.row_seconds * adding, decode_threads=decode_threads
    )


class CostModel:
    """Estimate of the seconds of a pass of any size at any depth, from timings and from the real passes observed since.

    The estimate is piecewise linear in tokens, linear in depth, and never falls in either. Noise only ever makes a pass
    slower, and k tokens can also run in a larger pass, so a time is capped by that of every larger pass.

    `provisional`: the timings come from another computer (`engine.costs.cost_prior`); real passes soon outweigh them.
    """

    def __init__(self, timings: Timings, provisional: bool = False) -> None:
        self.timings = timings
        self.provisional = provisional
        self.low, self.high = min(timings.pass_seconds), max(timings.pass_seconds)
        low, high = timings.pass_seconds[self.low], timings.pass_seconds[self.high]
        large = timings.large_seconds + (timings.large_tokens - 1) * timings.row_seconds
        self._points = low | {timings.large_tokens: large}
        self._calibrated = self._current = Curve(self._points)
        span = max(1, self.high - self.low)
        self._rise = Curve({k: max(0.0, high[k] - low[k]) / span for k in low})  # seconds per token of depth
        self.drift = Drift(sorted(self._points), PROVISIONAL_WINDOW if provisional else WINDOW)

    def pass_seconds(self, k: int, depth: int, rows: int | None = None) -> float:
        """Return the seconds of a pass of `k` tokens after `depth` cached ones, at the machine's current speed.

        `rows`: number of tokens whose logits are computed (None: all).
        """
        return self.drift.slowdown * self._seconds(self._current, k, depth, rows)

    def _seconds(self, curve: Curve, k: int, depth: int, rows: int | None) -> float:
        assert k > 0, k
        assert depth >= 0, depth
        deeper = max(0, depth - self.low)
        seconds = curve.at(k) + self._rise.at(k) * deeper
        if rows is None or rows >= k:
            return seconds
        return max(seconds - (k - rows) * self.timings.row_seconds, curve.at(1) + self._rise.at(1) * deeper)

    def c(self, k: int, depth: int | None = None) -> float:
        """Return the time of a k-token pass divided by that of a 1-token pass at the same depth.

        `depth`: tokens in the KV cache (None: the lower measured depth).
        """
        depth = self.low if depth is None else depth
        return self.pass_seconds(k, depth) / self.pass_seconds(1, depth)

    @property
    def nt_measured(self) -> int:
        """Largest number of tokens, up to the largest timed size, whose pass costs at most 1.1 passes of one token."""
        return max(k for k in range(1, self.timings.ks[-1] + 1) if self.c(k) <= NEARLY_FREE)

    def observe(self, k: int, depth: int, seconds: float, rows: int | None = None) -> None:
        """Learn from a real pass of `k` tokens; single slow passes change nothing (`Drift`)."""
        if k < 1 or depth < 0 or not 0 < seconds < math.inf:
            return
        if self.drift.observe(k, seconds / self._seconds(self._calibrated, k, depth, rows)):
            self._current = Curve({k: s * self.drift.shape(k) for k, s in self._points.items()})

    def refreshed(self) -> Timings:
        """Return the timings corrected by what was learned of each size, without the momentary slowdown."""
        return self.timings.changed(lambda tokens, seconds: seconds * self.drift.shape(tokens))


class Drift:
    """Difference between real passes and calibrated ones, separated from noise.

    `slowdown` is the momentary factor of passes of one token; it rises when another program uses the memory or the
    processor is hot. `shape(k)` is the factor of a pass of k tokens beyond that. Decisions rest on the shape, and it
    shows where a calibration was wrong.

    Both are lower quartiles over windows of ratios to calibrated times. Disturbances only ever make a pass slower: the
    quartile does not rise until three quarters of a window are slow, however slow they are, and a quarter of fast
    passes lowers it. When a size seems so dear that nothing is drafted, only passes of one token run; then the
    observations of the other sizes are forgotten little by little.
    """

    def __init__(self, ks: Sequence[int], window: int = WINDOW) -> None:
        """Create a window per size. `ks`: sizes to distinguish, including 1; other sizes count as the nearest one."""
        self._ks = list(ks)
        self._windows = {k: Quartile(window) for k in ks}
        self._reported = dict.fromkeys(ks, 1.0)
        self._single_passes = 0  # passes of one token in a row

    @property
    def slowdown(self) -> float:
        """Factor by which a pass of one token takes longer now than when it was calibrated."""
        return self._windows[1].value

    def shape(self, k: int) -> float:
        """Return the factor by which passes of k tokens are slower beyond `slowdown`.

        The value is that of the last change that `observe` reported.
        """
        return self._reported[self._nearest(k)]

    def observe(self, k: int, ratio: float) -> bool:
        """Learn from a pass of k tokens that took `ratio` times its calibrated time.

        Returns whether the shape of any size changed.
        """
        k = self._nearest(k)
        if k > 1:
            self._single_passes = 0
            return self._add(k, ratio / self.slowdown)
        self._windows[1].add(ratio)
        self._single_passes += 1
        if self._single_passes % FORGET_AFTER:
            return False
        changed = [self._add(other, 1.0) for other in self._ks if other > 1]
        return any(changed)

    def _add(self, k: int, ratio: float) -> bool:
        window = self._windows[k]
        window.add(ratio)
        if abs(window.value - self._reported[k]) <= MIN_CHANGE * self._reported[k]:
            return False
        self._reported[k] = window.value
        return True

    def _nearest(self, k: int) -> int:
        i = bisect_left(self._ks, k)
        neighbours = self._ks[max(0, i - 1) : i + 1]
        return min(neighbours, key=lambda size: abs(size - k))


class Quartile:
    """Lower quartile of the last `size` numbers. The window starts full of ones, which stand for the calibration."""

    def __init__(self, size: int) -> None:
        self._window = deque([1.0] * size)
        self._sorted = [1.0] * size
        self.value = 1.0

    def add(self, number: float) -> None:
        """Append a number to the full window and drop the oldest one."""
        del self._sorted[bisect_left(self._sorted, self._window.popleft())]
        self._window.append(number)
        insort(self._sorted, number)
        self.value = self._sorted[len(self._sorted) // 4]


class Curve:
    """Function of a number of tokens, piecewise linear through points and never falling.

    Before the first point the function is constant. Beyond the last point it is proportional, because the work per
    token no longer changes there.
    """

    def __init__(self, points: Mapping[int, float]) -> None:
        self.xs = sorted(points)
        self.ys = [points[x] for x in self.xs]
        for i in range(len(self.ys) - 2, -1, -1):
            self.ys[i] = min(self.ys[i], self.ys[i + 1])
        self._values: dict[int, float] = {}  # every step needs the same few values

    def at(self, x: int) -> float:
        """Return the value at `x` tokens."""
        y = self._values.get(x)
        if y is None:
            y = self._values[x] = self._interpolate(x)
        return y

    def _interpolate(self, x: int) -> float:
        i = bisect_right(self.xs, x)
        if i == 0:
            return self.ys[0]
        if i == len(self.xs):
            return self.ys[-1] * (x / self.xs[-1])
        x0, x1, y0, y1 = self.xs[i - 1], self.xs[i], self.ys[i - 1], self.ys[i]
        return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
