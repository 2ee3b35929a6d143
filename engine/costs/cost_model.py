"""What a pass costs: the cost model, from measured times, and the published formulas, from peaks and shapes.

`c(k)` is the time of a pass of k tokens over that of a pass of one, at the same depth (tokens in the KV cache). All
times are in seconds.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.costs.profile import Profile
from models.shapes import KVType, Shapes

KS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48)  # tokens of the passes that are timed
LAPTOP = {1: 1.0, 2: 1.03, 4: 1.15, 8: 1.5, 16: 2.3, 32: 4.2, 48: 6.0}  # c(k) where memory bandwidth is the limit
NEARLY_FREE = 1.1  # c(k) up to which k tokens count as no dearer than one
WINDOW = 32  # passes of about the same number of tokens, whose lower quartile counts
UNSURE_WINDOW = 4  # the same where the timings are another computer's: three passes that take longer are believed
WORTH_TELLING = 0.005  # a change of less leaves all decisions as they are
FORGET_AFTER = 32  # passes of one token in a row, after which one older time of each other size is forgotten


def nt(profile: Profile, shapes: Shapes) -> float:
    """Tokens that the machine computes in the time of one: peak compute over the costliest layer's compute.

    In units: peak [FLOP/s] × time of that layer for one token [s] / its compute per token [FLOP]. With one token the
    layer waits for its weights, so its time is its bytes over the read bandwidth. (Partial-fixed KV caching, as
    published; with 2-byte weights it is the rule of thumb peak / bandwidth.)"""
    layer = shapes.costliest
    seconds = layer.pass_bytes / profile.read_bandwidth_bytes_per_s
    return profile.flops_f32_per_s * seconds / max(1, layer.flops)


def tl(profile: Profile, shapes: Shapes, tokens: int, kv_type: KVType = "f16") -> float:
    """Seconds to load the keys and values of `tokens` cached ones: 2 · d · l · b · n / bandwidth, as published.

    The product is summed layer by layer: d is the length of the *stored* heads together (grouped-query attention
    stores fewer than it computes with), n at most the layer's sliding window."""
    return shapes.kv_bytes_read(tokens, kv_type) / profile.read_bandwidth_bytes_per_s


def td(profile: Profile, shapes: Shapes, inputs: int) -> float:
    """Seconds to run `inputs` tokens once at peak: tokens × FLOP per token / peak FLOP/s, as published."""
    return inputs * shapes.flops / profile.flops_f32_per_s


def roofline_seconds(profile: Profile, weight_bytes: int) -> float:
    """Seconds to read the weights once at full bandwidth: no pass can be faster that reads all of them."""
    return weight_bytes / profile.read_bandwidth_bytes_per_s


@dataclass(frozen=True, slots=True)
class Timings:
    """Measured passes. `pass_seconds`: {depth: {tokens: seconds}} at one or two depths, logits for every token.

    `row_seconds`: what the logits of one more token cost. `large_seconds`: one pass of `large_tokens` at the lower
    depth, logits for its last token only, as prompts are read. `disturbed`: another program was busy all the while,
    so that the times are too long by an unknown amount."""

    pass_seconds: dict[int, dict[int, float]]
    row_seconds: float
    large_tokens: int
    large_seconds: float
    disturbed: bool = False

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
        """The numbers of tokens that were timed, without the large pass."""
        return sorted(next(iter(self.pass_seconds.values())))


class CostModel:
    """Seconds of a pass of any number of tokens at any depth, from timings and from what real passes take since.

    Piecewise linear in tokens and linear in depth, never falling in either. Noise only ever makes a pass slower, and k
    tokens can be had from a larger pass, so a time counts no more than that of any larger pass.

    `provisional`: the timings are of another computer (`engine.costs.prior`); real passes soon outweigh them."""

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
        self.drift = Drift(sorted(self._points), UNSURE_WINDOW if provisional else WINDOW)

    def pass_seconds(self, k: int, depth: int, rows: int | None = None) -> float:
        """Seconds of a pass of `k` tokens after `depth` cached ones, as fast as the machine is now.

        `rows`: for how many of the tokens logits are wanted (None: all)."""
        return self.drift.speed * self._seconds(self._current, k, depth, rows)

    def _seconds(self, curve: Curve, k: int, depth: int, rows: int | None) -> float:
        assert k > 0, k
        assert depth >= 0, depth
        deeper = max(0, depth - self.low)
        seconds = curve.at(k) + self._rise.at(k) * deeper
        if rows is None or rows >= k:
            return seconds
        return max(seconds - (k - rows) * self.timings.row_seconds, curve.at(1) + self._rise.at(1) * deeper)

    def c(self, k: int, depth: int | None = None) -> float:
        """Time of a k-token pass over that of a 1-token pass, at `depth` (None: the lower measured one)."""
        depth = self.low if depth is None else depth
        return self.pass_seconds(k, depth) / self.pass_seconds(1, depth)

    @property
    def nt_measured(self) -> int:
        """The most tokens, up to the largest of the timed ks, that cost at most 1.1 passes of one."""
        return max(k for k in range(1, self.timings.ks[-1] + 1) if self.c(k) <= NEARLY_FREE)

    def prefill_seconds(self, tokens: int, depth: int = 0) -> float:
        """Seconds to read `tokens` in large passes after `depth` cached ones; each looks at all before it."""
        if tokens <= 0:
            return 0.0
        large = self.timings.large_tokens
        parts, rest = divmod(tokens, large)
        seconds = parts * self.pass_seconds(large, depth + max(0, parts - 1) * large // 2, rows=1)
        return seconds + (self.pass_seconds(rest, depth + parts * large, rows=1) if rest else 0.0)

    def observe(self, k: int, depth: int, seconds: float, rows: int | None = None) -> None:
        """Learn from a real pass of `k` tokens; noise is expected and does not stick (`Drift`)."""
        if k < 1 or depth < 0 or not 0 < seconds < math.inf:
            return
        if self.drift.observe(k, seconds / self._seconds(self._calibrated, k, depth, rows)):
            self._current = Curve({k: s * self.drift.shape(k) for k, s in self._points.items()})

    def refreshed(self) -> Timings:
        """The timings with what was learned of single sizes of passes; the speed of the moment is left out."""
        old = self.timings
        learned = {d: {k: s * self.drift.shape(k) for k, s in times.items()} for d, times in old.pass_seconds.items()}
        large = old.large_seconds * self.drift.shape(old.large_tokens)
        return Timings(learned, old.row_seconds, old.large_tokens, large, old.disturbed)


class Drift:
    """How real passes come to differ from calibrated ones, told apart from noise.

    The speed of the moment, which falls when another program uses the memory or the processor is hot, is that of passes
    of one token. What other sizes cost beside it is what decisions rest on, and where a calibration was wrong.

    All are lower quartiles over windows of ratios to calibrated times. Disturbances only ever make a pass slower: until
    three quarters of a window are slow, the quartile does not rise, however slow they are; a quarter of fast ones is
    enough to lower it. Where nothing is drafted any more, because a size seemed dear, only passes of one token come,
    and what was seen of the others is forgotten little by little."""

    def __init__(self, ks: Sequence[int], window: int = WINDOW) -> None:
        """`ks`: the numbers of tokens told apart, 1 among them; others count to the nearest."""
        self._ks = list(ks)
        self._windows = {k: Quartile(window) for k in ks}
        self._told = dict.fromkeys(ks, 1.0)
        self._alone = 0  # passes of one token in a row

    @property
    def speed(self) -> float:
        """By how much a pass of one token takes longer now than when it was calibrated."""
        return self._windows[1].value

    def shape(self, k: int) -> float:
        """By how much passes of k tokens take longer beyond that, as of the last change that `observe` told."""
        return self._told[self._nearest(k)]

    def observe(self, k: int, ratio: float) -> bool:
        """A pass of k tokens took `ratio` times what was calibrated. True if the shape of any size changed."""
        k = self._nearest(k)
        if k > 1:
            self._alone = 0
            return self._add(k, ratio / self.speed)
        self._windows[1].add(ratio)
        self._alone += 1
        if self._alone % FORGET_AFTER:
            return False
        changed = [self._add(other, 1.0) for other in self._ks if other > 1]
        return any(changed)

    def _add(self, k: int, ratio: float) -> bool:
        window = self._windows[k]
        window.add(ratio)
        if abs(window.value - self._told[k]) <= WORTH_TELLING * self._told[k]:
            return False
        self._told[k] = window.value
        return True

    def _nearest(self, k: int) -> int:
        i = bisect_left(self._ks, k)
        around = self._ks[max(0, i - 1) : i + 1]
        return min(around, key=lambda known: abs(known - k))


class Quartile:
    """The lower quartile of the last `size` numbers; the window begins full of ones, the calibration's own word."""

    def __init__(self, size: int) -> None:
        self._window = deque([1.0] * size)
        self._sorted = [1.0] * size
        self.value = 1.0

    def add(self, number: float) -> None:
        """In place of the oldest."""
        del self._sorted[bisect_left(self._sorted, self._window.popleft())]
        self._window.append(number)
        insort(self._sorted, number)
        self.value = self._sorted[len(self._sorted) // 4]


class Curve:
    """A function of the number of tokens, piecewise linear through points and never falling.

    Before the first point it is constant; beyond the last, where work per token no longer changes, proportional."""

    def __init__(self, points: Mapping[int, float]) -> None:
        self.xs = sorted(points)
        self.ys = [points[x] for x in self.xs]
        for i in range(len(self.ys) - 2, -1, -1):
            self.ys[i] = min(self.ys[i], self.ys[i + 1])
        self._known: dict[int, float] = {}  # every step asks for the same few

    def at(self, x: int) -> float:
        """Its value at `x` tokens."""
        y = self._known.get(x)
        if y is None:
            y = self._known[x] = self._between(x)
        return y

    def _between(self, x: int) -> float:
        i = bisect_right(self.xs, x)
        if i == 0:
            return self.ys[0]
        if i == len(self.xs):
            return self.ys[-1] * (x / self.xs[-1])
        x0, x1, y0, y1 = self.xs[i - 1], self.xs[i], self.ys[i - 1], self.ys[i]
        return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
