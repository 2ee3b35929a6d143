"""How real passes come to differ from calibrated ones, told apart from noise. Knows only times.

Three things change. Reading the weights, which is what a pass of one token waits for, gets slower when another program
uses the memory; computing, which is what further tokens cost, when the processor is hot or on battery: these are speeds
of the moment and followed quickly. And the relative cost of some number of tokens, where the calibration was wrong:
that is what decisions rest on, so it is followed slowly and judged against the speeds of the same moment.

All are lower quartiles over a window of ratios. Disturbances only ever make a pass slower: until three quarters of a
window are slow, the quartile does not rise, however slow they are; a quarter of fast ones is enough to lower it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Sequence

READING_WINDOW = 32  # passes of one token: about a second of decoding
COMPUTING_WINDOW = 12  # passes of several: there are fewer of them, and they decide whether there will be more
SHAPE_WINDOW = 64  # passes of about the same number of tokens
WORTH_TELLING = 0.005  # a shape that changed by less leaves all decisions as they are
COMPUTES = 1.5  # c(k) from which a pass tells how fast the machine computes
LEAST = 0.1  # of the calibrated time: less is noise in the time of reading
FORGET_AFTER = 32  # passes of one token in a row, after which computing is believed to be as slow as reading is


class Drift:
    """`ks`: the numbers of tokens told apart, 1 among them; others count to the nearest. All times are in seconds,
    `alone` and `whole` calibrated ones: of a pass of one token and of the pass in question, at the same depth."""

    def __init__(self, ks: Sequence[int]) -> None:
        self.ks = list(ks)
        self._reading = Quartile(READING_WINDOW)
        self._computing = Quartile(COMPUTING_WINDOW)
        self._alone = 0  # passes of one token since the last one that told how fast the machine computes
        self._shapes = {k: Quartile(SHAPE_WINDOW) for k in ks}
        self._told = dict.fromkeys(ks, 1.0)

    @property
    def reading(self) -> float:
        """By how much a pass of one token takes longer than when it was calibrated."""
        return self._reading.value

    @property
    def computing(self) -> float:
        """By how much the further tokens of a pass do."""
        return self._computing.value

    def now(self, alone: float, whole: float) -> float:
        """What a pass takes at the speeds of the moment."""
        return alone * self.reading + max(0.0, whole - alone) * self.computing

    def shape(self, k: int) -> float:
        """By how much passes of k tokens take longer beyond that, as of the last change that `observe` told."""
        return self._told[self._nearest(k)]

    def observe(self, k: int, seconds: float, alone: float, whole: float) -> bool:
        """A pass of k tokens took `seconds`. True if the shape of k changed."""
        k = self._nearest(k)
        if k == 1:
            self._follow_reading(seconds / alone)
            return False
        shape, expected = self._shapes[k], self.now(alone, whole)
        self._follow_computing(seconds, alone, whole * shape.value)
        shape.add(seconds / expected)
        if abs(shape.value - self._told[k]) <= WORTH_TELLING * self._told[k]:
            return False
        self._told[k] = shape.value
        return True

    def _follow_reading(self, ratio: float) -> None:
        """If drafts were left off because computing seemed slow, only this shows that the machine recovered."""
        self._reading.add(ratio)
        self._alone += 1
        if self._alone > FORGET_AFTER:
            self._computing.add(self.reading)

    def _follow_computing(self, seconds: float, alone: float, whole: float) -> None:
        if whole >= COMPUTES * alone:
            self._computing.add(max(LEAST, (seconds - alone * self.reading) / (whole - alone)))
            self._alone = 0

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
