"""The texts that heads are ranked on are long enough, and the prices are found on others."""

from __future__ import annotations

from engine.runtime.graph.ranker import LENGTH, tokens_of


def test_texts_of_the_default_size(model):
    ranked, rest = tokens_of(model.vocabulary, 8192)
    assert [len(text) for text in (*ranked, *rest)] == [LENGTH + 1] * 6
    for text in rest:
        assert all(text[64:128] != other[begin : begin + 64] for other in ranked for begin in range(LENGTH))


def test_shorter_ones(model):
    ranked, rest = tokens_of(model.vocabulary, 1024)
    assert [len(text) for text in (*ranked, *rest)] == [513] * 4
    longer, _ = tokens_of(model.vocabulary, 8192)
    assert ranked == [longer[0][:513], longer[2][:513]]
