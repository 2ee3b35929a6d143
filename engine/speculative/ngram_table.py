"""Which token most often follows one or two others in ordinary text of a language, and how often. Counts nothing.

Made by `engine.speculative.ngram_counts`. An entry takes 13 bytes; finding one takes 2 to 3 microseconds.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

STEPS = 255  # a chance is kept in so many
ANY = 0  # in place of the token before the last one
TOKEN_BITS = 24
MOST_TOKENS = (1 << TOKEN_BITS) - 1  # a vocabulary may have
UNKNOWN = 255  # of a token that no language has more often than others

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
        entries = self.entries
        return entries.keys.nbytes + entries.tokens.nbytes + entries.chances.nbytes + self.languages.nbytes

    def language(self, token: int) -> int:
        return self._languages[token] if token < len(self._languages) else UNKNOWN

    def after(self, language: int, before: int, last: int) -> Next | None:
        """What follows the tokens `before` and `last`; None if nothing is known of that."""
        for known, other in ((2, before + 1), (1, ANY)):
            key = language << 2 * TOKEN_BITS | other << TOKEN_BITS | last
            at = bisect_left(self._keys, key)
            if at < len(self._keys) and self._keys[at] == key:
                return Next(self._tokens[at], self._chances[at] / STEPS, known)
        return None
