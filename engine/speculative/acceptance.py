"""How often drafted tokens are right, by drafter, evidence and place in the draft, and by token: learned, fading."""

from __future__ import annotations

import math
from collections.abc import Mapping

from engine.speculative.draft import Draft

WEIGHT = 64.0  # tokens that a drafter's own confidence counts as many as
GUESS_WEIGHT = 16.0  # and a confidence that is a guess about any draft of a drafter
TOKEN_WEIGHT = 12.0  # and what was expected of a single token
FADE = 0.985  # what counts of the tokens before, at each new one: about the last 70 count
FIRST_OF_CLASS = (0, 1, 2, 4, 8, 16, 32)  # places in a draft that are learned about together

ANY = -1  # stands for any token
MOST_TOKENS = 4096  # that are learned about one by one, the latest ones

LAST_PLACE = FIRST_OF_CLASS[-1]
PLACES = tuple(sum(place >= first for first in FIRST_OF_CLASS) - 1 for place in range(LAST_PLACE + 1))

Counts = tuple[float, float, float]  # faded numbers of tokens seen, right, foretold to be right


class Acceptance:
    """For each bucket the faded number of tokens seen, of right ones, and of right ones that were foretold.

    A Beta posterior: the drafter's confidence, moved in log odds by how far it was off before, weighs WEIGHT tokens,
    or as many as the caller of `rates` says. What is learned about single tokens comes on top of it. That is kept in
    memory only: on the disk it would tell which words were in chats that may be deleted by now."""

    def __init__(self, state: Mapping[str, object] | None = None) -> None:
        """`state`: from `state`; entries that do not look like it are left out."""
        self._seen: dict[str, Counts] = {}
        self._tokens: dict[tuple[str, int], Counts] = {}  # the same for each token of a drafter
        self._odds: dict[tuple[str, int], float] = {}  # by what its odds are multiplied, once somebody asked
        for key, value in (state or {}).items():
            if isinstance(value, (list, tuple)) and len(value) == 3 and all(sound(x) for x in value):
                seen, right, foretold = (float(x) for x in value)
                if max(right, foretold) <= seen <= 1 / (1 - FADE) + 1:
                    self._seen[key] = seen, right, foretold

    def state(self) -> dict[str, list[float]]:
        """For JSON, without single tokens."""
        return {key: [round(x, 3) for x in value] for key, value in self._seen.items()}

    def rates(self, draft: Draft, weight: float = WEIGHT) -> list[float]:
        """The probability of each token of the draft, given that those before it are right."""
        rates, names = [], self._names(draft)
        shifts: list[float] = []
        for place, (confidence, token) in enumerate(zip(draft.confidence, draft.tokens, strict=True)):
            place_class = PLACES[min(place, LAST_PLACE)]
            if place_class == len(shifts):
                before = shifts[-1] if shifts else 1.0
                seen = self._seen.get(f"{names}{place_class}")
                shifts.append(shift(seen, weight) if seen else before)
            rates.append(moved(confidence, shifts[place_class] * self._token_odds((draft.drafter, token))))
        return rates

    def _names(self, draft: Draft) -> str:
        return f"{draft.drafter} {','.join(map(str, draft.evidence))} "

    def learn(self, draft: Draft, place: int, right: bool) -> None:
        """Token `place` of the draft was right or not; all before it were right."""
        confidence = draft.confidence[place]
        key = self._names(draft) + str(PLACES[min(place, LAST_PLACE)])
        self._seen[key] = faded(self._seen.get(key), right, confidence)
        if draft.tokens[place] != ANY:
            self._learn_token((draft.drafter, draft.tokens[place]), right, confidence)

    def _learn_token(self, key: tuple[str, int], right: bool, confidence: float) -> None:
        self._tokens[key] = faded(self._tokens.pop(key, None), right, confidence)  # the last one now
        self._odds.pop(key, None)
        if len(self._tokens) > MOST_TOKENS:
            oldest = next(iter(self._tokens))
            del self._tokens[oldest]
            self._odds.pop(oldest, None)

    def _token_odds(self, key: tuple[str, int]) -> float:
        if key not in self._tokens:
            return 1.0
        if key not in self._odds:
            self._odds[key] = shift(self._tokens[key], TOKEN_WEIGHT)
        return self._odds[key]


def faded(before: Counts | None, right: bool, confidence: float) -> Counts:
    """With one more token."""
    seen, hits, foretold = before or (0.0, 0.0, 0.0)
    return seen * FADE + 1, hits * FADE + right, foretold * FADE + confidence


def shift(counts: Counts, weight: float) -> float:
    """By how much the odds of a confidence are to be multiplied, which itself weighs as many tokens as `weight`."""
    seen, right, foretold = counts
    mean = min(0.98, max(0.02, foretold / seen))
    posterior = (weight * mean + right) / (weight + seen)
    return odds(posterior) / odds(mean)


def odds(p: float) -> float:
    """Of a probability, which counts as 0.001 at least and 0.999 at most."""
    p = min(0.999, max(0.001, p))
    return p / (1 - p)


def moved(p: float, factor: float) -> float:
    """Probability `p` with its odds multiplied by `factor`."""
    return p * factor / (p * factor + 1 - p) if factor != 1 else p


def sound(x: object) -> bool:
    """Is it a number of tokens?"""
    return isinstance(x, (int, float)) and math.isfinite(x) and x >= 0
