"""Static n-grams: draft what usually comes next in the language that is being written, whatever the chat is about.

This is retrieval-based speculation (REST, arXiv:2311.08252) from counts of the last two tokens in ordinary text. A
draft token is right in one of six to ten cases in plain prose, so this pays only where a pass of a few tokens costs
little more than a pass of one. `engine.speculative.ngram_counting` makes the counts. An entry takes 13 bytes and is
found in 2 to 3 µs.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Sequence

import msgspec

from common.store import Store
from engine.speculative.draft import Draft

CHANCE_STEPS = 255  # chances are stored in steps of 1 / 255
ANY = 0  # in a key, stands for all tokens before the last one
TOKEN_BITS = 24
MAX_VOCABULARY = (1 << TOKEN_BITS) - 1  # tokens; one number is left for ANY
UNKNOWN = 255  # the language of tokens that are typical of none

MAX_DRAFT = 6  # tokens of a draft
HOPELESS = 0.02  # drafts end at tokens that are less likely to be reached
VOTE_DECAY = 0.85  # factor on earlier votes for a language per new vote, so that about the last 7 count
VOTERS = 64  # tokens of the prompt's end that vote for the language in which the answer begins
MAX_CONFIDENCE = 0.98  # upper limit, because the counted texts are not the answer
PROMPT_VOTE_WEIGHT = 0.3  # factor on the prompt's votes, because it may ask for a translation


class Arrays(msgspec.Struct, frozen=True):
    """The arrays of an `NgramTable`, as bytes in little-endian order.

    For each entry: `keys` in ascending order (8 bytes each), the `tokens` that follow (4 bytes), and their `chances` (1
    byte, in steps of 1 / CHANCE_STEPS). A key has 24 bits for the last token, 24 bits for the token before it plus 1
    (`ANY` stands for all tokens), and the language's number in the bits above. `languages`: for each token of the
    vocabulary the number of its typical language, or UNKNOWN (1 byte).
    """

    keys: bytes
    tokens: bytes
    chances: bytes
    languages: bytes

    def __post_init__(self) -> None:
        if not len(self.keys) == 2 * len(self.tokens) == 8 * len(self.chances):
            raise ValueError("arrays of different lengths")


class NgramTable:
    """A model's n-gram entries, and the language that each token of its vocabulary is typical of."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self._keys = memoryview(arrays.keys).cast("q")  # gives Python's numbers, faster than numpy does
        self._tokens = memoryview(arrays.tokens).cast("I")

    @property
    def bytes(self) -> int:
        """Bytes of the table in memory."""
        return sum(map(len, msgspec.structs.astuple(self.arrays)))

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self._keys)

    def language(self, token: int) -> int:
        """Return the number of the language that a token is typical of, or UNKNOWN."""
        return self.arrays.languages[token] if token < len(self.arrays.languages) else UNKNOWN

    def next_token(self, language: int, before: int, last: int) -> tuple[int, float] | None:
        """Return the likeliest token behind `before` and `last` with its chance in the counted text.

        An entry for both tokens goes before one for `last` alone; None if there is neither.
        """
        for other in (before + 1, ANY):
            key = language << 2 * TOKEN_BITS | other << TOKEN_BITS | last
            at = bisect_left(self._keys, key)
            if at < len(self._keys) and self._keys[at] == key:
                return self._tokens[at], self.arrays.chances[at] / CHANCE_STEPS
        return None


class StaticNgram:
    """A `Drafter` of what usually comes next in the language that is being written."""

    name = "phrases"  # the value of `--draft` and the name in statistics: an interface, so it stays
    cost = 0.0

    def __init__(self, table: NgramTable) -> None:
        self.table = table
        self.begin(())

    def begin(self, tokens: Sequence[int]) -> None:
        """Start an answer after a prompt, whose last tokens decide which language is drafted first."""
        self._before = self._last = 0
        self._language = UNKNOWN
        self._votes: dict[int, float] = {}
        self.extend(tokens[-VOTERS:])
        self._votes = {language: votes * PROMPT_VOTE_WEIGHT for language, votes in self._votes.items()}

    def extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self._vote(token)
            self._before, self._last = self._last, token

    def _vote(self, token: int) -> None:
        language = self.table.language(token)
        if language == UNKNOWN:
            return
        self._votes = {other: votes * VOTE_DECAY for other, votes in self._votes.items()}
        self._votes[language] = self._votes.get(language, 0) + 1
        self._language = max(self._votes, key=self._votes.__getitem__)

    def propose(self, limit: int) -> list[Draft]:
        """Return the usual continuation, at most `limit` tokens, as far as it is likely enough to be reached."""
        started = time.perf_counter()
        before, last, reach = self._before, self._last, 1.0
        tokens: list[int] = []
        confidence: list[float] = []
        while len(tokens) < min(limit, MAX_DRAFT) and (expected := self.table.next_token(self._language, before, last)):
            token, chance = expected[0], min(MAX_CONFIDENCE, expected[1])
            reach *= chance
            if reach < HOPELESS:
                break
            tokens.append(token)
            confidence.append(chance)
            before, last = last, token
        if not tokens:
            return []
        return [Draft(tuple(tokens), self.name, (), tuple(confidence), time.perf_counter() - started)]


# The store's name on disk is "phrases". The version also covers the counted texts and the way of counting. One model's
# table takes 5 to 6 MB.
NGRAM_STORE = Store("phrases", 2, Arrays, binary=True, most_entries=8, most_bytes=64 << 20)


def load_ngram_table(model: str) -> NgramTable | None:
    """Load the table of the model with this identity (`models.identity`); None if none is stored or it is damaged."""
    arrays = NGRAM_STORE.get(model)
    return NgramTable(arrays) if arrays else None


def store_ngram_table(model: str, table: NgramTable) -> None:
    """Store a model's table; the store drops the oldest one when it is full. Raises OSError."""
    NGRAM_STORE.put(table.arrays, model)
