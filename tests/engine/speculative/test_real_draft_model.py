"""The shallow model drafts for a copy of itself in the real engine."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Iterator

import pytest

from common.failures import Failure
from engine.engine import Engine
from engine.loading.library_choice import identity_of
from engine.protocol.requests import Load
from engine.speculative.drafters import STORE_AFTER_STEPS, DraftSources
from engine.speculative.policy import typical_draft
from engine.stop import Stopped
from tests.engine.asking import QUESTION, ask, assert_same_but_for_near_ties
from tests.engine.conftest import write_gguf
from tests.engine.shallow import shallow_model
from tests.engine.speculative.test_draft_model import Dear


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> Iterator[Engine]:
    copy = shutil.copy(shallow_model(), tmp_path_factory.mktemp("draft") / "copy.gguf")
    engine = Engine()
    engine.load(Load(0, str(shallow_model()), n_ctx=1024, threads=1, draft_model=str(copy), backend="llama"))
    chat = engine._loaded()
    chat.cost_measurements.cost_model = Dear()
    yield engine
    engine.close()


def test_the_draft_model_is_loaded_and_said_to_be_too_large(pair):
    info = pair.status(0).model
    assert "copy.gguf is no smaller than the model it drafts for" in str(info.notes[-1])
    assert sum(info.plan.values()) > 2 * sum(size for name, size in info.plan.items() if name.startswith("draft_"))


@pytest.fixture(scope="module")
def plain(pair):
    return ask(pair, QUESTION, draft="off")[1]


@pytest.mark.parametrize("mode", ["model", "model-published", "auto"])
def test_real_answers_equal_plain_ones(pair, plain, mode):
    pair.forget()
    _, drafted = ask(pair, QUESTION, draft=mode)
    assert_same_but_for_near_ties(pair, [QUESTION], plain.tokens, drafted.tokens)
    assert drafted.statistics.accepted > 0.4 * (len(plain.tokens) - 1)  # how many there are, the kernels tell
    assert mode == "auto" or drafted.statistics.accepted > 0.8 * drafted.statistics.drafted
    assert drafted.statistics.steps < 0.7 * plain.statistics.steps


def test_what_is_learned_of_drafts_is_kept_for_the_pair(pair):
    chat = pair._loaded()
    identity = identity_of(chat.plan.draft[0])

    def sources(of: str) -> DraftSources:
        return DraftSources(chat.cost_measurements, chat.sources.ngrams, chat.sources.exits, draft_identity=of)

    sources_of_pair = sources(identity)
    sources_of_pair.policy.acceptance.learn(typical_draft("model"), 0, True)
    sources_of_pair.store_learned()
    assert sources(identity).policy.state() != sources_of_pair.policy.state()  # a single step is not worth keeping
    sources_of_pair.policy.steps = STORE_AFTER_STEPS
    sources_of_pair.store_learned()
    assert sources(identity).policy.state() == sources_of_pair.policy.state()
    assert sources("").policy.state() != sources_of_pair.policy.state()


def test_idle_time_is_used_to_read_the_chat_where_drafts_can_pay(pair, monkeypatch):
    chat = pair._loaded()
    ask(pair, QUESTION, draft="off")
    monkeypatch.setattr(chat.cost_measurements, "measure", lambda _target: iter(()))
    monkeypatch.setattr(chat.sources.ngrams, "count", lambda _costs: iter(()))  # takes long: see test_ngram_counting
    follower = chat.draft.follower
    follower.session.clear()
    monkeypatch.setattr(chat.cost_measurements, "cost_model", None)
    pair.idle()
    assert follower.session.tokens == []
    monkeypatch.setattr(chat.cost_measurements, "cost_model", Dear())
    pair.idle()
    assert follower.session.tokens[: len(chat.session.tokens)] == chat.session.tokens


def test_the_flag_stops_the_draft_model_too_and_it_goes_on_rightly(pair):
    drafter = pair._loaded().draft
    follower, chat = drafter.follower, [100 + i % 200 for i in range(300)]
    drafter.begin([5])
    drafter.begin(chat)
    timer = threading.Timer(0.02, pair.stop.set)
    timer.start()
    with pytest.raises(Stopped):
        drafter.propose(4)
    timer.join()
    pair.stop.clear()
    assert follower.session.runtime.size == len(follower.session.tokens) < len(chat)
    assert follower.session.tokens == chat[: len(follower.session.tokens)]
    resumed = drafter.propose(4)[0].tokens
    follower.session.clear()
    drafter.begin(chat)
    assert drafter.propose(4)[0].tokens == resumed


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("target.gguf", "cannot draft for itself"),
        ("none.gguf", "There is no file"),
        ("other.gguf", "was not converted completely"),
    ],
)
def test_a_draft_model_that_cannot_draft_is_refused_and_nothing_is_unloaded(pair, tmp_path, name, words):
    if sys.platform == "win32":  # only an administrator may make links there
        path = shallow_model() if name == "target.gguf" else tmp_path / name
    else:
        path = tmp_path / name
        (tmp_path / "target.gguf").symlink_to(shallow_model())
    write_gguf(tmp_path / "other.gguf", "llama")
    before = pair.status(0).model
    with pytest.raises(Failure, match=words):
        pair.load(Load(0, str(shallow_model()), draft_model=str(path)))
    assert pair.status(0).model == before


def test_without_memory_for_both_the_model_is_loaded_alone(tmp_path):
    copy = shutil.copy(shallow_model(), tmp_path / "copy.gguf")
    engine = Engine()
    info = engine.load(Load(0, str(shallow_model()), memory_bytes=200 << 20, draft_model=str(copy))).model
    assert "The draft model copy.gguf was not loaded" in str(info.notes[-1])
    assert engine._loaded().draft is None
    engine._loaded().cost_measurements.cost_model = Dear()
    _, finished = ask(engine, QUESTION, max_tokens=8, draft="model")
    assert (finished.statistics.drafted, len(finished.tokens)) == (0, 8)
    engine.close()
