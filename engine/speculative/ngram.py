"""Phrase drafting: drafts what usually comes next in the language that is being written, whatever the chat is about.

Right for one token in six to ten of plain prose, so it pays only where a pass of a few tokens costs little more than a
pass of one. Knows no target, no costs and no texts; what is usual is in `engine.speculative.ngram_table`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from engine.speculative.draft import Draft, Evidence
from engine.speculative.ngram_table import UNKNOWN, Next, NgramTable

LONGEST = 6  # tokens of a draft
HOPELESS = 0.02  # a token that is reached less often is not worth being named
MEMORY = 0.85  # of a vote for a language, per vote: about the last 7 count
VOTERS = 64  # tokens of the prompt's end that say in which language the answer begins
DOUBT = 0.3  # what their votes count: it may be asked for a translation
HITS_MEMORY = 0.95  # of a hit among the last tokens, per token: about the last 20 count
START = 0.1  # the share of hits before an answer's first token

# What a chance in the texts says of an answer: logistic regressions, fitted to the tuning half of the recorded answers
# by `python -m benchmarks.fit_phrases`. For one token known and for two: bias, weights of the log odds of the chance,
# and of the share of hits.
WEIGHTS = {
    1: (0.20, 0.57, 0.53),
    2: (-1.41, 0.73, 0.07),
}


class StaticNgram:
    """See `engine.speculative.draft.Drafter`."""

    name = "phrases"
    cost = 0.0

    def __init__(self, table: NgramTable) -> None:
        self.table = table
        self._begin_answer()

    def _begin_answer(self) -> None:
        self._before = self._last = 0
        self._hits = START
        self._language = UNKNOWN
        self._votes: dict[int, float] = {}

    @property
    def hits(self) -> float:
        """The share of tokens that were foreseen of late."""
        return self._hits

    def begin(self, tokens: Sequence[int]) -> None:
        self._begin_answer()
        for token in tokens[-VOTERS:]:
            self._vote(token)
            self._before, self._last = self._last, token
        self._votes = {language: votes * DOUBT for language, votes in self._votes.items()}

    def extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            expected = self.next()
            hit = expected is not None and expected.token == token
            self._hits = HITS_MEMORY * self._hits + (1 - HITS_MEMORY) * hit
            self._vote(token)
            self._before, self._last = self._last, token

    def _vote(self, token: int) -> None:
        language = self.table.language(token)
        if language == UNKNOWN:
            return
        self._votes = {other: votes * MEMORY for other, votes in self._votes.items()}
        self._votes[language] = self._votes.get(language, 0) + 1
        self._language = max(self._votes, key=self._votes.__getitem__)

    def next(self) -> Next | None:
        """What usually comes after the last tokens."""
        return self.table.after(self._language, self._before, self._last)

    def propose(self, limit: int) -> list[Draft]:
        started = time.perf_counter()
        before, last, reach = self._before, self._last, 1.0
        tokens: list[int] = []
        confidence: list[float] = []
        known = 0
        while len(tokens) < min(limit, LONGEST) and (expected := self.table.after(self._language, before, last)):
            chance = prior(expected, self._hits)
            reach *= chance
            if reach < HOPELESS:
                break
            known = known or expected.known
            tokens.append(expected.token)
            confidence.append(chance)
            before, last = last, expected.token
        if not tokens:
            return []
        evidence = bucket(known, confidence[0], self._hits)
        return [Draft(tuple(tokens), self.name, evidence, tuple(confidence), time.perf_counter() - started)]


def prior(expected: Next, hits: float) -> float:
    """The probability that it comes, before anything is learned."""
    bias, of_chance, of_hits = WEIGHTS[expected.known]
    logit = bias + of_chance * log_odds(expected.chance) + of_hits * log_odds(hits)
    return 1 / (1 + math.exp(-logit))


def log_odds(chance: float) -> float:
    bounded = min(0.98, max(0.02, chance))
    return math.log(bounded / (1 - bounded))


def bucket(known: int, chance: float, hits: float) -> Evidence:
    """Drafts with equal ones are learned about together: tokens known, class of the first one's chance, recent hits."""
    return known, sum(chance >= limit for limit in (0.1, 0.2, 0.4)), sum(hits >= limit for limit in (0.05, 0.15))
