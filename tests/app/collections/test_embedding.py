from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.collections import embedding
from app.collections.embedding import CODE_BYTES, COMPONENTS, WordVectors, load_vectors, nearest
from app.collections.words import indexed_words


def similarity(vectors: WordVectors, one: str, other: str) -> float:
    a, b = (vectors.vector(indexed_words(text)) for text in (one, other))
    assert a is not None
    assert b is not None
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_words_of_like_meaning_are_nearer_than_others(vectors: WordVectors) -> None:
    for word, near, far in (("doctor", "physician", "harbour"), ("king", "queen", "spoon"), ("boat", "ship", "poem")):
        assert similarity(vectors, word, near) > similarity(vectors, word, far) + 0.1


def test_a_word_in_pieces_has_a_vector_and_letters_of_other_scripts_have_none(vectors: WordVectors) -> None:
    assert len(vectors.code(indexed_words("flibbertigibbets"))) == CODE_BYTES
    assert vectors.code(indexed_words("山雀吃种子")) == b""
    assert vectors.code({}) == b""


def test_a_full_memory_of_words_in_pieces_is_emptied(vectors: WordVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "MOST_COMPOSED", 5)
    small = WordVectors(vectors._starts, vectors._rest, vectors._table[: vectors._known], vectors._mean)
    for number in range(40):
        words = {f"zq{number}xv": 1, f"vx{number}qz": 1}
        assert small.code(words) == vectors.code(words)


def test_a_table_is_read_as_it_was_written(vectors: WordVectors, tmp_path: Path) -> None:
    vectors.save(tmp_path / "words.npy")
    words = indexed_words("Chickadees store sunflower seeds in flibbertigibbets")
    assert load_vectors(tmp_path / "words.npy").code(words) == vectors.code(words)
    for content in (b"", b"\x93NUMPY", (tmp_path / "words.npy").read_bytes()[:9_000]):
        (tmp_path / "bad.npy").write_bytes(content)
        with pytest.raises((ValueError, EOFError)):
            load_vectors(tmp_path / "bad.npy")


@given(st.integers(0, 2**32 - 1), st.integers(1, 300), st.integers(1, 20))
def test_the_nearest_codes_are_those_of_a_plain_comparison(seed: int, count: int, wanted: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 256, (count, CODE_BYTES), np.uint8)
    vector = rng.standard_normal(COMPONENTS).astype(np.float32)
    signs = np.unpackbits(codes, axis=1) * 2.0 - 1
    expected = signs @ vector / np.abs(vector).sum()
    found = nearest(codes, vector, wanted)
    assert len(found) == min(count, wanted)
    assert [score for _, score in found] == pytest.approx(sorted(expected, reverse=True)[:wanted], abs=1e-4)
    assert [expected[row] for row, _ in found] == pytest.approx([score for _, score in found], abs=1e-4)


def test_among_many_codes_the_nearest_are_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "NEAREST", 50)
    monkeypatch.setattr(embedding, "AT_ONCE", 64)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 256, (1_000, CODE_BYTES), np.uint8)
    vector = (np.unpackbits(codes[700]) * 2.0 - 1 + rng.standard_normal(COMPONENTS)).astype(np.float32)
    assert nearest(codes, vector, 3)[0][0] == 700
