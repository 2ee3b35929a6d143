"""What drafting may lose: an account of the time won and lost against plain decoding. Knows no drafts."""

from __future__ import annotations

SHARE = 0.01  # of the plain time so far that may be lost
START = 1.25  # plain steps that may be lost before anything was won: from 125 tokens on, 2 % in all
MOST_SAVED = 12.0  # plain steps that were won in earlier answers and may be staked in this one: one long draft
UNLIKELY = 0.3  # chance of losing anything, up to which they may be


class Budget:
    """All in plain steps (the time of a pass without a draft).

    A long draft is staked from what drafting has won. Where a pass of 16 tokens costs 9 steps, as it does on two cores
    with llama.cpp, an answer that is a copy from its first word on would be over before it had won a stake that large
    itself; so what earlier answers won may be staked too, up to a limit, if the draft is unlikely to lose. Over all
    answers drafting never falls further behind plain decoding than START and SHARE."""

    def __init__(self, before: float = 0.0) -> None:
        """`before`: what earlier answers won, or lost as a negative number."""
        self.before = limited(before)
        self._won = self._plain = 0.0

    def begin(self) -> None:
        """A new answer. What was lost has to be earned again."""
        self.before = limited(self.before + self._won + SHARE * self._plain)
        self._won = self._plain = 0.0

    @property
    def left(self) -> float:
        """How much may be lost now."""
        return START + SHARE * self._plain + self._won + self.before

    def allows(self, most_lost: float, chance: float = 1.0) -> bool:
        """May a step be tried that loses with this chance, and `most_lost` if all goes wrong?

        To let a small chance make the loss itself count less saves no more on recorded answers, and some of them end
        20 % behind plain decoding."""
        saved = max(0.0, self.before) if chance > UNLIKELY else 0.0
        return most_lost <= self.left - saved

    def book(self, tokens: int, steps: float) -> None:
        """A step gave `tokens` in the time of `steps` plain ones."""
        self._plain += tokens
        self._won += tokens - steps


def limited(before: float) -> float:
    return min(MOST_SAVED, max(-START, before))
