"""Ranks passages for a question: BM25 over the word indexes, nearness of vectors, and both fused by reciprocal rank."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.collections.embedding import CODE_BYTES, WordVectors, nearest
from app.collections.index import fact, is_below
from app.collections.words import WIDE_WORD, indexed_words, question_words

# BM25 (Robertson and Zaragoza 2009). The indexes say that a word is repeated, not how often: about REPEATED times.
K1, B = 1.2, 0.75
REPEATED = 2.5
MOST_POSTINGS = 60_000  # passages of a word that are read; a word that is in more tells hardly any apart
DEPTH = 100  # passages of each ranking that are fused
# Reciprocal rank fusion (Cormack et al. 2009) with the usual 60 loses to BM25 alone where one ranking is much better.
# These values were chosen by benchmarks/retrieval.py: vectors count half, and the first places count more.
RANK, VECTOR_WEIGHT = 10, 0.5
NEAR = 0.2  # least similarity of a passage that shares no word with the question; nonsense reaches 0.19
# A passage is left out unless its score is this share of the best one's, in one ranking: of ten passages, three are not
# read, and one question in 200 loses its answer (docs/notes/collections.md).
WORDS_SHARE, VECTORS_SHARE = 0.5, 0.7
# A collection says nothing about a question unless one of these is reached (`Ranking.is_about`; measured by
# benchmarks/retrieval.py). The unit of the first two is about the weight of a word that occurs in one passage only.
ONE_PASSAGE = 1.6  # BM25 of the best passage: it has more than one such word of the question
BEST_PASSAGES, SEVERAL = 5, 1.0  # mean BM25 of the best passages: a subject has more than one
MOST_OF_QUESTION = 0.7  # share of the question's words, by weight, in one passage
NEAR_ENOUGH = 0.45  # similarity of the nearest passage
# In scripts without blanks a question's words are pairs of characters. Pairs with a particle say nothing about its
# subject, and so many others are no words that a subject reaches a lower mean.
PARTICLES = frozenset("的了吗呢么吧")
SEVERAL_PAIRS = 0.86
KANA_OR_HANGUL = re.compile("[\u3040-\u30ff\uac00-\ud7af]")  # no limits were measured for Japanese and Korean
FEW = 10  # passages; in fewer, how rare a word is says nothing, and these decide instead:
FEW_WORDS = 2  # words of the question that one passage has; one suffices if the nearest passage is this near
FEW_NEAR = 0.14


@dataclass(frozen=True, slots=True)
class QuestionWord:
    """A word of the question, the rows of passages that have it, and its weight (inverse document frequency)."""

    text: str
    rows: NDArray[np.int64]
    weight: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage's number, its file, its place in the file, and its score."""

    file_id: int
    index: int
    score: float


class PassageTable:
    """The passages of the index as arrays, brought up to date before each question.

    `numbers` (n,) ascend; `files` (n,) are their files; `codes` is (n, CODE_BYTES).
    """

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._version = self._forgotten = self._last = -1
        self._clear()

    def _clear(self) -> None:
        self.numbers, self.files, self.firsts = (np.zeros(0, np.int32) for _ in range(3))
        self.lengths = np.zeros(0, np.uint16)
        self.codes = np.zeros((0, CODE_BYTES), np.uint8)
        self.paths: dict[int, str] = {}
        self._last = -1

    def update(self) -> None:
        """Read what has changed: the new passages, or all after files were forgotten."""
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return
        self._db.execute("BEGIN")  # what is counted is what is read
        try:
            forgotten = fact(self._db, "forgotten")
            if forgotten != self._forgotten:
                self._clear()
            self._read_new()
        finally:
            self._db.execute("COMMIT")
        self._version, self._forgotten = version, forgotten

    def _read_new(self) -> None:
        """Append the passages after the last one, file by file: a list of all would take the memory twice."""
        at = len(self.numbers)
        (new,) = self._db.execute("SELECT TOTAL(count) FROM passages WHERE first > ?", (self._last,)).fetchone()
        if not new:
            return
        for name in ("numbers", "files", "firsts", "lengths", "codes"):
            old = getattr(self, name)
            grown = np.empty((at + int(new), *old.shape[1:]), old.dtype)
            grown[:at] = old
            setattr(self, name, grown)
        rows = self._db.execute(
            """SELECT file_id, first, count, lengths, codes, path FROM passages JOIN files ON files.id = file_id
            WHERE first > ? ORDER BY first""",
            (self._last,),
        )
        for file_id, first, count, lengths, codes, path in rows:
            end = at + count
            self.numbers[at:end] = np.arange(first, first + count)
            self.files[at:end], self.firsts[at:end] = file_id, first
            self.lengths[at:end] = np.frombuffer(lengths, np.uint16)
            self.codes[at:end] = np.frombuffer(codes, np.uint8).reshape(-1, CODE_BYTES)
            self.paths[file_id] = path
            at, self._last = end, first + count - 1

    def inside(self, folders: Sequence[str]) -> NDArray[np.bool_]:
        """Return which passages are of files below the folders."""
        wanted = [file_id for file_id, path in self.paths.items() if any(is_below(path, each) for each in folders)]
        return np.isin(self.files, wanted)


class Ranking:
    """A ranking of a table's passages for a question; `vectors` None ranks by words alone."""

    def __init__(self, db: sqlite3.Connection, table: PassageTable, vectors: WordVectors | None) -> None:
        self._db, self._table, self._vectors = db, table, vectors

    def best(self, question: str, folders: Sequence[str], count: int = DEPTH) -> list[Ranked]:
        """Return the best passages below the folders, the best first; empty if nothing matches the question."""
        self._table.update()
        return self.described(self.found(question, self._table.inside(folders), count))

    def found(self, question: str, inside: NDArray[np.bool_], count: int = DEPTH) -> list[tuple[int, float]]:
        """Return (row, score) of the passages that may answer the question, the best first."""
        words = self._question_words(question)
        by_words, by_vectors = self._scored(words, inside), self.by_vectors(question, inside)
        if KANA_OR_HANGUL.search(question) or self.is_about(words, inside, by_vectors):
            return fused(by_words, by_vectors, count)
        return []

    def is_about(
        self,
        words: Sequence[QuestionWord],
        inside: NDArray[np.bool_],
        by_vectors: Sequence[tuple[int, float]],
    ) -> bool:
        """Return whether the passages are about the question's subject, not only share a word with it by chance."""
        pairs = any(WIDE_WORD.search(word.text) for word in words)
        words = [word for word in words if not PARTICLES & set(word.text)]
        by_words, total = self._scored(words, inside), len(self._table.numbers)
        nearest_passage = by_vectors[0][1] if by_vectors else 0.0
        if nearest_passage >= (NEAR if total < FEW else NEAR_ENOUGH):
            return True
        if not by_words:
            return False
        if total < FEW:
            if pairs or self._vectors is None:  # pairs of characters are rarely shared by chance
                return True
            enough = min(FEW_WORDS, len(words))
            return nearest_passage >= FEW_NEAR or self._most_shared(words, inside, lambda _: 1.0) >= enough
        unit = math.log(1 + total)
        several = sum(score for _, score in by_words[:BEST_PASSAGES]) / BEST_PASSAGES
        if by_words[0][1] >= ONE_PASSAGE * unit or several >= (SEVERAL_PAIRS if pairs else SEVERAL) * unit:
            return True
        rare = _rare(words)
        whole = sum(word.weight for word in rare)
        return self._most_shared(rare, inside, lambda word: word.weight) >= MOST_OF_QUESTION * whole

    def _most_shared(
        self, words: Sequence[QuestionWord], inside: NDArray[np.bool_], weight: Callable[[QuestionWord], float]
    ) -> float:
        """Return the largest total weight of question words that one passage has."""
        shared = np.zeros(len(inside), np.float32)
        for word in words:
            shared[word.rows] += weight(word)
        return float(shared[inside].max())

    def described(self, rows: Sequence[tuple[int, float]]) -> list[Ranked]:
        table = self._table
        return [
            Ranked(int(table.files[row]), int(table.numbers[row] - table.firsts[row]), score) for row, score in rows
        ]

    def by_words(self, question: str, inside: NDArray[np.bool_], count: int = DEPTH) -> list[tuple[int, float]]:
        """Return (row, BM25) of the passages that share words with the question, the best first."""
        return self._scored(self._question_words(question), inside, count)

    def _question_words(self, question: str) -> list[QuestionWord]:
        total, words = len(self._table.numbers), []
        for word in question_words(question) if total else ():
            rows = self._rows("words", word)
            words.append(QuestionWord(word, rows, _weight(total, len(rows))))
        return words

    def _scored(
        self, words: Sequence[QuestionWord], inside: NDArray[np.bool_], count: int = DEPTH
    ) -> list[tuple[int, float]]:
        table = self._table
        total = len(table.numbers)
        occurring = [word for word in words if len(word.rows)]
        if not occurring:
            return []
        lengths = table.lengths.astype(np.float32) / max(1.0, float(table.lengths.mean()))
        damping = K1 * (1 - B + B * lengths)
        scores = np.zeros(total, np.float32)
        for word in _rare(occurring):
            often = self._rows("repeated", word.text)
            scores[word.rows] += word.weight * (K1 + 1) / (1 + damping[word.rows])
            more = REPEATED * (K1 + 1) / (REPEATED + damping[often]) - (K1 + 1) / (1 + damping[often])
            scores[often] += word.weight * more
        scores[~inside] = 0
        return _best(scores, count)

    def by_vectors(self, question: str, inside: NDArray[np.bool_], count: int = DEPTH) -> list[tuple[int, float]]:
        """Return (row, similarity) of the passages whose vectors are nearest to the question's, the nearest first."""
        vector = self._vectors.vector(indexed_words(question)) if self._vectors is not None else None
        if vector is None or not inside.any():
            return []
        if inside.all():
            return nearest(self._table.codes, vector, count)
        (rows,) = np.nonzero(inside)
        return [(int(rows[at]), similarity) for at, similarity in nearest(self._table.codes[rows], vector, count)]

    def _rows(self, index: str, word: str) -> NDArray[np.int64]:
        """Return the rows of up to MOST_POSTINGS passages that have a word."""
        cursor = self._db.execute(
            f"SELECT rowid FROM {index} WHERE {index} MATCH ? LIMIT {MOST_POSTINGS}", (f'"{word}"',)
        )
        numbers = np.fromiter((number for (number,) in cursor), np.int32)
        rows = np.searchsorted(self._table.numbers, numbers)
        rows = np.minimum(rows, len(self._table.numbers) - 1)
        known = self._table.numbers[rows] == numbers  # others were added or forgotten since the table was read
        return np.asarray(rows[known], np.int64)


def fused(
    by_words: Sequence[tuple[int, float]], by_vectors: Sequence[tuple[int, float]], count: int
) -> list[tuple[int, float]]:
    """Fuse two rankings, each the best first, by reciprocal rank, and leave out what is far from the best in both.

    Passages that share no word with the question must be near to it.
    """
    scores = {row: 1 / (RANK + place) for place, (row, _) in enumerate(by_words, 1)}
    near = {row for row, score in by_words if score >= WORDS_SHARE * by_words[0][1]}
    for place, (row, similarity) in enumerate(by_vectors, 1):
        if row in scores or similarity >= NEAR:
            scores[row] = scores.get(row, 0.0) + VECTOR_WEIGHT / (RANK + place)
            if similarity >= VECTORS_SHARE * by_vectors[0][1]:
                near.add(row)
    return sorted(((row, scores[row]) for row in near), key=lambda each: (-each[1], each[0]))[:count]


def _weight(total: int, having: int) -> float:
    """Return the weight of a word that `having` of `total` passages have."""
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def _rare(words: Sequence[QuestionWord]) -> Sequence[QuestionWord]:
    """Return the words that tell passages apart; all if none does."""
    return [word for word in words if len(word.rows) < MOST_POSTINGS] or words


def _best(scores: NDArray[np.float32], count: int) -> list[tuple[int, float]]:
    (rows,) = np.nonzero(scores)
    if len(rows) > count:
        rows = rows[np.argpartition(-scores[rows], count)[:count]]
    order = np.lexsort((rows, -scores[rows]))
    return [(int(rows[at]), float(scores[rows[at]])) for at in order]
