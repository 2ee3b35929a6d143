"""Heads are ranked on texts that are long enough, and prices are measured on other texts; the ranking is used."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest

from benchmarks import rank_heads
from benchmarks.rank_heads import LENGTH, calibration_texts
from common.failures import Failure
from engine.loading.libraries import vocabulary
from engine.runtime.contexts import EXACT, ContextOptions, KVMode
from engine.runtime.graph import modes
from engine.runtime.graph.head_split import HeadSplitKV
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.modes import Ranking
from engine.runtime.graph.runtime import GraphRuntime
from engine.stop import StopFlag
from engine.tokenization.tokens import Vocabulary
from tests.engine.runtime.graph.tiny import write_tiny
from tests.engine.shallow import shallow_model

OPTIONS = ContextOptions(n_ctx=1024, threads=1, n_batch=512)
ALL = [(layer, head) for layer in range(2) for head in range(2)]
TOKENS = [int(token) for token in np.random.default_rng(3).integers(0, 40, 700)]


@pytest.fixture(scope="module", params=["llama", "qwen2"])
def small(request, tmp_path_factory) -> Iterator[GraphModel]:
    path = tmp_path_factory.mktemp("small") / "small.gguf"
    model = GraphModel(write_tiny(path, request.param, factors=request.param == "llama"))
    yield model
    model.close()


@pytest.fixture(scope="module")
def words() -> Iterator[Vocabulary]:
    with vocabulary(shallow_model(), "llama") as words:
        yield words


def test_texts_of_the_default_size(words):
    ranked, rest = calibration_texts(words, 8192)
    assert [len(text) for text in (*ranked, *rest)] == [LENGTH + 1] * 6
    for text in rest:
        assert all(text[64:128] != other[begin : begin + 64] for other in ranked for begin in range(LENGTH))


def test_shorter_ones(words):
    ranked, rest = calibration_texts(words, 1024)
    assert [len(text) for text in (*ranked, *rest)] == [513] * 4
    longer, _ = calibration_texts(words, 8192)
    assert ranked == [longer[0][:513], longer[2][:513]]


def test_heads_are_ranked_kept_and_used(small, tmp_path, monkeypatch):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    texts = [TOKENS[:320]]
    *parts, ranking = rank_heads.Ranker(small, "window", 1, StopFlag(), False).rank(texts, texts)
    done = [part for part in parts if isinstance(part, float)]
    assert done == sorted(done)
    assert isinstance(ranking, Ranking)
    assert sorted(ranking.heads) == ALL
    assert list(ranking.damage) == sorted(ranking.damage)
    assert [price.share for price in ranking.prices] == [0.1, 0.25, 0.5, 0.75]
    modes.store_ranking(ranking)
    mode = KVMode("window", 0.5)
    with closing(GraphRuntime(small, dataclasses.replace(OPTIONS, kv_mode=mode), StopFlag())) as target:
        assert isinstance(target.kv, HeadSplitKV)
        assert sorted(ranking.heads[:2]) == target.kv._compressed
    assert "Lossy: 50% of the heads" in str(modes.lossy_note(small, mode))
    assert modes.lossy_note(small, EXACT) is None
    with pytest.raises(Failure, match="rank_heads --kv merged"):
        modes.ranked_heads(small, KVMode("merged", 0.5))


def test_too_few_tokens_are_refused(capsys):
    with pytest.raises(SystemExit):
        rank_heads.main(["--tokens", "100"])
    assert "fewer than 512" in capsys.readouterr().err
