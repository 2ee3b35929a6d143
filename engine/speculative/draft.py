"""The interface between drafters, the decode loop and the policy: drafters propose tokens that may come next.

A drafter may own a model or use a layer of the target itself. Its drafts then take time, which `cost` tells beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Evidence = tuple[int, ...]  # small numbers that rate a draft; drafts of equal evidence share learned rates
# Limits of the first token's probability; drafts between two limits share learned rates.
SURENESS_LEVELS = (0.3, 0.6, 0.85, 0.97)


@dataclass(frozen=True, slots=True)
class Draft:
    """Tokens that may follow the newest one, as a line.

    `confidence[i]`: the drafter's own estimate of the probability that token i is right if all before it are.
    Acceptance learned for this `evidence` corrects it. `cost_seconds`: time that making this draft took.
    """

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
    """A proposer of tokens that follows one chat.

    Callers call `begin` with every prompt and `extend` with all tokens of the answer, drafted or not.
    """

    @property
    def name(self) -> str:
        """Name in statistics and traces."""

    @property
    def cost(self) -> float:
        """Seconds per drafted token; 0 for a drafter without a model, which is asked at every step."""

    def begin(self, tokens: Sequence[int]) -> None:
        """Start an answer after a prompt; `tokens` are all tokens of the chat.

        The common prefix with the last chat is reused.
        """

    def extend(self, tokens: Sequence[int]) -> None:
        """Append tokens that the target has chosen: accepted drafted ones and its own."""

    def propose(self, limit: int) -> list[Draft]:
        """Return drafts of at most `limit` tokens to follow the newest token, best first; none without evidence."""


def sureness(probability: float) -> Evidence:
    """Return how sure a drafter is of its first token, from 0 to 4, as evidence; `probability` is the drafter's own."""
    return (sum(probability >= limit for limit in SURENESS_LEVELS),)
