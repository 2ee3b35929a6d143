"""What drafting may lose: an account of the time won and lost against plain decoding. Knows no drafts."""

from __future__ import annotations

SHARE = 0.01  # of the plain time so far that may be lost
START = 1.25  # plain steps that may be lost at an answer's beginning: from 125 tokens on, 2 % in all


class Budget:
    """All in plain steps (the time of a pass without a draft)."""

    def __init__(self, before: float = 0.0) -> None:
        """`before`: what earlier answers lost, as a negative number; what they won is no reason to lose in this one."""
        self.before = min(0.0, max(-START, before))
        self._won = self._plain = 0.0

    def begin(self) -> None:
        """A new answer. What was won before is forgotten, what was lost has to be earned again."""
        self.before = min(0.0, max(-START, self.before + self._won + SHARE * self._plain))
        self._won = self._plain = 0.0

    @property
    def left(self) -> float:
        """How much may be lost now."""
        return START + SHARE * self._plain + self._won + self.before

    def allows(self, most_lost: float) -> bool:
        """May a step be tried that loses `most_lost` if all goes wrong? However unlikely that is: to let a chance of
        it count less saves no more on recorded answers, and some of them ended 6 % behind plain decoding."""
        return most_lost <= self.left

    def book(self, tokens: int, steps: float) -> None:
        """A step gave `tokens` in the time of `steps` plain ones."""
        self._plain += tokens
        self._won += tokens - steps
