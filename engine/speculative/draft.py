"""What the decode loop and the policy know of a drafter: it proposes tokens that may come next.

A drafter may own a model, or be a layer of the target itself: then its drafts cost time, which `cost` tells beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Evidence = tuple[int, ...]  # small numbers that say how good a draft looks; equal ones are learned about together
SURE = (0.3, 0.6, 0.85, 0.97)  # probabilities of the first token that part drafts which are learned about together


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens that may follow the newest one, as a line.

    `confidence[i]`: the drafter's own guess of the probability that token i is right if all before it are; what was
    learned of this `evidence` goes beyond it. `cost_seconds`: what making this draft took."""

    tokens: tuple[int, ...]
    drafter: str
    evidence: Evidence
    confidence: tuple[float, ...]
    cost_seconds: float = 0.0

    def __post_init__(self) -> None:
        if not self.tokens or len(self.tokens) != len(self.confidence):
            raise ValueError("a draft needs tokens and a confidence for each")
        if not 0 <= self.cost_seconds < math.inf:
            raise ValueError("a draft's cost must be zero or more seconds")
        if not all(0 <= p <= 1 for p in self.confidence):
            raise ValueError("confidences are probabilities")


class Drafter(Protocol):
    """Follows one chat's tokens: `begin` with every prompt, `extend` with all tokens of the answer, drafted or not."""

    @property
    def name(self) -> str:
        """As in statistics."""

    @property
    def cost(self) -> float:
        """Seconds for each drafted token; 0 for a drafter without a model, which is asked at every step."""

    def begin(self, tokens: Sequence[int]) -> None:
        """A prompt was read: `tokens` are all tokens of the chat. What is common with the last ones is re-used."""

    def extend(self, tokens: Sequence[int]) -> None:
        """The target has chosen these tokens (drafted and accepted ones, and its own)."""

    def propose(self, limit: int) -> list[Draft]:
        """Drafts of at most `limit` tokens to follow the newest token, the best first; none if there is no evidence."""


def sureness(probability: float) -> Evidence:
    """0 to 4: how sure a drafter with probabilities of its own is of the first token."""
    return (sum(probability >= limit for limit in SURE),)
