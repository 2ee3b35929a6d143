"""PromptLookup lookup, improved form: drafts what followed the last tokens when they occurred before in this chat.

Knows no target and no costs. It looks for the longest match among the hashed suffixes (`engine.speculative.suffixes`),
prefers to go on where a copy is under way or was left, and says how good the evidence is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.speculative.draft import Draft, Evidence
from engine.speculative.foreseen import Foreseen
from engine.speculative.prompt_lookup_prior import Grounds, prior
from engine.speculative.suffixes import Suffixes
from engine.tokenization.tokens import common_prefix

LOOK = 8  # occurrences that are compared
MOST_CANDIDATES = 2
NEAR = 60  # tokens around the place where a copy was left in which it is likely to be taken up again
NEAR_BONUS = 4
MEMORY = 0.88  # of a hit among the last tokens, per token: about the last 8 count
SHORTEST_COPY = 3  # tokens foreseen one after the other, so that the place where that ended is remembered
STRONG = 4  # tokens of a match that may begin a long copy
MOST_OF_WEAK = 15  # tokens that are drafted where no match is strong
ASKED = 45  # tokens before the answer, with those of the template: most often they say what is to be done
START = 0.5  # the share of hits before an answer's first token


@dataclass(frozen=True, slots=True)
class Match:
    """An earlier occurrence: what follows is at `position`, `length` tokens before it equal the last ones."""

    position: int
    length: int
    near: bool


class PromptLookup:
    """Improved form of history lookup; see `engine.speculative.draft.Drafter`."""

    name = "history"
    cost = 0.0

    def __init__(self) -> None:
        self._suffixes = Suffixes()
        self._begin_answer()

    def _begin_answer(self) -> None:
        self._answer_at = len(self._suffixes.tokens)
        self._followed: int | None = None  # the position whose token is expected next
        self._left: int | None = None  # where the last copy was left
        self._run = 0  # tokens that came as expected, one after the other
        self._hits = START  # share of tokens that came as expected, lately
        self._foreseen = Foreseen()
        self._asked = frozenset(self._suffixes.tokens[-ASKED:])
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
        hit = False
        if self._followed is not None:
            hit = self._suffixes.tokens[self._followed] == token
            self._foreseen.add(self._suffixes.tokens[self._followed], hit)
        self._hits = MEMORY * self._hits + (1 - MEMORY) * hit
        if hit:
            assert self._followed is not None
            self._run += 1
            self._followed += 1
        else:
            if self._run >= SHORTEST_COPY:
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

    def propose(self, limit: int) -> list[Draft]:
        if limit < 1:
            return []
        started = time.perf_counter()
        drafts = [(line, bucket(grounds), prior(grounds)) for grounds, line in self.drafts(limit)]
        cost = (time.perf_counter() - started) / max(1, len(drafts))
        return [Draft(line[: len(p)], self.name, evidence, p, cost) for line, evidence, p in drafts]

    def drafts(self, limit: int) -> list[tuple[Grounds, tuple[int, ...]]]:
        """Drafts of `limit` tokens and what speaks for them, the most promising first."""
        if not any(match.near or match.length >= STRONG for match in self.matches()):
            limit = min(limit, MOST_OF_WEAK)
        lines = {match: self._suffixes.continuation(match.position, limit) for match in self.matches()}
        return [(self._grounds(match, lines, i > 0), lines[match]) for i, match in enumerate(self._chosen())]

    def _chosen(self) -> list[Match]:
        """The most promising occurrences, each with another next token."""
        chosen: dict[int, Match] = {}
        for match in self.matches():
            chosen.setdefault(self._suffixes.tokens[match.position], match)
        return list(chosen.values())[:MOST_CANDIDATES]

    def _grounds(self, match: Match, lines: Mapping[Match, tuple[int, ...]], second: bool) -> Grounds:
        line = lines[match]
        agreed = {other: common_prefix(line, lines[other]) for other in lines if other is not match}
        rivals: dict[int, int] = {}
        for other, common in agreed.items():
            rivals[common] = max(rivals.get(common, 0), other.length)
        return Grounds(
            line,
            match.length,
            match.near,
            match.position == self._followed,
            second,
            match.position < self._answer_at,
            self._run,
            self._hits,
            max(agreed.values(), default=0),
            rivals,
            self._foreseen.records,
            self._asked,
        )


def bucket(grounds: Grounds) -> Evidence:
    """Drafts with equal ones are learned about together: class of the match's length, agreement, recent hits."""
    agreement = 2 * (grounds.shared > 0) + (0 in grounds.rivals)
    return length_class(grounds.length), agreement, hits_class(grounds.hits)


def length_class(length: int) -> int:
    """0 to 4: matches of 1, of 2 and 3, up to 7, up to 15, longer."""
    return min(length.bit_length() - 1, 4)


def hits_class(share: float) -> int:
    """0 to 2: how often the next token was foreseen of late."""
    return sum(share >= limit for limit in (0.35, 0.75))
