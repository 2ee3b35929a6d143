"""How real passes come to differ from calibrated ones, told apart from noise. Knows only ratios of times.

Two things change: the speed of everything (battery, heat, another program that stays), and the relative cost of some
number of tokens, where the calibration was wrong. Speed cancels out of c(k), so it may follow quickly; relative cost is
what decisions rest on, so it follows slowly and is judged against the speed of the same moment.

Both are lower quartiles over a window of ratios. Disturbances only ever make a pass slower: until three quarters of a
window are slow, the quartile does not rise, however slow they are; a quarter of fast ones is enough to lower it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence

SPEED_WINDOW = 32  # passes: about a second of decoding
SHAPE_WINDOW = 64  # passes of about the same number of tokens
WORTH_TELLING = 0.005  # a shape that changed by less leaves all decisions as they are


class Drift:
    """`ks`: the numbers of tokens told apart; others count to the nearest."""

    def __init__(self, ks: Sequence[int]) -> None:
        self.ks = list(ks)
        self._speed = Quartile(SPEED_WINDOW)
        self._shapes = {k: Quartile(SHAPE_WINDOW) for k in ks}
        self._told = dict.fromkeys(ks, 1.0)

    @property
    def speed(self) -> float:
        """By how much everything takes longer than when it was calibrated."""
        return self._speed.value

    def shape(self, k: int) -> float:
        """By how much passes of k tokens take longer beyond that, as of the last change that `observe` told."""
        return self._told[self._nearest(k)]

    def observe(self, k: int, ratio: float) -> bool:
        """`ratio`: a real pass's time over the calibrated one. True if the shape of k changed."""
        k = self._nearest(k)
        shape, speed = self._shapes[k], self.speed
        self._speed.add(ratio / shape.value)
        shape.add(ratio / speed)
        if abs(shape.value - self._told[k]) <= WORTH_TELLING * self._told[k]:
            return False
        self._told[k] = shape.value
        return True

    def _nearest(self, k: int) -> int:
        i = bisect_left(self.ks, k)
        around = self.ks[max(0, i - 1) : i + 1]
        return min(around, key=lambda known: abs(known - k))


class Quartile:
    """The lower quartile of the last `size` numbers; the window begins full of ones, the calibration's own word."""

    def __init__(self, size: int) -> None:
        self._window = deque([1.0] * size)
        self._sorted = [1.0] * size
        self.value = 1.0

    def add(self, number: float) -> None:
        del self._sorted[bisect_left(self._sorted, self._window.popleft())]
        self._window.append(number)
        insort(self._sorted, number)
        self.value = self._sorted[len(self._sorted) // 4]
