from __future__ import annotations

import math
import sqlite3
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.collections import ranking
from app.collections.embedding import WordVectors
from app.collections.index import fact, open_index
from app.collections.ranking import K1, NEAR, REPEATED, B, PassageTable, Ranking, fused
from tests.app.collections.conftest import index

SCORED = st.dictionaries(st.integers(0, 60), st.floats(0.01, 1), max_size=40).map(
    lambda scores: sorted(scores.items(), key=lambda each: -each[1])
)


@given(SCORED, SCORED, st.integers(1, 50))
def test_fused_rankings_keep_the_best_of_both_and_nothing_twice(
    by_words: list[tuple[int, float]], by_vectors: list[tuple[int, float]], count: int
) -> None:
    found = fused(by_words, by_vectors, count)
    rows = [row for row, _ in found]
    assert len(set(rows)) == len(rows) <= count
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    words, similar = dict(by_words), dict(by_vectors)
    assert all(row in words or similar[row] >= NEAR for row in rows)
    everything = {row for row, _ in fused(by_words, by_vectors, 1_000)}
    assert {row for row, _ in by_words[:1]} <= everything
    assert {row for row, score in by_vectors[:1] if score >= NEAR} <= everything
    if by_words and by_vectors and by_words[0][0] == by_vectors[0][0]:
        assert rows[0] == by_words[0][0]


@given(SCORED)
def test_without_vectors_the_order_is_that_of_the_words(by_words: list[tuple[int, float]]) -> None:
    rows = [row for row, _ in fused(by_words, [], 100)]
    assert rows == [row for row, _ in by_words][: len(rows)]


def write(texts: Path, contents: dict[str, str]) -> None:
    for name, text in contents.items():
        (texts / f"{name}.txt").write_text(text, encoding="utf-8")


TREES = st.sampled_from(["oak", "elm", "fir", "nut", "owl", "jay"])


@given(contents=st.lists(st.lists(TREES, min_size=1, max_size=30), min_size=1, max_size=8))
def test_scores_are_those_of_bm25_in_which_repeated_words_count_alike(
    contents: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A passage's words include the name of its file, here a number."""
    base = tmp_path_factory.mktemp("bm25")
    (texts := base / "texts").mkdir()
    write(texts, {str(number): " ".join(words) for number, words in enumerate(contents)})
    db = open_index(base, writes=True)
    index(db, texts)
    table = PassageTable(db)
    table.update()
    found = dict(Ranking(db, table, None).by_words("oak nut", table.inside([str(texts)])))
    docs = [Counter([str(number), *words]) for number, words in enumerate(contents)]
    average = sum(doc.total() for doc in docs) / len(docs)
    for number, doc in enumerate(docs):
        row = [Path(table.paths[int(file)]).stem for file in table.files].index(str(number))
        expected = 0.0
        for word in ("oak", "nut"):
            holding = sum(word in other for other in docs)
            often = REPEATED if doc[word] > 1 else doc[word]
            idf = math.log(1 + (len(docs) - holding + 0.5) / (holding + 0.5))
            expected += idf * often * (K1 + 1) / (often + K1 * (1 - B + B * doc.total() / average))
        assert found.get(row, 0.0) == pytest.approx(expected, rel=1e-4)
    db.close()


def test_the_table_follows_new_changed_and_forgotten_files(
    db: sqlite3.Connection, folder: Path, texts: Path, vectors: WordVectors
) -> None:
    reading = open_index(folder)
    table = PassageTable(reading)
    for contents in ({"a": "oak " * 900, "b": "elm"}, {"c": "fir"}, {"a": "jay"}):
        write(texts, contents)
        index(db, texts, vectors=vectors)
        table.update()
    (texts / "b.txt").unlink()
    index(db, texts, vectors=vectors)
    table.update()
    fresh = PassageTable(reading)
    fresh.update()
    for name in ("numbers", "files", "firsts", "lengths", "codes"):
        assert np.array_equal(getattr(table, name), getattr(fresh, name)), name
    assert sorted(Path(path).stem for path in table.paths.values()) == ["a", "c"]
    reading.close()


def test_only_the_chosen_folders_are_searched(db: sqlite3.Connection, texts: Path, vectors: WordVectors) -> None:
    for name in ("one", "one and a half"):
        (texts / name).mkdir()
        write(texts / name, {"a": "Jays bury acorns."})
    index(db, texts, vectors=vectors)
    table = PassageTable(db)
    found = Ranking(db, table, vectors).best("Who buries acorns?", [str(texts / "one")])
    assert [table.paths[each.file_id] for each in found] == [str(texts / "one" / "a.txt")]


def test_a_question_in_other_words_finds_by_vectors(db: sqlite3.Connection, texts: Path, vectors: WordVectors) -> None:
    write(
        texts, {"a": "The physician cured the sick child.", "b": "The ship crossed the ocean in a storm.", "c": "1 2 3"}
    )
    index(db, texts, vectors=vectors)
    table = PassageTable(db)
    best = Ranking(db, table, vectors).best("doctor healing patients", [str(texts)])
    assert table.paths[best[0].file_id].endswith("a.txt")


def test_nonsense_finds_nothing(db: sqlite3.Connection, texts: Path, vectors: WordVectors) -> None:
    write(texts, {"a": "The physician cured the sick child. " * 300})
    index(db, texts, vectors=vectors)
    for question in ("xyzzy plugh", "", "???", "the of and", "\x00"):
        assert Ranking(db, PassageTable(db), vectors).best(question, [str(texts)]) == []


def test_a_word_in_most_passages_is_read_only_in_part(
    db: sqlite3.Connection, texts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "MOST_POSTINGS", 3)
    write(texts, {str(number): "oak" + " elm" * (number == 4) for number in range(6)})
    index(db, texts)
    table = PassageTable(db)
    best = Ranking(db, table, None).best("oak elm", [str(texts)])
    assert [Path(table.paths[each.file_id]).stem for each in best] == ["4"]
    assert fact(db, "next") == 6
