"""Learned acceptance rates of drafted tokens, by drafter, evidence, place in the draft, and token; old samples fade."""

from __future__ import annotations

import math
from collections.abc import Mapping

from engine.speculative.draft import Draft

CONFIDENCE_WEIGHT = 64.0  # tokens; a drafter's confidence in a token counts as much as this many observed ones
GUESS_WEIGHT = 16.0  # the same for a guessed confidence that stands for all drafts of a drafter
TOKEN_WEIGHT = 12.0  # the same for the confidence in one particular token
FADE = 0.985  # factor on all earlier counts per new token, so that about the last 70 tokens count
FIRST_PLACES = (0, 1, 2, 4, 8, 16, 32)  # first place of each class; the places of a class are learned about together

ANY_TOKEN = -1
MAX_LEARNED_TOKENS = 4096  # tokens with counts of their own; those learned longest ago are dropped

LAST_PLACE = FIRST_PLACES[-1]
PLACES = tuple(sum(place >= first for first in FIRST_PLACES) - 1 for place in range(LAST_PLACE + 1))

AcceptanceCounts = tuple[float, float, float]  # faded numbers of tokens: seen, right, foretold right
NO_COUNTS: AcceptanceCounts = (0.0, 0.0, 0.0)
NOTHING_LEARNED = NO_COUNTS, 1.0


class Acceptance:
    """Acceptance rates per bucket: a drafter, its evidence, and a class of places in the draft.

    Each bucket holds faded numbers of tokens seen, of right ones, and of right ones that the drafter foretold. The rate
    is the mean of a Beta posterior: the drafter's confidence, moved in log odds by how far it was off so far, weighs as
    much as CONFIDENCE_WEIGHT tokens, or as the caller of `rates` says. On top of it comes what was learned about single
    tokens. That part stays in memory: on the disk it would tell which words were in chats that may be deleted by now.
    """

    def __init__(self, state: Mapping[str, object] | None = None) -> None:
        """Restore from what `state` returned; malformed entries are skipped."""
        self._buckets: dict[str, AcceptanceCounts] = {}
        # By (drafter, token): the counts, and the `odds_factor` that follows from them.
        self._tokens: dict[tuple[str, int], tuple[AcceptanceCounts, float]] = {}
        for key, value in (state or {}).items():
            if isinstance(value, (list, tuple)) and len(value) == 3 and all(is_count(x) for x in value):
                seen, right, foretold = (float(x) for x in value)
                if max(right, foretold) <= seen <= 1 / (1 - FADE) + 1:
                    self._buckets[key] = seen, right, foretold

    def state(self) -> dict[str, list[float]]:
        """Return the buckets for JSON, without single tokens."""
        return {key: [round(x, 3) for x in value] for key, value in self._buckets.items()}

    def rates(self, draft: Draft, weight: float = CONFIDENCE_WEIGHT) -> list[float]:
        """Return the probability of each token of the draft, given that the tokens before it are right."""
        rates, names = [], self._bucket_prefix(draft)
        shifts: list[float] = []
        for place, (confidence, token) in enumerate(zip(draft.confidence, draft.tokens, strict=True)):
            place_class = PLACES[min(place, LAST_PLACE)]
            if place_class == len(shifts):
                before = shifts[-1] if shifts else 1.0
                seen = self._buckets.get(f"{names}{place_class}")
                shifts.append(odds_factor(seen, weight) if seen else before)
            _, factor = self._tokens.get((draft.drafter, token), NOTHING_LEARNED)
            rates.append(scale_odds(confidence, shifts[place_class] * factor))
        return rates

    def seen(self, draft: Draft) -> float:
        """Return from how many drafts like this one was learned, the earlier ones faded."""
        return self._buckets.get(f"{self._bucket_prefix(draft)}0", NO_COUNTS)[0]

    def _bucket_prefix(self, draft: Draft) -> str:
        return f"{draft.drafter} {','.join(map(str, draft.evidence))} "

    def learn(self, draft: Draft, place: int, right: bool) -> None:
        """Record whether token `place` of the draft was right; all tokens before it were right."""
        confidence = draft.confidence[place]
        key = self._bucket_prefix(draft) + str(PLACES[min(place, LAST_PLACE)])
        self._buckets[key] = add_faded(self._buckets.get(key, NO_COUNTS), right, confidence)
        if draft.tokens[place] != ANY_TOKEN:
            self._learn_token((draft.drafter, draft.tokens[place]), right, confidence)

    def _learn_token(self, key: tuple[str, int], right: bool, confidence: float) -> None:
        # Popping the key moves it to the dict's end, so that the dict's first key is the one learned longest ago.
        before, _ = self._tokens.pop(key, NOTHING_LEARNED)
        counts = add_faded(before, right, confidence)
        self._tokens[key] = counts, odds_factor(counts, TOKEN_WEIGHT)
        if len(self._tokens) > MAX_LEARNED_TOKENS:
            del self._tokens[next(iter(self._tokens))]


def add_faded(before: AcceptanceCounts, right: bool, confidence: float) -> AcceptanceCounts:
    """Return the counts with one more token, the earlier ones faded."""
    seen, hits, foretold = before
    return seen * FADE + 1, hits * FADE + right, foretold * FADE + confidence


def odds_factor(counts: AcceptanceCounts, weight: float) -> float:
    """Return the factor that corrects the odds of a confidence, which itself weighs `weight` tokens."""
    seen, right, foretold = counts
    mean = min(0.98, max(0.02, foretold / seen))
    posterior = (weight * mean + right) / (weight + seen)
    return odds(posterior) / odds(mean)


def odds(p: float) -> float:
    """Return the odds of a probability, which is limited to 0.001 … 0.999."""
    p = min(0.999, max(0.001, p))
    return p / (1 - p)


def scale_odds(p: float, factor: float) -> float:
    """Return probability `p` with its odds multiplied by `factor`."""
    return p * factor / (p * factor + 1 - p) if factor != 1 else p


def is_count(x: object) -> bool:
    """Return whether `x` is a finite number that is not negative."""
    return isinstance(x, (int, float)) and math.isfinite(x) and x >= 0
