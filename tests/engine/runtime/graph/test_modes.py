"""The engine with the shallow model while half of its heads keep less than every token."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.failures import Failure
from engine.engine import Engine
from engine.protocol.events import Finished, Prepared, Pulse
from engine.protocol.requests import Generate, Load, Message, Prepare, Sampling
from engine.runtime.graph import modes
from engine.runtime.graph.head_split import HeadSplitKV
from engine.runtime.graph.modes import Price, Ranking
from engine.runtime.graph.runtime import GraphRuntime
from engine.stop import Stopped
from models.header import read_header
from models.identity import file_identity
from tests.engine.asking import GREEDY, QUESTION, ask
from tests.engine.shallow import LAYERS, shallow_model

KV_HEADS = 3
LONG = (Message("user", "Birds: " + "tit, wren, robin, finch; " * 22),)  # some 260 tokens: as few as are worth saving


def load(mode: str = "merged", share: float | None = 0.5) -> Engine:
    engine = Engine()
    path = str(shallow_model())
    engine.load(Load(0, path, n_ctx=1024, threads=1, backend="graph", kv_mode=mode, kv_share=share))  # type: ignore[arg-type]
    return engine


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Iterator[Path]:
    """Yield a cache folder with made-up rankings of the shallow model's heads, in the order of its layers."""
    folder = tmp_path_factory.mktemp("cache")
    header = read_header(shallow_model())
    identity = file_identity(header.path, header.data_offset)
    heads = tuple((layer, head) for head in range(KV_HEADS) for layer in range(len(LAYERS)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CHICKADEE_CACHE_DIR", str(folder))
        for mode in ("merged", "window"):
            prices = (Price(0.5, 1.25, 0.7),)
            modes.store_ranking(Ranking(identity, mode, 9, heads, (0.1,) * len(heads), prices))
        yield folder


@pytest.fixture(scope="module")
def loaded(cache) -> Iterator[Engine]:
    engine = load()
    yield engine
    engine.close()


@pytest.fixture
def has_read(loaded: Engine) -> Engine:
    """Return the engine with LONG and a few more tokens cached; it reads them unless the last test left them."""
    loaded.stop.clear()
    ask(loaded, *LONG, max_tokens=4)
    return loaded


def test_what_it_costs_and_takes_is_told(engine):
    info = engine._loaded().info
    assert any("Lossy: 50% of the heads" in str(note) and "× 1.250" in str(note) for note in info.notes)
    heads, entry = len(LAYERS) * KV_HEADS // 2, 2 * 64 * 2
    assert info.plan["kv"] == heads * entry * info.n_ctx
    assert 0 < info.plan["kv_compressed"] < info.plan["kv"]
    engine.watch(True)
    *_, finished = engine.generate(Generate(1, LONG, GREEDY, 8))
    pulse = engine.pulse()
    engine.watch(False)
    assert isinstance(finished, Finished)
    assert isinstance(pulse, Pulse)
    full, rest = pulse.head_groups
    assert (full.mode, full.heads, full.entries, full.capacity) == ("exact", heads, pulse.fixed, pulse.capacity)
    assert (rest.mode, rest.heads) == ("merged", heads)
    assert rest.entries < pulse.fixed / 2
    assert rest.entries <= rest.capacity
    for group in (full, rest):
        assert group.bytes == heads * entry * group.capacity


@pytest.mark.slow
def test_reading_ahead(engine):
    prepared = list(engine.prepare(Prepare(1, LONG)))[-1]
    assert isinstance(prepared, Prepared)
    _, finished = ask(engine, *LONG, max_tokens=4)
    assert finished.statistics.reused_tokens >= prepared.cached_tokens - 1 > 250


def test_drafts_and_uncached_tokens(has_read, monkeypatch):
    """The penalty below 1 makes the answer repeat the chat's words, so that drafts are right.

    Other answers of the shallow model make no sense and differ between kernels.
    """
    has_read._loaded().cost_measurements.cost_model = None
    again = Sampling(temperature=0, repeat_penalty=0.5)
    drafting: dict[str, Any] = {"draft": "history-published", "kv_policy": "published"}
    _, finished = ask(has_read, *LONG, sampling=again, max_tokens=24, **drafting)
    assert finished.statistics.drafted > 0  # how well, is luck
    assert finished.statistics.decode_tokens == len(finished.tokens) > 1


def test_what_is_saved_comes_back_bit_for_bit(has_read, cache, tmp_path):
    """An answer afterwards may differ at a near-tie, because the prompt's last token is read and merged again."""
    chat = has_read._loaded()
    chat.target.save(tmp_path / "kv", chat.session.tokens)
    with closing(load()) as other:
        target = other._loaded().target
        target.resize(chat.target.n_ctx)
        tokens = target.load(tmp_path / "kv")
        assert tokens == chat.session.tokens
        target.save(tmp_path / "again", tokens)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "kv").read_bytes()


@pytest.mark.slow
def test_a_saved_cache_of_another_mode_is_refused(has_read, cache, tmp_path):
    chat = has_read._loaded()
    chat.target.save(tmp_path / "kv", chat.session.tokens)
    with closing(load("exact", None)) as other:
        target = other._loaded().target
        with pytest.raises(Failure, match="does not match this model and its head compression"):
            target.load(tmp_path / "kv")
        assert target.size == 0


@pytest.mark.slow
def test_its_passes_are_timed(has_read, monkeypatch):
    monkeypatch.setattr("engine.costs.calibration.BUDGET", 0.5)
    monkeypatch.setattr("engine.costs.calibration.PATIENCE", 1)
    monkeypatch.setattr("engine.costs.calibration.KS", (1, 2, 4, 8, 16))
    chat = has_read._loaded()
    tokens = list(chat.session.tokens)
    for _ in chat.cost_measurements._calibrate(chat.target):
        pass
    assert chat.target.size == len(tokens)
    assert ask(has_read, *LONG, max_tokens=4)[1].statistics.reused_tokens > 0


@pytest.mark.slow
def test_an_edit_far_back_reads_the_chat_anew_and_one_at_its_end_does_not(has_read):
    text, first = ask(has_read, *LONG, max_tokens=16)
    follow_up = (*LONG, Message("assistant", text), QUESTION)
    _, second = ask(has_read, *follow_up, max_tokens=4)
    assert second.statistics.reused_tokens >= first.statistics.prompt_tokens
    _, edited = ask(has_read, Message("user", "Few birds" + LONG[0].content), max_tokens=4)
    assert edited.statistics.reused_tokens == 0


def test_saved_and_resumed_by_the_same_mode_only(cache):
    for mode, share, resumed in (("merged", 0.5, False), ("merged", 0.5, True), ("window", 0.5, False)):
        with closing(load(mode, share)) as engine:
            *_, finished = engine.generate(Generate(1, LONG, GREEDY, 8, chat="c1"))
            assert isinstance(finished, Finished)
            assert (finished.statistics.reused_tokens > 256) == resumed
            engine._loaded().chat_cache.save(1e9)


def test_stopped_within_a_pass(engine):
    chat = engine._loaded()
    prompt = chat.template.tokens([Message("user", "one two three four five " * 50)])[:260]  # two passes and a few
    timer = threading.Timer(0.1, engine.stop.set)
    timer.start()
    with pytest.raises(Stopped):
        list(chat.session.prefill(prompt))
    timer.join()
    engine.stop.clear()
    assert chat.session.tokens == prompt[: chat.target.size]
    assert isinstance(chat.target, GraphRuntime)
    assert isinstance(chat.target.kv, HeadSplitKV)
    list(chat.session.prefill(prompt))
    assert chat.session.logits
    stopped = chat.session.logits.row().copy()
    engine.forget()
    list(chat.session.prefill(prompt))
    # In other passes tokens are merged at other times.
    assert np.corrcoef(chat.session.logits.row(), stopped)[0, 1] > 0.99
