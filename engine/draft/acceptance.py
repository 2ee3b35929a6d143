"""How often drafted tokens are right, by drafter, evidence and place in the draft: learned, fading, remembered.

Knows neither what tokens are nor what passes cost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from engine.draft.drafter import Candidate

WEIGHT = 32.0  # tokens that a drafter's own confidence counts as many as
GUESS_WEIGHT = 16.0  # and a confidence that is a guess about any draft of a drafter
FADE = 0.985  # what counts of the tokens before, at each new one: about the last 70 count
FIRST_OF_CLASS = (0, 1, 2, 4, 8, 16, 32)  # places in a draft that are learned about together

LAST_PLACE = FIRST_OF_CLASS[-1]
PLACES = tuple(sum(place >= first for first in FIRST_OF_CLASS) - 1 for place in range(LAST_PLACE + 1))


class Acceptance:
    """For each bucket the faded number of tokens seen, of right ones, and of right ones that were foretold.

    A Beta posterior: the drafter's confidence, moved in log odds by how far it was off before, weighs WEIGHT tokens,
    or as many as the caller of `rates` says."""

    def __init__(self, state: Mapping[str, object] | None = None) -> None:
        """`state`: from `state`; entries that do not look like it are left out."""
        self._seen: dict[str, tuple[float, float, float]] = {}
        for key, value in (state or {}).items():
            if isinstance(value, (list, tuple)) and len(value) == 3 and all(sound(x) for x in value):
                seen, right, foretold = (float(x) for x in value)
                if max(right, foretold) <= seen <= 1 / (1 - FADE) + 1:
                    self._seen[key] = seen, right, foretold

    def state(self) -> dict[str, list[float]]:
        """For JSON."""
        return {key: [round(x, 3) for x in value] for key, value in self._seen.items()}

    def rates(self, candidate: Candidate, weight: float = WEIGHT) -> list[float]:
        """The probability of each token of the draft, given that those before it are right."""
        rates, names = [], self._names(candidate)
        shifts: list[float] = []
        for place, confidence in enumerate(candidate.confidence):
            place_class = PLACES[min(place, LAST_PLACE)]
            if place_class == len(shifts):
                before = shifts[-1] if shifts else 0.0
                shifts.append(self._shift(f"{names}{place_class}", before, weight))
            rates.append(moved(confidence, shifts[place_class]))
        return rates

    def _names(self, candidate: Candidate) -> str:
        return f"{candidate.drafter} {','.join(map(str, candidate.evidence))} "

    def _shift(self, key: str, before: float, weight: float) -> float:
        """By how much the log odds of this bucket's confidences are to be moved; where nothing was seen as `before`."""
        seen, right, foretold = self._seen.get(key, (0.0, 0.0, 0.0))
        if seen == 0:
            return before
        mean = min(0.98, max(0.02, foretold / seen))
        posterior = (weight * mean + right) / (weight + seen)
        return log_odds(posterior) - log_odds(mean)

    def learn(self, candidate: Candidate, place: int, right: bool) -> None:
        """Token `place` of the draft was right or not; all before it were right."""
        key = self._names(candidate) + str(PLACES[min(place, LAST_PLACE)])
        seen, hits, foretold = self._seen.get(key, (0.0, 0.0, 0.0))
        confidence = candidate.confidence[place]
        self._seen[key] = seen * FADE + 1, hits * FADE + right, foretold * FADE + confidence


def log_odds(p: float) -> float:
    p = min(0.999, max(0.001, p))
    return math.log(p / (1 - p))


def moved(p: float, shift: float) -> float:
    """Probability `p` with its odds multiplied by e^shift."""
    if shift == 0:
        return p
    odds = p * math.exp(shift)
    return odds / (odds + 1 - p)


def sound(x: object) -> bool:
    return isinstance(x, (int, float)) and math.isfinite(x) and x >= 0
