"""How many drafted tokens were right one after the other: the published form of draft-model speculation drafts as many.

Knows neither tokens nor a model.
"""

from __future__ import annotations

from collections import Counter

START = 4  # drafted as long as nothing was matched; a usual choice where k is fixed
MOST = 16


class MatchedLengths:
    """Of one chat. `k` is the length that was matched most often, the longer one where two are equal.

    A draft that is right to its end leaves open how far it would have gone: its length is added to that of the next
    one, else k could only shrink. Drafts whose first token is wrong say nothing about k, which is 1 at least."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()
        self._run = 0

    def begin(self) -> None:
        """A new answer: the last one's end leaves open how far its last draft would have been right."""
        self._run = 0

    @property
    def k(self) -> int:
        most = max(self._counts, key=lambda length: (self._counts[length], length), default=START)
        return min(most, MOST)

    def add(self, matched: int, drafted: int) -> None:
        """Of a draft of `drafted` tokens the first `matched` were right."""
        self._run += matched
        if matched < drafted:
            if self._run:
                self._counts[self._run] += 1
            self._run = 0
