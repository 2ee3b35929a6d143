"""History lookup, improved form: drafts what followed the last tokens when they occurred before in this chat.

Knows no target and no costs. It looks for the longest match among the hashed suffixes (`engine.draft.suffixes`),
prefers to go on where a copy is under way or was left, and says how good the evidence is.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from engine.draft.drafter import Candidate, Evidence
from engine.draft.history_prior import prior
from engine.draft.suffixes import Suffixes
from engine.tokens import common_prefix

LOOK = 12  # occurrences that are compared
MOST_CANDIDATES = 3
NEAR = 24  # tokens around the place where a copy was left in which it is likely to be taken up again
NEAR_BONUS = 4
MEMORY = 0.88  # of a hit among the last tokens, per token: about the last 8 count
POOL_MATCH = 3  # occurrences with a match of so many tokens have a say, or with the longest one if that is shorter
START = 0.5  # the share of hits before an answer's first token


@dataclass(frozen=True, slots=True)
class Match:
    """An earlier occurrence: what follows is at `position`, `length` tokens before it equal the last ones."""

    position: int
    length: int
    near: bool


class History:
    """Improved form of history lookup; see `engine.draft.drafter.Drafter`."""

    name = "history"
    cost = 0.0

    def __init__(self) -> None:
        self._suffixes = Suffixes()
        self._begin_answer()

    def _begin_answer(self) -> None:
        self._followed: int | None = None  # the position whose token is expected next
        self._left: int | None = None  # where the last copy was left
        self._run = 0  # tokens that came as expected, one after the other
        self._hits = START  # share of tokens that came as expected, lately
        self._matches: list[Match] | None = None  # of the end of the list, once they were asked for

    @property
    def tokens(self) -> Sequence[int]:
        return self._suffixes.tokens

    def begin(self, tokens: Sequence[int]) -> None:
        kept = common_prefix(self._suffixes.tokens, list(tokens))
        self._suffixes.forget_after(kept)
        self._suffixes.extend(tokens[kept:])
        self._begin_answer()

    def extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._follow(token)
            self._suffixes.extend((token,))
            self._matches = None

    def _follow(self, token: int) -> None:
        """Was `token` expected? Keeps the score of that and where a copy is or was left."""
        expected = self.matches()
        self._followed = expected[0].position if expected else None
        hit = self._followed is not None and self._suffixes.tokens[self._followed] == token
        self._hits = MEMORY * self._hits + (1 - MEMORY) * hit
        if hit:
            assert self._followed is not None
            self._run += 1
            self._followed += 1
        else:
            if self._run >= POOL_MATCH:
                self._left = self._followed
            self._run, self._followed = 0, None

    def matches(self) -> list[Match]:
        """Earlier occurrences of the last tokens, the most promising first."""
        if self._matches is None:
            found = self._suffixes.occurrences(LOOK)
            matches = [Match(p, length, self._is_near(p)) for p, length in found.items()]
            self._matches = sorted(matches, key=self._promise, reverse=True)
        return self._matches

    def _is_near(self, position: int) -> bool:
        if self._followed is not None:
            return position == self._followed
        return self._left is not None and -2 <= position - self._left <= NEAR

    def _promise(self, match: Match) -> tuple[int, int, int]:
        """A near match counts as a longer one; the nearest of them goes first, else the most recent."""
        distance = abs(match.position - self._left) if match.near and self._left is not None else 0
        return match.length + NEAR_BONUS * match.near, -distance, match.position

    def propose(self, limit: int) -> list[Candidate]:
        if limit < 1:
            return []
        started = time.perf_counter()
        tokens, chosen = self._suffixes.tokens, list[Match]()
        for match in self.matches():
            if tokens[match.position] not in {tokens[other.position] for other in chosen}:
                chosen.append(match)
            if len(chosen) == MOST_CANDIDATES:
                break
        drafts = [
            (self._suffixes.continuation(match.position, limit), *self._evidence(match, limit)) for match in chosen
        ]
        cost = (time.perf_counter() - started) / max(1, len(drafts))
        return [Candidate(draft, self.name, evidence, confidence, cost) for draft, evidence, confidence in drafts]

    def _evidence(self, match: Match, limit: int) -> tuple[Evidence, tuple[float, ...]]:
        """The bucket (match length, agreement, is it where a copy is or was, recent hits), and the prior confidence."""
        agreement, hits = self._agreement(match), hits_class(self._hits)
        bucket = length_class(match.length), agreement, int(match.near), hits
        return bucket, prior(match.length, agreement, match.near, hits, limit)

    def _agreement(self, match: Match) -> int:
        """0: no other occurrence has a say, 1: all others agree on the next token, 2: at least half, 3: fewer."""
        tokens, least = self._suffixes.tokens, min(POOL_MATCH, self.matches()[0].length)
        pool = [other for other in self.matches() if other.length >= least and other is not match]
        agreeing = sum(tokens[other.position] == tokens[match.position] for other in pool)
        if not pool:
            return 0
        return 1 if agreeing == len(pool) else 2 if 2 * agreeing >= len(pool) else 3


def length_class(length: int) -> int:
    """0 to 4: matches of 1, of 2 and 3, up to 7, up to 15, longer."""
    return min(length.bit_length() - 1, 4)


def hits_class(share: float) -> int:
    """0 to 4: how often the next token was foreseen of late."""
    return sum(share >= limit for limit in (0.2, 0.45, 0.7, 0.9))
