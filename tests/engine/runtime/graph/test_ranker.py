"""The texts for ranking heads are long enough, and prices are measured on other texts."""

from __future__ import annotations

from engine.runtime.graph.ranker import LENGTH, calibration_texts


def test_texts_of_the_default_size(model):
    ranked, rest = calibration_texts(model.vocabulary, 8192)
    assert [len(text) for text in (*ranked, *rest)] == [LENGTH + 1] * 6
    for text in rest:
        assert all(text[64:128] != other[begin : begin + 64] for other in ranked for begin in range(LENGTH))


def test_shorter_ones(model):
    ranked, rest = calibration_texts(model.vocabulary, 1024)
    assert [len(text) for text in (*ranked, *rest)] == [513] * 4
    longer, _ = calibration_texts(model.vocabulary, 8192)
    assert ranked == [longer[0][:513], longer[2][:513]]
