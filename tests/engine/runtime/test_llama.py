"""The engine with the real default model, on llama.cpp or on another library whose tests import these."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from itertools import product

import numpy as np
import pytest

from common.failures import Failure
from engine.engine import Engine
from engine.protocol.events import Prepared
from engine.protocol.requests import Load, Message, Prepare, Sampling
from engine.runtime.interface import prefill
from engine.stop import Stopped
from engine.tokenization.tokens import common_prefix
from engine.tokenization.turns import ChatTooLong
from models.default import default_model
from tests.engine.altered import F32, Value, write_altered
from tests.engine.asking import (
    GREEDY,
    QUESTION,
    ask,
    assert_same_but_for_near_ties,
    library,
    loaded_from,
    save_in_idle_time,
)
from tests.engine.shallow import shallow_model
from tests.engine.turns import assert_turns_read_little

LONG = Message(
    "user", "Birds: " + "tit, wren, robin, finch; " * 22
)  # some 260 tokens: a little more than the shortest chat that is saved


@pytest.fixture(scope="module")
def small(loaded) -> Iterator[Engine]:
    """Yield another engine with the same model and library, whose context is soon full."""
    with closing(Engine()) as engine:
        backend = loaded.status(0).model.backend
        info = engine.load(Load(0, str(shallow_model()), n_ctx=256, threads=1, backend=backend)).model
        assert (info.backend, info.n_ctx) == (backend, 256)
        yield engine


def test_greedy_is_deterministic(engine):
    first = ask(engine, QUESTION)
    engine.forget()
    assert ask(engine, QUESTION)[0] == first[0] != ""


def test_a_second_turn_reuses_the_first_ones_tokens(engine):
    text, first = ask(engine, QUESTION)
    follow_up = (QUESTION, Message("assistant", text), Message("user", "And one more."))
    _, second = ask(engine, *follow_up)
    cached = [*engine._loaded().template.tokens([QUESTION]), *first.tokens]
    again = engine._loaded().template.tokens(follow_up)  # other tokens may make the same text
    assert second.statistics.reused_tokens >= min(common_prefix(cached, again), len(cached) - 1)
    assert second.statistics.reused_tokens > first.statistics.prompt_tokens
    engine.forget()
    _, fresh = ask(engine, *follow_up)
    assert fresh.statistics.reused_tokens == 0
    assert_same_but_for_near_ties(engine, follow_up, second.tokens, fresh.tokens)


def test_editing_an_earlier_message_reuses_up_to_the_edit(engine):
    ask(engine, Message("system", "You are brief."), QUESTION)
    edited = Message("user", "Write one sentence about a large bird.")
    _, finished = ask(engine, Message("system", "You are brief."), edited)
    assert 10 < finished.statistics.reused_tokens < finished.statistics.prompt_tokens


def test_a_seed_gives_the_same_text(engine):
    warm = Sampling(temperature=1.0, seed=5)
    first, _ = ask(engine, QUESTION, sampling=warm)
    assert ask(engine, QUESTION, sampling=warm)[0] == first
    assert ask(engine, QUESTION, sampling=Sampling(temperature=1.0, seed=6))[0] != first


def test_repeat_penalty_changes_the_choice(engine):
    """A penalty below 1 favours words of the prompt.

    Which words the shallow model would repeat by itself, if any, depends on the kernels.
    """
    plain, _ = ask(engine, QUESTION)
    assert ask(engine, QUESTION, sampling=Sampling(temperature=0, repeat_penalty=0.5))[0] != plain


def test_stop_string(engine):
    text, _ = ask(engine, QUESTION)
    word = text.split()[2]
    shown, finished = ask(engine, QUESTION, stop=(word,))
    assert finished.statistics.stop_reason == "stop"
    assert word not in shown
    assert text.startswith(shown)


def test_prepare_makes_the_next_prompt_short(engine):
    history = (Message("system", "You are a bird. " * 20), QUESTION, Message("assistant", "Peep."))
    prepared = list(engine.prepare(Prepare(1, history)))[-1]
    assert isinstance(prepared, Prepared)
    assert prepared.prompt_tokens == prepared.cached_tokens
    _, finished = ask(engine, *history, Message("user", "Again?"), max_tokens=4)
    assert finished.statistics.reused_tokens >= prepared.cached_tokens - 1
    before = len(engine._loaded().session.tokens)
    list(engine.prepare(Prepare(2, history)))
    assert len(engine._loaded().session.tokens) == before


def test_a_chat_whose_next_question_will_be_refused_is_not_read(engine):
    chat = (Message("user", "word " * 3000), Message("assistant", "Yes."))
    engine.forget()
    with pytest.raises(Failure) as caught:
        list(engine.prepare(Prepare(1, chat)))
    assert caught.value.code == "prompt_too_long"
    assert engine.status(0).cached_tokens == 0


def test_how_much_is_too_much_is_said(engine):
    with pytest.raises(ChatTooLong, match=r"needs 30,0\d\d tokens"):
        ask(engine, Message("user", "word " * 30_000))


def test_prompt_longer_than_the_context_is_refused_with_both_counts(engine):
    with pytest.raises(Failure, match=r"needs [\d,]+ tokens, the context holds 1,024") as caught:
        ask(engine, Message("user", "word " * 3000))
    assert caught.value.code == "prompt_too_long"
    assert engine.status(0).cached_tokens == 0


def test_a_chat_that_is_too_long_offers_to_forget_turns(small):
    turn = (Message("user", "word " * 50), Message("assistant", "Yes."))
    chat = (Message("system", "Be brief."), *turn * 4, QUESTION)
    with pytest.raises(ChatTooLong) as caught:
        ask(small, *chat)
    forget = next(remedy for remedy in caught.value.remedies if remedy.kind == "forget_turns")
    assert forget.turns == 2
    _, finished = ask(small, *chat, forget_turns=forget.turns, max_tokens=4)
    assert finished.statistics.prompt_tokens <= 192
    larger = next(remedy for remedy in caught.value.remedies if remedy.kind == "larger_context")
    assert larger.n_ctx == 768


def test_where_memory_is_short_eight_bit_keys_and_values_are_offered(monkeypatch):
    engine = Engine()
    try:
        engine.load(Load(0, str(default_model()), n_ctx=1024, threads=1, memory_bytes=341 << 20, backend=library()))
        with pytest.raises(ChatTooLong) as caught:
            ask(engine, Message("user", "word " * 5500))
        (remedy,) = caught.value.remedies
        assert (remedy.kind, remedy.kv_type) == ("smaller_kv", "q8_0")
        assert "8-bit KV cache" in str(caught.value)
        request = Load(0, str(default_model()), remedy.n_ctx, 2, 371 << 20, remedy.kv_type, backend=library())
        loaded = engine.load(request)
        assert loaded.model.n_ctx == remedy.n_ctx > 5500
        assert ask(engine, QUESTION, max_tokens=4)[1].statistics.decode_tokens == 4
    finally:
        engine.close()


@pytest.mark.parametrize("messages", [(), (Message("user", " \n"),)])
def test_empty_prompt(engine, messages):
    with pytest.raises(Failure, match="empty"):
        ask(engine, *messages)


def test_a_full_context_ends_the_answer(small):
    long = Message("user", "Count: " + " ".join(map(str, range(75))))  # leaves room for a few tokens
    _, finished = ask(
        small, long, sampling=Sampling(temperature=1.5, top_k=0, top_p=1, min_p=0, seed=1), max_tokens=None
    )
    assert finished.statistics.stop_reason in ("context", "end")
    assert finished.statistics.context_tokens <= finished.statistics.n_ctx == 256


def test_stop_inside_a_pass_keeps_the_session_whole(engine):
    chat = engine._loaded()
    prompt = chat.template.tokens([Message("user", "one two three four five " * 110)])[:600]
    timer = threading.Timer(0.15, engine.stop.set)  # the first pass of 512 tokens takes far longer
    timer.start()
    with pytest.raises(Stopped):
        list(chat.session.prefill(prompt))
    timer.join()
    assert chat.session.tokens == prompt[: chat.target.size]
    assert chat.target.size < 512
    engine.stop.clear()
    stopped_before = ask(engine, QUESTION)[0]
    engine.forget()
    assert ask(engine, QUESTION)[0] == stopped_before


def test_growing_saving_and_restoring_change_no_answer(engine, tmp_path):
    chat = engine._loaded()
    plain, _ = ask(engine, QUESTION, max_tokens=12)
    engine.forget()
    ask(engine, QUESTION, max_tokens=6)
    chat.target.resize(2048)
    assert chat.target.n_ctx == 2048
    grown, finished = ask(engine, QUESTION, max_tokens=12)
    assert grown == plain
    assert finished.statistics.reused_tokens > 0
    tokens = list(chat.session.tokens)
    chat.target.save(tmp_path / "kv", tokens)
    engine.forget()
    assert chat.target.load(tmp_path / "kv") == tokens
    assert chat.target.size == len(tokens)
    chat.session.tokens = tokens
    assert ask(engine, QUESTION, max_tokens=12)[0] == plain
    engine.forget()
    chat.target.resize(1024)


def test_a_snapshot_is_restored(engine):
    chat = engine._loaded()
    plain, _ = ask(engine, QUESTION, max_tokens=12)
    engine.forget()
    _, finished = ask(engine, QUESTION, max_tokens=6)
    restore = chat.target.snapshot()
    chat.target.truncate(0)
    list(prefill(chat.target, [5] * 50))
    restore()
    again, finished = ask(engine, QUESTION, max_tokens=12)
    assert finished.statistics.reused_tokens > 0
    assert again == plain


def test_a_snapshot_that_nobody_restores_leaves_no_file(engine, tmp_path, monkeypatch):
    target = engine._loaded().target
    monkeypatch.setattr(target, "folder", tmp_path)
    ask(engine, QUESTION, max_tokens=2)
    restore = target.snapshot(most_in_ram=0)
    kept = len(list(tmp_path.iterdir()))
    del restore
    assert (kept, list(tmp_path.iterdir())) == (1, [])


def test_a_chat_resumes_after_a_restart(tmp_path, monkeypatch):
    """The restored content equals the saved one bit for bit, and the same pass gives the same logits.

    Whole answers may differ: if other passes read the rest of the prompt, another kernel rounds differently, which
    decides near-ties.
    """
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    rows = []
    for restarted in (False, True):
        with closing(Engine()) as engine:
            engine.load(Load(0, str(shallow_model()), n_ctx=2048, threads=1, backend=library()))
            chat = engine._loaded()
            if not restarted:
                _, finished = ask(engine, LONG, max_tokens=8, chat="c1")
                assert finished.statistics.reused_tokens == 0
                assert chat.target.n_ctx > finished.statistics.prompt_tokens  # the cache grew with the chat
                save_in_idle_time(engine)
                tokens = list(chat.session.tokens)
                chat.sources.lookup.begin(tokens)
                engine.forget_chat("c2")  # it may be among the tokens that drafts are copied from
                assert not chat.sources.lookup.tokens
            else:
                assert chat.target.n_ctx > len(tokens)  # as large as the chat from the start
                chat.chat_cache.open_chat("c1", tokens)
                assert chat.session.tokens == tokens
            chat.target.save(tmp_path / f"state {restarted}", tokens)
            rows.append(chat.target.forward([300]).row().copy())
            chat.target.truncate(len(tokens))
            _, finished = ask(engine, LONG, Message("assistant", "Peep."), QUESTION, max_tokens=4, chat="c1")
            assert finished.statistics.reused_tokens > 256
    assert (tmp_path / "state True").read_bytes() == (tmp_path / "state False").read_bytes()
    assert np.array_equal(rows[0], rows[1])
    engine.forget_chat("c1")
    assert list((tmp_path / "chats").iterdir()) == []


def test_a_chat_comes_back_when_the_user_switches_to_another_model_and_back(tmp_path, monkeypatch):
    """Each model has its own keys and values of the chat, saved when the other one is loaded."""
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    follow_up = (LONG, Message("assistant", "Peep."), QUESTION)
    read: list[int] = []
    with closing(Engine()) as engine:
        for model in (shallow_model(), default_model(), shallow_model(), default_model()):
            engine.load(Load(0, str(model), n_ctx=2048, threads=1, backend=library()))
            messages = follow_up if len(read) > 1 else (LONG,)
            _, finished = ask(engine, *messages, max_tokens=2, chat="c1")
            read.append(finished.statistics.prompt_tokens - finished.statistics.reused_tokens)
    assert min(read[:2]) > 256
    assert max(read[2:]) < 64


DAMAGES = (lambda raw: raw[: len(raw) // 2], lambda raw: raw[:999] + b"x" + raw[1000:])


def test_a_damaged_saved_chat_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    with closing(Engine()) as engine:
        engine.load(Load(0, str(shallow_model()), n_ctx=2048, threads=1, backend=library()))
        ask(engine, LONG, max_tokens=4, chat="c1")
        for damage in DAMAGES:
            save_in_idle_time(engine)
            (path,) = (tmp_path / "chats").glob("*.kv")
            path.write_bytes(damage(path.read_bytes()))
            engine.forget()
            _, finished = ask(engine, LONG, max_tokens=4, chat="c1")
            assert finished.statistics.reused_tokens == 0
            assert finished.statistics.stop_reason == "length"


@pytest.mark.parametrize("base", [0.0, float("nan")])
def test_a_damaged_model_that_computes_no_numbers_is_told(base, tmp_path, monkeypatch):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    path = write_altered(tmp_path / "model.gguf", {"llama.rope.freq_base": Value(base, F32)})
    with loaded_from(path, library()) as engine:
        for sampling, draft in product((GREEDY, Sampling(), Sampling(top_k=0)), ("off", "auto", "history-published")):
            with pytest.raises(Failure, match="The model computes no valid numbers"):
                ask(engine, QUESTION, sampling=sampling, draft=draft)


def test_two_chats_that_take_turns_read_only_what_is_new(engine):
    assert_turns_read_little(engine)
