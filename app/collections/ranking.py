"""Ranks passages for a question: BM25 over the word indexes, nearness of vectors, and both fused by reciprocal rank."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from app.collections.embedding import CODE_BYTES, WordVectors, nearest
from app.collections.index import fact, is_below
from app.collections.words import indexed_words, question_words

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
        inside = self._table.inside(folders)
        return self.described(fused(self.by_words(question, inside), self.by_vectors(question, inside), count))

    def described(self, rows: Sequence[tuple[int, float]]) -> list[Ranked]:
        table = self._table
        return [
            Ranked(int(table.files[row]), int(table.numbers[row] - table.firsts[row]), score) for row, score in rows
        ]

    def by_words(self, question: str, inside: NDArray[np.bool_], count: int = DEPTH) -> list[tuple[int, float]]:
        """Return (row, BM25) of the passages that share words with the question, the best first."""
        table = self._table
        total = len(table.numbers)
        if not total:
            return []
        lengths = table.lengths.astype(np.float32) / max(1.0, float(table.lengths.mean()))
        damping = K1 * (1 - B + B * lengths)
        scores = np.zeros(total, np.float32)
        occurring = [(word, rows) for word in question_words(question) if len(rows := self._rows("words", word))]
        rare = [each for each in occurring if len(each[1]) < MOST_POSTINGS] or occurring
        for word, rows in rare:
            weight = math.log(1 + (total - len(rows) + 0.5) / (len(rows) + 0.5))
            often = self._rows("repeated", word)
            gain = (K1 + 1) / (1 + damping[rows])
            scores[rows] += weight * gain
            more = REPEATED * (K1 + 1) / (REPEATED + damping[often]) - (K1 + 1) / (1 + damping[often])
            scores[often] += weight * more
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


def _best(scores: NDArray[np.float32], count: int) -> list[tuple[int, float]]:
    (rows,) = np.nonzero(scores)
    if len(rows) > count:
        rows = rows[np.argpartition(-scores[rows], count)[:count]]
    order = np.lexsort((rows, -scores[rows]))
    return [(int(rows[at]), float(scores[rows[at]])) for at in order]
