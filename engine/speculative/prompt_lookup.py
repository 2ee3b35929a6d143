"""Prompt lookup: drafts what followed the last tokens when they occurred before in this chat.

The method is Saxena's Prompt Lookup Decoding (2023); its published form here is in `engine.speculative.published`. This
form looks for the longest match among hashed suffixes, prefers to go on where a copy is under way or was left, and says
how likely each token is (`engine.speculative.prompt_lookup_prior`).
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from engine.speculative.draft import Draft
from engine.speculative.prompt_lookup_prior import Foreseen, Grounds, prior
from engine.tokenization.tokens import common_prefix

LOOK = 8  # occurrences that are compared
NEAR = 60  # tokens around the place where a copy was left in which it is likely to be taken up again
NEAR_BONUS = 4
SHORTEST_COPY = 3  # tokens foreseen one after the other, so that the place where that ended is remembered
LEVELS = (1, 2, 4, 8)  # suffix lengths that are hashed
MOST_MATCH = 32  # a longer match says no more
FIRST_SLOTS = 1 << 10


@dataclass(frozen=True, slots=True)
class Match:
    """An earlier occurrence: what follows is at `position`, `length` tokens before it equal the last ones."""

    position: int
    length: int
    near: bool


class PromptLookup:
    """A `Drafter`."""

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
        self._foreseen = Foreseen()
        self._matches: list[Match] | None = None  # of the end of the list, once they were asked for

    @property
    def tokens(self) -> Sequence[int]:
        """All of the chat."""
        return self._suffixes.tokens

    def begin(self, tokens: Sequence[int]) -> None:
        """A prompt was read: what is common with the last chat stays indexed."""
        kept = common_prefix(self._suffixes.tokens, list(tokens))
        self._suffixes.forget_after(kept)
        self._suffixes.extend(tokens[kept:])
        self._begin_answer()

    def extend(self, tokens: Sequence[int]) -> None:
        """The target has chosen these tokens."""
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
        """What followed the most promising occurrence, at most `limit` tokens, as far as there is hope."""
        started = time.perf_counter()
        grounds = self.grounds(limit)
        if grounds is None:
            return []
        confidence = prior(grounds)
        tokens = tuple(grounds.tokens[: len(confidence)])
        return [Draft(tokens, self.name, (), confidence, time.perf_counter() - started)]

    def grounds(self, limit: int) -> Grounds | None:
        """The most promising draft of `limit` tokens and what speaks for it; None if nothing occurred before."""
        if limit < 1 or not self.matches():
            return None
        best, *others = self.matches()
        line = self._suffixes.continuation(best.position, limit)
        rivals: dict[int, int] = {}
        for other in others:
            agreed = common_prefix(line, self._suffixes.continuation(other.position, limit))
            rivals[agreed] = max(rivals.get(agreed, 0), other.length)
        in_prompt = best.position < self._answer_at
        return Grounds(line, best.length, in_prompt, rivals, self._foreseen.records)


class Suffixes:
    """A token list with an index of its suffixes. Positions count tokens: the match at p ends before tokens[p].

    Chains of earlier positions with the same hash as in zlib's deflate; every hit is verified, so that a shared slot
    costs time only. Appending and forgetting a token takes constant time. Measured on 32,768 tokens of chats: 59 bytes
    per token (four links of 4 bytes, four slots of 4 to 8, the list), 38 to 55 ms to build. A suffix automaton of
    Python dictionaries takes 439 bytes and 33 ms, and knows neither the most recent occurrences nor how to forget."""

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._links = [array("i") for _ in LEVELS]  # of position p at p - 1: the one before with this hash, or 0
        self._resize(FIRST_SLOTS)

    def _resize(self, slots: int) -> None:
        self._mask = slots - 1
        tokens, self.tokens = self.tokens, []
        self._slots = [array("i", bytes(4 * slots)) for _ in LEVELS]
        for links in self._links:
            del links[:]
        self._append(tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        """Append `tokens`."""
        if len(self.tokens) + len(tokens) > self._mask:
            self._resize(1 << (len(self.tokens) + len(tokens)).bit_length())
        self._append(tokens)

    def _append(self, tokens: Sequence[int]) -> None:
        own, mask = self.tokens, self._mask
        start = len(own)
        own.extend(tokens)
        for level, slots, links in zip(LEVELS, self._slots, self._links, strict=True):
            for p in range(start + 1, len(own) + 1):
                if p < level:
                    links.append(0)
                    continue
                slot = hash(tuple(own[p - level : p])) & mask
                links.append(slots[slot])
                slots[slot] = p

    def forget_after(self, size: int) -> None:
        """Keep the first `size` tokens."""
        own, mask = self.tokens, self._mask
        for level, slots, links in zip(LEVELS, self._slots, self._links, strict=True):
            for p in range(len(own), max(size, level - 1), -1):
                slots[hash(tuple(own[p - level : p])) & mask] = links[p - 1]
            del links[size:]
        del own[size:]

    def occurrences(self, look: int) -> dict[int, int]:
        """Earlier positions after the same tokens as the end's, and how many are the same (at most MOST_MATCH).

        Longer hashed suffixes are searched first, and at most 4 `look` links of each are followed, so that no text
        makes a step slow. So of matches of 8 tokens and more, of 4 to 7, of 2 to 3 and of 1, the first that exist are
        found; where there are more than `look` of them, the longest of the most recent ones."""
        found: dict[int, int] = {}
        size = len(self.tokens)
        for level, links in zip(reversed(LEVELS), reversed(self._links), strict=True):
            p = links[size - 1] if size >= level else 0
            left = 4 * look
            while p and left and len(found) < look:
                if p not in found and (length := self.matched(p)) >= level:
                    found[p] = length
                p = links[p - 1]
                left -= 1
        return found

    def matched(self, position: int) -> int:
        """How many tokens before `position` equal the last ones."""
        own, size = self.tokens, len(self.tokens)
        most = min(MOST_MATCH, position)
        length = 0
        while length < most and own[position - 1 - length] == own[size - 1 - length]:
            length += 1
        return length

    def continuation(self, position: int, count: int) -> tuple[int, ...]:
        """`count` tokens from `position` on; beyond the end what is copied goes on with what was copied (a period)."""
        tokens = self.tokens[position : position + count]
        period = len(self.tokens) - position
        while len(tokens) < count:
            tokens.append(tokens[len(tokens) - period])
        return tuple(tokens)
