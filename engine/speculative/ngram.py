"""Static n-grams: drafts what usually comes next in the language that is being written, whatever the chat is about.

As in retrieval-based speculation (REST, arXiv:2311.08252), but from counts of the last two tokens in ordinary text.
Right for one token in six to ten of plain prose, so it pays only where a pass of a few tokens costs little more than a
pass of one. The counts are made by `engine.speculative.ngram_book`; an entry takes 13 bytes and is found in 2 to 3 µs.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from common.store import Store
from engine.speculative.draft import Draft

STEPS = 255  # a chance is kept in so many
ANY = 0  # in place of the token before the last one
TOKEN_BITS = 24
MOST_TOKENS = (1 << TOKEN_BITS) - 1  # a vocabulary may have
UNKNOWN = 255  # of a token that no language has more often than others

LONGEST = 6  # tokens of a draft
HOPELESS = 0.02  # a token that is reached less often is not worth being named
MEMORY = 0.85  # of a vote for a language, per vote: about the last 7 count
VOTERS = 64  # tokens of the prompt's end that say in which language the answer begins
SUREST = 0.98  # the texts are not the answer
DOUBT = 0.3  # what their votes count: it may be asked for a translation

Keys = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Next:
    """`chance` of `token` in the text that was counted; `known`: how many of the last tokens that rests on."""

    token: int
    chance: float
    known: int


@dataclass(frozen=True, slots=True)
class Entries:
    """Arrays of one length: `keys` in ascending order, what follows, and its chance in `STEPS`.

    A key has 24 bits for the last token, 24 for the one before plus 1 (`ANY`: whatever that was), the rest for the
    language's number."""

    keys: Keys
    tokens: NDArray[np.uint32]
    chances: NDArray[np.uint8]


class NgramTable:
    """`languages`: for each token of the vocabulary the number of the language it is typical of, or `UNKNOWN`."""

    def __init__(self, entries: Entries, languages: NDArray[np.uint8]) -> None:
        self.entries = entries
        self.languages = languages
        self._keys = entries.keys.data  # gives Python's numbers, faster than numpy does
        self._tokens, self._chances = entries.tokens.data, entries.chances.data
        self._languages = languages.data

    @property
    def bytes(self) -> int:
        """That it takes in memory."""
        entries = self.entries
        return entries.keys.nbytes + entries.tokens.nbytes + entries.chances.nbytes + self.languages.nbytes

    def language(self, token: int) -> int:
        """The number of the language that a token is typical of, or UNKNOWN."""
        return self._languages[token] if token < len(self._languages) else UNKNOWN

    def after(self, language: int, before: int, last: int) -> Next | None:
        """What follows the tokens `before` and `last`; None if nothing is known of that."""
        for known, other in ((2, before + 1), (1, ANY)):
            key = language << 2 * TOKEN_BITS | other << TOKEN_BITS | last
            at = bisect_left(self._keys, key)
            if at < len(self._keys) and self._keys[at] == key:
                return Next(self._tokens[at], self._chances[at] / STEPS, known)
        return None


class StaticNgram:
    """A `Drafter`."""

    name = "phrases"
    cost = 0.0

    def __init__(self, table: NgramTable) -> None:
        self.table = table
        self._begin_answer()

    def _begin_answer(self) -> None:
        self._before = self._last = 0
        self._language = UNKNOWN
        self._votes: dict[int, float] = {}

    def begin(self, tokens: Sequence[int]) -> None:
        """A prompt was read: its end says in which language the answer begins."""
        self._begin_answer()
        for token in tokens[-VOTERS:]:
            self._vote(token)
            self._before, self._last = self._last, token
        self._votes = {language: votes * DOUBT for language, votes in self._votes.items()}

    def extend(self, tokens: Sequence[int]) -> None:
        """The target has chosen these tokens."""
        for token in tokens:
            self._vote(token)
            self._before, self._last = self._last, token

    def _vote(self, token: int) -> None:
        language = self.table.language(token)
        if language == UNKNOWN:
            return
        self._votes = {other: votes * MEMORY for other, votes in self._votes.items()}
        self._votes[language] = self._votes.get(language, 0) + 1
        self._language = max(self._votes, key=self._votes.__getitem__)

    def propose(self, limit: int) -> list[Draft]:
        """What usually comes next, and after that, at most `limit` tokens, as long as there is hope."""
        started = time.perf_counter()
        before, last, reach = self._before, self._last, 1.0
        tokens: list[int] = []
        confidence: list[float] = []
        while len(tokens) < min(limit, LONGEST) and (expected := self.table.after(self._language, before, last)):
            chance = min(SUREST, expected.chance)
            reach *= chance
            if reach < HOPELESS:
                break
            tokens.append(expected.token)
            confidence.append(chance)
            before, last = last, expected.token
        if not tokens:
            return []
        return [Draft(tuple(tokens), self.name, (), tuple(confidence), time.perf_counter() - started)]


class Arrays(msgspec.Struct, frozen=True):
    """A `NgramTable` as bytes, lowest first: `keys` of 8 bytes each, `tokens` of 4, the others of 1."""

    keys: bytes
    tokens: bytes
    chances: bytes
    languages: bytes

    def __post_init__(self) -> None:
        if not len(self.keys) == 2 * len(self.tokens) == 8 * len(self.chances):
            raise ValueError("arrays of different lengths")


# The version is also of the texts and how they are counted. A model's takes 5 to 6 MB.
PHRASES = Store("phrases", 2, Arrays, binary=True, most_entries=8, most_bytes=64 << 20)


def kept_phrases(model: str) -> NgramTable | None:
    """Of the model of this identity (`models.identity`); None if none can be read."""
    found = PHRASES.get(model)
    if found is None:
        return None
    keys, tokens = np.frombuffer(found.keys, "<i8"), np.frombuffer(found.tokens, "<u4")
    entries = Entries(keys.astype(np.int64, copy=False), tokens.astype(np.uint32, copy=False), _bytes(found.chances))
    return NgramTable(entries, _bytes(found.languages))


def keep_phrases(model: str, table: NgramTable) -> None:
    """In place of the oldest, if there are too many. Raises OSError."""
    keys, tokens = table.entries.keys.astype("<i8"), table.entries.tokens.astype("<u4")
    chances, languages = table.entries.chances.tobytes(), table.languages.tobytes()
    PHRASES.put(Arrays(keys.tobytes(), tokens.tobytes(), chances, languages), model)


def _bytes(raw: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(raw, np.uint8)
