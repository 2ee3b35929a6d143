"""A draft model beside the model, loaded by the same library."""

from __future__ import annotations

import shutil
import sys
from contextlib import closing

import pytest

from engine.costs.cost_model import CostModel, Timings
from engine.engine import Engine
from engine.protocol.requests import Load
from engine.runtime.ik.runtime import IkModel
from engine.speculative.policy import DraftPolicy
from tests.engine.asking import QUESTION, ask, assert_same_but_for_near_ties
from tests.engine.shallow import shallow_model


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Yield an engine with the shallow model and a copy of it as draft model."""
    copy = tmp_path_factory.mktemp("draft") / "copy.gguf"
    shutil.copyfile(shallow_model(), copy)  # a link would be the same file
    with closing(Engine()) as engine:
        request = Load(0, str(shallow_model()), n_ctx=1024, threads=1, draft_model=str(copy), backend="ik")
        assert engine.load(request).model.backend == "ik"
        yield engine


SLOW = [pytest.param(mode, marks=pytest.mark.slow) for mode in ("model-published", "auto")]


@pytest.mark.parametrize("mode", ["model", *SLOW])
def test_a_draft_model_changes_no_answer(pair, monkeypatch, mode):
    chat = pair._loaded()
    assert isinstance(chat.draft.target.model, IkModel)
    free = Timings({0: dict.fromkeys((1, 8, 24), 100.0)}, 0.0, 31, 200.0)
    monkeypatch.setattr(chat.cost_measurements, "cost_model", CostModel(free))
    monkeypatch.setattr(chat.sources, "policy", DraftPolicy())
    monkeypatch.setattr(type(chat.cost_measurements), "observe", lambda *_: None)
    _, plain = ask(pair, QUESTION, max_tokens=24, draft="off")
    _, drafted = ask(pair, QUESTION, max_tokens=24, draft=mode)
    assert drafted.statistics.accepted > 5
    assert_same_but_for_near_ties(pair, (QUESTION,), plain.tokens, drafted.tokens)
    assert "llama_cpp" not in sys.modules
