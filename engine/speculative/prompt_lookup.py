"""Prompt lookup: draft what followed the last tokens when they occurred before, in this chat or in one before it.

The method is Saxena's Prompt Lookup Decoding (2023); its published form is in `engine.speculative.published`. This form
searches the longest match among hashed suffixes, prefers to continue where a copy is under way or was left, and
estimates how likely each token is (`engine.speculative.prompt_lookup_prior`). It also looks into what left the chat:
when a question is changed or answered again, the new answer repeats much of the old one.
"""

from __future__ import annotations

import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from engine.speculative.draft import Draft, Evidence
from engine.speculative.prompt_lookup_prior import LookupEvidence, TokenRecords, acceptance_prior
from engine.tokenization.tokens import common_prefix

MAX_OCCURRENCES = 8  # earlier occurrences that are compared
NEAR_TOKENS = 60  # a copy is likely to continue within this many tokens of where it was left
NEAR_BONUS = 4
SHORTEST_COPY = 3  # expected tokens in a row from which on the place where the copy ended is remembered
LEVELS = (1, 2, 4, 8)  # lengths of the hashed suffixes
MAX_MATCH = 32  # longer matches are no better evidence
FIRST_SLOTS = 1 << 10

IN_CHAT: Evidence = ()
IN_PAST: Evidence = (1,)
PAST_TOKENS = 4096  # of what left the chat, at least as many are kept, and at most twice as many (59 bytes each)
MOST_OF_CHAT = 2048  # tokens that are kept of one chat, the last ones
# Known tokens from which on an occurrence in the past counts, before and after something was copied from there.
FIRST_IN_PAST, SHORTEST_IN_PAST = 8, 2
BREAK = -(1 << 40)  # stands between two chats; no token, nor a part of a picture, has this number


@dataclass(frozen=True, slots=True)
class Match:
    """An earlier occurrence of the last tokens.

    `length` tokens before `position` equal the chat's last ones, so the token at `position` is expected next. `near`:
    the position continues a copy, or lies close to where one was left.
    """

    position: int
    length: int
    near: bool


class PromptLookup:
    """A `Drafter` that copies what followed an earlier occurrence of the last tokens."""

    name = "history"  # the value of `--draft` and the name in statistics: an interface, so it stays
    cost = 0.0

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Drop all tokens, of this chat and of earlier ones, because the user deleted a chat."""
        self._chat, self._past = Suffixes(), Suffixes()
        self.begin(())

    def begin(self, tokens: Sequence[int]) -> None:
        """Start an answer after a prompt; the common prefix with the last chat stays indexed, the rest is past."""
        kept = common_prefix(self._chat.tokens, list(tokens))
        self._add_to_past(self._chat.tokens[kept:])
        self._chat.keep_first(kept)
        self._chat.extend(tokens[kept:])
        self._answer_at = len(self._chat.tokens)
        self._copies = Copies(self._chat)
        self._past_copies = Copies(self._past, FIRST_IN_PAST, SHORTEST_IN_PAST)

    def _add_to_past(self, tokens: Sequence[int]) -> None:
        if not tokens:
            return
        if len(self._past.tokens) > 2 * PAST_TOKENS - MOST_OF_CHAT:
            newest, self._past = self._past.tokens[-PAST_TOKENS:], Suffixes()
            self._past.extend(newest)
        self._past.extend((*tokens[-MOST_OF_CHAT:], BREAK))

    @property
    def tokens(self) -> Sequence[int]:
        """All tokens of the chat."""
        return self._chat.tokens

    def extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._copies.record(token, self._chat.tokens)
            self._past_copies.record(token, self._chat.tokens)
            self._chat.extend((token,))

    def matches(self) -> list[Match]:
        """Return the last tokens' earlier occurrences in the chat, most promising first."""
        return self._copies.matches(self._chat.tokens)

    def propose(self, limit: int) -> list[Draft]:
        """Return what followed the most promising occurrences, at most `limit` tokens, as far as it is likely enough.

        That of the chat is one draft, that of earlier chats another one.
        """
        started = time.perf_counter()
        found = ((self.best_evidence(limit), IN_CHAT), (self._past_evidence(limit), IN_PAST))
        drafts = []
        for evidence, where in found:
            if evidence is None:
                continue
            confidence = acceptance_prior(evidence)
            tokens = tuple(evidence.tokens[: len(confidence)])
            drafts.append(Draft(tokens, self.name, where, confidence, time.perf_counter() - started))
            started = time.perf_counter()
        return drafts

    def best_evidence(self, limit: int) -> LookupEvidence | None:
        """Return the chat's most promising draft of `limit` tokens with its evidence; None without an occurrence."""
        return self._copies.best_evidence(self._chat.tokens, limit, self._answer_at)

    def _past_evidence(self, limit: int) -> LookupEvidence | None:
        # As in an answer, a longer match is no better: another question about the same text may end in the same words.
        return self._past_copies.best_evidence(self._chat.tokens, limit, prompt_end=0)


class Copies:
    """State of what an answer copies from a text: where the copy is or was left, and which expected tokens came.

    `first`, `shortest`: known tokens from which on an occurrence counts, before and after something was copied. `chat`
    in the methods: the tokens whose end is searched in the text; the chat itself may be the text.
    """

    def __init__(self, text: Suffixes, first: int = 1, shortest: int = 1) -> None:
        self._text, self._first, self._shortest = text, first, shortest
        self._expected_position: int | None = None  # the next token is expected to equal the one here
        self._left_position: int | None = None  # where the answer last departed from what it copied
        self._run_length = 0  # expected tokens in a row
        self._records = TokenRecords()
        self._matches: list[Match] | None = None  # cache of `matches`, valid until the next token

    def record(self, token: int, chat: Sequence[int]) -> None:
        """Record whether `token` was expected behind the chat, and where a copy is or was left."""
        matches, self._matches = self.matches(chat), None
        position = matches[0].position if matches else None
        if position is not None:
            expected = self._text.tokens[position]
            self._records.add(expected, expected == token)
            if expected == token:
                self._run_length, self._expected_position = self._run_length + 1, position + 1
                return
        if self._run_length >= SHORTEST_COPY:
            self._left_position = position
        self._run_length, self._expected_position = 0, None

    def matches(self, chat: Sequence[int]) -> list[Match]:
        """Return earlier occurrences of the chat's last tokens, most promising first."""
        if self._matches is None:
            copied = self._expected_position is not None or self._left_position is not None
            known = self._shortest if copied else self._first
            lengths = self._text.occurrences(MAX_OCCURRENCES, chat, known)
            matches = [Match(p, length, self._is_near(p)) for p, length in lengths.items()]
            self._matches = sorted(matches, key=self._rank, reverse=True)
        return self._matches

    def _is_near(self, position: int) -> bool:
        if self._expected_position is not None:
            return position == self._expected_position
        return self._left_position is not None and -2 <= position - self._left_position <= NEAR_TOKENS

    def _rank(self, match: Match) -> tuple[int, int, int]:
        """Return a sort key: a near match counts as a longer one; then the nearest goes first, then the most recent."""
        distance = abs(match.position - self._left_position) if match.near and self._left_position is not None else 0
        return match.length + NEAR_BONUS * match.near, -distance, match.position

    def best_evidence(self, chat: Sequence[int], limit: int, prompt_end: int) -> LookupEvidence | None:
        """Return the most promising draft of `limit` tokens with its evidence; None if nothing occurred before.

        `prompt_end`: matches before this position of the text count as those in a prompt.
        """
        if limit < 1 or not self.matches(chat):
            return None
        best, *others = self.matches(chat)
        line = self._text.continuation(best.position, limit)
        if not line:
            return None
        rivals: dict[int, int] = {}
        for other in others:
            agreed = common_prefix(line, self._text.continuation(other.position, limit))
            rivals[agreed] = max(rivals.get(agreed, 0), other.length)
        return LookupEvidence(line, best.length, best.position < prompt_end, rivals, self._records.records)


class Suffixes:
    """A token list with an index of its suffixes. Positions count tokens: the match at p ends before tokens[p].

    Earlier positions with the same hash form chains, as in zlib's deflate; every hit is verified, so that a shared slot
    costs time only. Appending and dropping a token takes constant time. Measured on 32,768 tokens of chats: 59 bytes
    per token (four links of 4 bytes, four slots of 4 to 8, the list), 38 to 55 ms to build. A suffix automaton of
    Python dictionaries takes 439 bytes and 33 ms, and can neither find the most recent occurrences nor drop tokens.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self._links = [array("i") for _ in LEVELS]  # index p - 1: the position before p with the same hash, or 0
        self._resize(FIRST_SLOTS)

    def _resize(self, slots: int) -> None:
        self._mask = slots - 1
        tokens, self.tokens = self.tokens, []
        self._slots = [array("i", bytes(4 * slots)) for _ in LEVELS]
        for links in self._links:
            del links[:]
        self._append(tokens)

    def extend(self, tokens: Sequence[int]) -> None:
        """Append `tokens` and index their suffixes."""
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

    def keep_first(self, size: int) -> None:
        """Keep the first `size` tokens; drop the others from the list and the index."""
        own, mask = self.tokens, self._mask
        for level, slots, links in zip(LEVELS, self._slots, self._links, strict=True):
            for p in range(len(own), max(size, level - 1), -1):
                slots[hash(tuple(own[p - level : p])) & mask] = links[p - 1]
            del links[size:]
        del own[size:]

    def occurrences(self, limit: int, chat: Sequence[int] | None = None, shortest: int = 1) -> dict[int, int]:
        """Return positions that follow the same tokens as the end of `chat`, each with its match length.

        `chat` is this list by default; its own end is left out. Matches count at most MAX_MATCH tokens, and from
        `shortest` on. Longer hashed suffixes are searched first, and at most 4 `limit` links of each are followed, so
        that no text makes a step slow. So matches of 8 and more tokens, of 4 to 7, of 2 to 3 and of 1 are tried in this
        order until `limit` are found; among equals the most recent ones are found first.
        """
        lengths: dict[int, int] = {}
        chat = self.tokens if chat is None else chat
        end = list(chat[-MAX_MATCH:])
        for level, slots, links in zip(reversed(LEVELS), reversed(self._slots), reversed(self._links), strict=True):
            if level < shortest or level > len(end):
                continue
            own = chat is self.tokens
            p = links[len(chat) - 1] if own else slots[hash(tuple(end[-level:])) & self._mask]
            left = 4 * limit
            while p and left and len(lengths) < limit:
                if p not in lengths and (length := self._match_length(p, end)) >= level:
                    lengths[p] = length
                p = links[p - 1]
                left -= 1
        return lengths

    def _match_length(self, position: int, end: Sequence[int]) -> int:
        """Return how many tokens before `position` equal the last ones of `end`."""
        own = self.tokens
        most = min(len(end), position)
        length = 0
        while length < most and own[position - 1 - length] == end[-1 - length]:
            length += 1
        return length

    def continuation(self, position: int, count: int) -> tuple[int, ...]:
        """Return `count` tokens from `position` on, fewer at a BREAK.

        Beyond the list's end the copy goes on with itself, as a period.
        """
        tokens = self.tokens[position : position + count]
        if BREAK in tokens:
            return tuple(tokens[: tokens.index(BREAK)])
        period = len(self.tokens) - position
        while len(tokens) < count:
            tokens.append(tokens[len(tokens) - period])
        return tuple(tokens)
