"""What collections find: hardly anything is lost by the floor that has them say that they say nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from app.collections.embedding import make_vectors
from benchmarks.retrieval import (
    LANGUAGES,
    Documents,
    contents_of,
    measure,
    measure_few,
    questions,
    share_without,
    unanswered,
)
from models.default import default_model


@pytest.mark.parametrize("source", LANGUAGES.values(), ids=LANGUAGES)
def test_unrelated_questions_find_nothing_and_others_lose_nothing(tmp_path: Path, source: Path) -> None:
    vectors = make_vectors(default_model())
    with contextlib.closing(Documents(tmp_path, contents_of(source), vectors)) as documents:
        asked = questions(source)
        missed = measure(documents, asked)
        nothing = share_without(documents, unanswered(source))
    assert nothing["found"] >= 0.9
    assert len(missed["found"]) - len(missed["fused"]) <= 0.01 * len(asked)


@pytest.mark.parametrize("source", LANGUAGES.values(), ids=LANGUAGES)
def test_collections_of_a_few_passages_find_nothing_either(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.retrieval.TRIALS", 30)
    shares = measure_few(source, make_vectors(default_model()))
    assert shares["nothing"] >= 0.9
    assert shares["recall@5"] >= 0.95
