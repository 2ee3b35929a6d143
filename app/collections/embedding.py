"""Static embedding of passages: signs of summed word vectors, which are made of the default model's token embeddings.

No network runs: a passage costs one look-up a word. The sum of a passage's word vectors, weighted so that rare words
count most (SIF: Arora et al. 2017, "A simple but tough-to-beat baseline for sentence embeddings"), is kept as the signs
of its 512 principal components: 64 bytes, in which 64 components of 8 bits would find far less
(docs/notes/collections.md).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from common.files import replacing
from models.header import read_header
from models.token_list import read_token_list
from models.token_vectors import read_token_vectors

COMPONENTS = 512
CODE_BYTES = COMPONENTS // 8
NO_CODE = bytes(CODE_BYTES)  # of a passage without known words
PIECE = re.compile(r"[A-Za-z0-9]+")
WORD_MARK = "\u0120"  # how tokenizers of GPT-2's kind write the blank before a word
SIF = 1e-3
FREQUENT = 10  # rank in Zipf's law that the first token of a vocabulary has, since tokens are numbered by frequency
MOST_REPEATED = 3  # a word that stands more often in a passage counts as often as this
MOST_COMPOSED = 30_000  # words in pieces whose vectors are remembered: 15 MB
NOTHING = -1
NEAREST = 2_000  # candidates by Hamming distance that are compared exactly
AT_ONCE = 65_536  # codes that are compared at once: 4 MiB
SAMPLED = 4
HARMONIC = 10.8  # sum of 1 / rank over a vocabulary
FULL = 700  # makes the largest component of a unit vector a full int8
COMMON_LENGTH = 0.3  # of the part that the unit vectors of all passages share
Matrix = NDArray[np.float32]


class WordVectors(dict[str, int]):
    """Vectors of words: a dictionary from words to rows of a table (rows, COMPONENTS), which grows by words in pieces.

    Row NOTHING is the vector of words in no known letters.
    """

    def __init__(self, starts: Mapping[str, int], rest: Mapping[str, int], table: NDArray[np.int8], mean: Matrix):
        """Keep rows of `table` by the pieces that begin words, and by those inside of words.

        `mean` (COMPONENTS,) is what passages have in common, and is subtracted from them.
        """
        super().__init__()
        self._starts, self._rest, self._mean, self._known = starts, rest, mean, len(table)
        # Only pages of the table that are used take memory.
        self._table = np.zeros((self._known + MOST_COMPOSED + 1, COMPONENTS), np.int8)
        self._table[: self._known] = table
        self._weights = SIF / (SIF + _probabilities(len(self._table)))
        self._weights[self._known :] = 1
        self._weights[-1] = 0
        self._next = self._known

    def code(self, words: Mapping[str, int]) -> bytes:
        """Return the signs of a passage's vector, from how often each of its words occurs; b"" without known words."""
        vector = self.vector(words)
        return b"" if vector is None else np.packbits(vector > 0).tobytes()

    def vector(self, words: Mapping[str, int]) -> Matrix | None:
        """Return the centred vector (COMPONENTS,) of a passage or question; None if it has no known words."""
        if self._next + len(words) >= len(self._table):
            self.clear()
            self._next = self._known
        rows = np.fromiter(map(self.__getitem__, words), np.int64, len(words))
        counts = np.fromiter(words.values(), np.float32, len(words))
        weights = self._weights.take(rows) * np.minimum(counts, MOST_REPEATED, out=counts)
        total = weights @ self._table.take(rows, axis=0).astype(np.float32)
        length = math.sqrt(total @ total)
        return total / length - self._mean if length else None

    def __missing__(self, word: str) -> int:
        """Find the row of a word that was not met before, or compose it of pieces."""
        rows = list(self._pieces(word)) if word.isascii() else []
        if len(rows) == 1:
            row = rows[0]
        elif rows:
            row, self._next = self._next, self._next + 1
            self._table[row] = np.rint(np.add.reduce(self._table[rows], dtype=np.int32) / len(rows))
        else:
            row = NOTHING
        self[word] = row
        return row

    def _pieces(self, word: str) -> Iterable[int]:
        """Yield the rows of the longest pieces that make up the word; letters that are no piece are left out."""
        begin, pieces = 0, self._starts
        while begin < len(word):
            for end in range(len(word), begin, -1):
                row = pieces.get(word[begin:end])
                if row is not None:
                    yield row
                    begin = end
                    break
            else:
                begin += 1
            pieces = self._rest

    def save(self, path: Path) -> None:
        """Write the table to a file that `load_vectors` reads. Raises OSError."""
        names = json.dumps([self._starts, self._rest]).encode()
        with replacing(path) as file:
            np.save(file, np.frombuffer(names, np.uint8))
            np.save(file, self._mean)
            np.save(file, self._table[: self._known])


def load_vectors(path: Path) -> WordVectors:
    """Read the table that `WordVectors.save` has written. Raises OSError or ValueError."""
    with path.open("rb") as file:
        starts, rest = json.loads(np.load(file).tobytes())
        mean, table = np.load(file), np.load(file)
    if table.ndim != 2 or table.shape[1] != COMPONENTS or mean.shape != (COMPONENTS,) or table.dtype != np.int8:
        raise ValueError("a table of another version")
    return WordVectors(starts, rest, table, mean)


def make_vectors(model: Path) -> WordVectors:
    """Make the table from the token embeddings of a model with a tokenizer of GPT-2's kind. Raises Failure."""
    header = read_header(model)
    starts: dict[str, int] = {}
    rest: dict[str, int] = {}
    for number, token in enumerate(read_token_list(header).texts):
        text = token.decode("utf-8", "replace")
        pieces, text = (starts, text[1:]) if text.startswith(WORD_MARK) else (rest, text)
        if PIECE.fullmatch(text):
            pieces.setdefault(text.lower(), number)
    chosen = np.unique([*starts.values(), *rest.values()])  # rows in the order of frequency
    table = _principal(
        [rows[_inside(chosen, begin, len(rows))] for begin, rows in _with_first_rows(read_token_vectors(header))]
    )
    row_of = {int(number): row for row, number in enumerate(chosen)}
    mean = _common_part(table)
    return WordVectors(
        {piece: row_of[number] for piece, number in starts.items()},
        {piece: row_of[number] for piece, number in rest.items()},
        table,
        mean,
    )


def _probabilities(rows: int) -> Matrix:
    """Return how often each piece occurs, by Zipf's law."""
    return np.asarray(1 / ((np.arange(rows) + FREQUENT) * HARMONIC), np.float32)


def _with_first_rows(arrays: Iterable[Matrix]) -> Iterator[tuple[int, Matrix]]:
    """Yield each array with the number of rows before it."""
    begin = 0
    for rows in arrays:
        yield begin, rows
        begin += len(rows)


def _inside(chosen: NDArray[np.int64], begin: int, count: int) -> NDArray[np.int64]:
    first, end = np.searchsorted(chosen, (begin, begin + count))
    return chosen[first:end] - begin


def _principal(arrays: Sequence[Matrix]) -> NDArray[np.int8]:
    """Project the rows of all arrays onto their COMPONENTS principal components, and scale each to a full int8.

    The components are those of one row in SAMPLED, which are thousands.
    """
    count = sum(map(len, arrays))
    sample = np.concatenate([rows[::SAMPLED] for rows in arrays])
    mean = sample.mean(0)
    covariance = (sample - mean).T @ (sample - mean) / len(sample)
    axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :COMPONENTS].astype(np.float32)
    table = np.zeros((count, COMPONENTS), np.int8)
    at = 0
    for rows in arrays:
        projected = (rows - mean) @ axes
        lengths = np.maximum(np.linalg.norm(projected, axis=1, keepdims=True), 1e-9)
        table[at : at + len(rows), : axes.shape[1]] = np.clip(np.round(projected / lengths * FULL), -127, 127)
        at += len(rows)
    return table


def _common_part(table: NDArray[np.int8]) -> Matrix:
    """Return the expected vector of a passage, made of the words as often as they occur."""
    probability = _probabilities(len(table))
    total = (probability * SIF / (SIF + probability)) @ table.astype(np.float32)
    return np.asarray(total / np.linalg.norm(total) * COMMON_LENGTH, np.float32)


# --- nearest passages -------------------------------------------------------------------------------------------------


def nearest(codes: NDArray[np.uint8], vector: Matrix, count: int) -> list[tuple[int, float]]:
    """Return (row, similarity) of the `count` codes (passages, CODE_BYTES) nearest to `vector`, the nearest first.

    The similarity is between -1 and 1. Codes are first compared by their number of different bits with the signs of
    `vector`, which takes 10 ms for a million; the NEAREST of them then with `vector` itself.
    """
    if len(codes) > NEAREST:
        rows = np.argpartition(_different_bits(codes, np.packbits(vector > 0)), NEAREST)[:NEAREST]
    else:
        rows = np.arange(len(codes))
    signs = np.unpackbits(codes[rows], axis=1)
    total = float(np.abs(vector).sum()) or 1.0
    similarity = (2 * (signs.astype(np.float32) @ vector) - vector.sum()) / total
    best = np.argsort(-similarity, kind="stable")[:count]
    return [(int(rows[at]), float(similarity[at])) for at in best]


def _different_bits(codes: NDArray[np.uint8], code: NDArray[np.uint8]) -> NDArray[np.uint16]:
    words, word = codes.view(np.uint64), code.view(np.uint64)
    distance = np.zeros(len(codes), np.uint16)
    for begin in range(0, len(codes), AT_ONCE):
        piece = words[begin : begin + AT_ONCE]
        distance[begin : begin + AT_ONCE] = np.bitwise_count(piece ^ word).sum(axis=1, dtype=np.uint16)
    return distance
