"""Which tokens came in an answer when they were foreseen, and which did not. Knows neither text nor drafts.

Where an edit changes a word it often does so everywhere, and where a text is rewritten, its punctuation stays or goes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping


class Foreseen:
    """Of one answer. `records`: of each token that was foreseen, ln((1 + times it came) / (1 + times it did not))."""

    def __init__(self) -> None:
        self._records: dict[int, float] = {}
        self._counts: dict[int, tuple[int, int]] = {}

    @property
    def records(self) -> Mapping[int, float]:
        """Changes with every `add`."""
        return self._records

    def add(self, token: int, came: bool) -> None:
        yes, no = self._counts.get(token, (1, 1))
        yes, no = yes + came, no + (not came)
        self._counts[token] = yes, no
        self._records[token] = math.log(yes / no)
