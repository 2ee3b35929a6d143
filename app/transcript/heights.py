"""Where each of many messages lies in a column, though few of them were ever laid out. Knows no Qt.

Heights are measured or estimated ones, in pixels; finding a message by its place, and changing a height, take time in
the order of log(messages).
"""

from __future__ import annotations

from collections.abc import Iterable


class Heights:
    """The heights of rows that follow each other: a Fenwick tree of partial sums (P. Fenwick, 1994)."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._sums = [0, *self._heights]
        for at in range(1, len(self._sums)):
            above = at + (at & -at)
            if above < len(self._sums):
                self._sums[above] += self._sums[at]

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, row: int) -> int:
        return self._heights[row]

    @property
    def total(self) -> int:
        return self.top(len(self._heights))

    def top(self, row: int) -> int:
        """Where `row` begins: the sum of all heights before it."""
        total = 0
        while row:
            total += self._sums[row]
            row &= row - 1
        return total

    def set(self, row: int, height: int) -> None:
        change, self._heights[row] = height - self._heights[row], height
        at = row + 1
        while at < len(self._sums):
            self._sums[at] += change
            at += at & -at

    def row_at(self, y: int) -> int:
        """The row that holds `y`, the first or the last one where `y` lies outside; -1 when there are no rows."""
        at, step = 0, 1 << len(self._sums).bit_length()
        while step:
            if at + step < len(self._sums) and self._sums[at + step] <= y:
                at += step
                y -= self._sums[at]
            step >>= 1
        return min(at, len(self._heights) - 1)


def estimate(text: str, characters: float, line: int) -> int:
    """About how high `text` will be, with so many characters in a line that is `line` pixels high."""
    return line * (1 + text.count("\n") + int(len(text) / max(characters, 1)))
