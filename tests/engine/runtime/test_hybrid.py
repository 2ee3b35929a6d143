"""Models that keep one state for all tokens, stopped or failing at any moment.

Session, runtime and library must agree afterwards on the cached tokens, and the next answer must be that of a fresh
engine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cache
from typing import Any

import pytest

from common.failures import Failure
from engine.costs.profile import machine_profile
from engine.engine import Engine
from engine.protocol.events import WRITTEN, Finished, PrefillProgress, Prepared
from engine.protocol.requests import Generate, Load, Message, Prepare
from engine.runtime.capi.context import SEQUENCE
from engine.runtime.capi.library import AbortCallback
from engine.runtime.llama import runtime
from engine.runtime.llama.runtime import LlamaRuntime
from engine.stop import Stopped
from tests.engine.asking import GREEDY, QUESTION, ask
from tests.engine.runtime.hybrid import ARCHITECTURES, write_hybrid
from tests.engine.turns import assert_turns_read_little

LONG = Message("user", "Tell me of " + "tit, wren, robin, finch; " * 100)  # more than a pass
EDITED = Message("user", "Tell me of " + "tit, wren, robin, finch; " * 50 + "and of other birds.")

FreshAnswer = Callable[..., Sequence[int]]


class Countdown:
    """Stop check that stops a pass before its n-th node from now on, as a user who presses Stop at that moment."""

    def __init__(self) -> None:
        self.left = -1
        self.callback = AbortCallback(self._should_abort)

    def _should_abort(self, _data: object) -> bool:
        self.left -= self.left >= 0
        return self.left == 0


@pytest.fixture(scope="module")
def countdown() -> Iterator[Countdown]:
    with pytest.MonkeyPatch.context() as patch:
        countdown = Countdown()
        patch.setattr(runtime, "stop_check", lambda: countdown.callback)
        yield countdown


@pytest.fixture(scope="module", params=ARCHITECTURES)
def loaded(request, tmp_path_factory, countdown) -> Iterator[Engine]:
    path = write_hybrid(tmp_path_factory.mktemp("hybrid") / f"{request.param}.gguf", request.param)
    with closing(Engine()) as engine:
        engine.load(Load(0, str(path), n_ctx=2048, threads=1, backend="llama"))
        yield engine


@pytest.fixture
def engine(loaded: Engine, countdown: Countdown) -> Engine:
    countdown.left = -1
    loaded.stop.clear()
    loaded.forget()
    return loaded


def cached_tokens(runtime: LlamaRuntime) -> int:
    """Return the number of the chat's tokens that the library's cache holds."""
    context = runtime.context
    return int(context.lib.llama_memory_seq_pos_max(context.memory, SEQUENCE)) + 1


def assert_all_agree(engine: Engine) -> int:
    """Check that session, runtime and library agree on the cached tokens, and return their number."""
    session = engine._loaded().session
    assert isinstance(session.runtime, LlamaRuntime)
    assert len(session.tokens) == session.runtime.size == cached_tokens(session.runtime)
    return len(session.tokens)


def answer(engine: Engine, *messages: Message, **more: Any) -> Sequence[int]:
    tokens: Sequence[int] = ask(engine, *messages, **more)[1].tokens
    return tokens


@pytest.fixture(scope="module")
def fresh_answer(loaded: Engine) -> FreshAnswer:
    """Return a cached function that gives the answer of an engine with an empty session."""

    @cache
    def fresh_answer(*messages: Message) -> Sequence[int]:
        loaded.forget()
        return answer(loaded, *messages)

    return fresh_answer


@pytest.mark.parametrize(
    ("nodes", "after"),
    [
        pytest.param(nodes, after, id=f"{nodes}-{name}", marks=[] if i % 3 == j else pytest.mark.slow)
        for i, nodes in enumerate((1, 20, 41, 70))
        for j, (name, after) in enumerate((("short", QUESTION), ("long", LONG), ("edited", EDITED)))
    ],
)
def test_stopped_while_a_prompt_is_read(engine, fresh_answer, countdown, nodes, after):
    """The stop comes at a node of the first pass or of the second."""
    expected = fresh_answer(after)
    engine.forget()
    countdown.left = nodes
    *_, finished = engine.generate(Generate(1, (LONG,), GREEDY, 24))
    assert isinstance(finished, Finished)
    assert finished.statistics.stop_reason == "cancelled"
    assert finished.statistics.context_tokens == assert_all_agree(engine)
    countdown.left = -1
    assert answer(engine, after) == expected
    assert_all_agree(engine)


def test_stopped_between_two_passes_keeps_what_was_read(engine, fresh_answer):
    expected = fresh_answer(LONG)
    engine.forget()
    events = engine.generate(Generate(1, (LONG,), GREEDY, 24))
    while not (isinstance(event := next(events), PrefillProgress) and event.done):
        pass
    engine.stop.set()
    *_, finished = events
    engine.stop.clear()
    assert isinstance(finished, Finished)
    assert finished.statistics.stop_reason == "cancelled"
    assert assert_all_agree(engine) == event.done > 0
    _, finished = ask(engine, LONG)
    assert finished.statistics.reused_tokens == event.done
    assert finished.tokens == expected


@pytest.mark.parametrize("steps", [0, 7])
def test_stopped_while_it_answers_keeps_all(engine, fresh_answer, steps):
    expected = fresh_answer(LONG)
    engine.forget()
    events = engine.generate(Generate(1, (LONG,), GREEDY, 24))
    for _ in range(1 + steps):
        while not isinstance(next(events), WRITTEN):
            pass
    engine.stop.set()
    *_, finished = events
    engine.stop.clear()
    assert isinstance(finished, Finished)
    assert finished.statistics.stop_reason == "cancelled"
    cached = assert_all_agree(engine)
    assert cached >= finished.statistics.prompt_tokens
    assert answer(engine, LONG) == expected  # the same question again: a model that cannot be cut reads all of it


def test_a_step_is_not_stopped_in_its_middle(engine, countdown):
    """Stopping within a step would lose everything that was read."""
    events = engine.generate(Generate(1, (QUESTION,), GREEDY, 24))
    while not isinstance(next(events), WRITTEN):
        pass
    countdown.left = 5
    *_, finished = events
    assert isinstance(finished, Finished)
    assert finished.statistics.stop_reason == "length"
    assert assert_all_agree(engine) == finished.statistics.prompt_tokens + 23


@pytest.mark.parametrize("nodes", [20, 60])
def test_reading_ahead_that_is_cut_short(engine, fresh_answer, countdown, nodes):
    expected = fresh_answer(LONG)
    engine.forget()
    countdown.left = nodes
    *_, prepared = engine.prepare(Prepare(1, (LONG,)))
    assert isinstance(prepared, Prepared)
    assert prepared.cached_tokens == assert_all_agree(engine) < prepared.prompt_tokens
    countdown.left = -1
    assert answer(engine, LONG) == expected
    *_, prepared = engine.prepare(Prepare(2, (EDITED,)))
    assert prepared.cached_tokens == assert_all_agree(engine)


def test_edited_and_asked_again(engine, fresh_answer):
    chats = [(QUESTION,), (LONG,), (EDITED,), (EDITED,), (LONG, Message("assistant", "Yes."), QUESTION), (QUESTION,)]
    expected = [fresh_answer(*chat) for chat in chats]
    engine.forget()
    for chat, expected_answer in zip(chats, expected, strict=True):
        assert answer(engine, *chat) == expected_answer
        assert_all_agree(engine)


def read_tokens(engine: Engine, *messages: Message, **more: Any) -> tuple[Sequence[int], int]:
    """Answer, and return the answer's tokens and how many tokens of the prompt ran."""
    _, finished = ask(engine, *messages, **more)
    statistics = finished.statistics
    return finished.tokens, statistics.prompt_tokens - statistics.reused_tokens


def test_another_try_reads_one_token_and_an_edit_what_follows_the_checkpoint_before_it(engine, fresh_answer):
    expected, edited = fresh_answer(LONG), fresh_answer(EDITED)
    engine.forget()
    answer(engine, LONG)
    assert read_tokens(engine, LONG) == (expected, 1)
    tokens, read = read_tokens(engine, EDITED)
    assert tokens == edited
    prompt = ask(engine, EDITED)[1].statistics.prompt_tokens
    assert read <= 512 + prompt % 512


def test_a_saved_chat_knows_the_way_back(loaded, engine, fresh_answer, monkeypatch):
    """After a restart neither another question nor another try reads the chat again."""
    expected = fresh_answer(LONG)
    engine.forget()
    chat_cache = engine._loaded().chat_cache
    answer(engine, LONG, chat="a")
    monkeypatch.setattr(chat_cache, "prefill_rate", 10.0)  # a prompt that is worth saving
    assert chat_cache.save(1e9)
    engine.forget()
    assert read_tokens(engine, LONG, chat="a") == (expected, 1)
    engine.forget()
    chat_cache.saved_tokens = 0
    more = (LONG, Message("assistant", ask(engine, LONG, chat="a")[0]), QUESTION)
    assert read_tokens(engine, *more, chat="a")[1] < 64


def test_measuring_in_idle_time_that_is_stopped_puts_all_back(engine, countdown):
    answer(engine, LONG)
    chat = engine._loaded()
    tokens = list(chat.session.tokens)
    measuring = chat.cost_measurements.measure(chat.target)
    chat.cost_measurements.profile = machine_profile()
    for _ in range(3):
        next(measuring)
    countdown.left = 30
    with pytest.raises(Stopped):
        for _ in measuring:
            pass
    assert chat.session.tokens == tokens
    assert_all_agree(engine)


@pytest.mark.parametrize("saved", [False, True])
def test_a_pass_that_fails_leaves_all_agreed(engine, fresh_answer, monkeypatch, saved):
    """The library refuses a pass, here because it is given impossible positions."""
    expected = fresh_answer(QUESTION)
    target = engine._loaded().target
    if saved:
        answer(engine, LONG)
    else:
        engine.forget()
    fill = target.batch.fill

    def misplaced(tokens: Sequence[int], position: int, rows: int) -> None:
        fill(tokens, position + 3, rows)
        for i in range(len(tokens)):
            target.batch.raw.pos[i] = 5 if i % 2 else 3000

    monkeypatch.setattr(target.batch, "fill", misplaced)
    with pytest.raises(RuntimeError):
        answer(engine, EDITED)
    monkeypatch.undo()
    assert_all_agree(engine)
    assert answer(engine, QUESTION) == expected


class MemoryShort:
    """Replacement of `open_context` that finds no memory the first `times` times."""

    def __init__(self, times: int, open_context: Callable[..., object]) -> None:
        self.times, self.open_context = times, open_context

    def __call__(self, options: object) -> object:
        self.times -= 1
        if self.times >= 0:
            raise Failure("out_of_memory.context", n_ctx=1)
        return self.open_context(options)


@pytest.mark.parametrize("times", [1, 2, 3])
def test_memory_is_short_when_the_cache_is_to_grow(engine, fresh_answer, monkeypatch, times):
    """With more than one failure there is no memory for the old cache either, which is freed before."""
    expected = fresh_answer(LONG)
    engine.forget()
    chat = engine._loaded()
    chat.target.resize(512)
    answer(engine, QUESTION)
    before = assert_all_agree(engine)
    monkeypatch.setattr(chat.target, "open_context", MemoryShort(times, chat.target.open_context))
    for _ in range(2 if times == 3 else 1):
        with pytest.raises(Failure, match="not enough free memory"):
            answer(engine, LONG)
        if times == 1:
            assert before > assert_all_agree(engine)
        assert chat.session.tokens == []  # the other question begins with other tokens
        assert chat.target.size == 0
    assert answer(engine, LONG) == expected
    assert_all_agree(engine)
    assert chat.session.limit == 2048


def test_memory_is_short_in_the_middle_of_an_answer(engine, fresh_answer, monkeypatch):
    chat = engine._loaded()
    chat.target.resize(512)
    expected = fresh_answer(QUESTION)
    chat.target.resize(512)
    engine.forget()
    monkeypatch.setattr(chat.target, "open_context", MemoryShort(2, chat.target.open_context))
    _, finished = ask(engine, QUESTION, max_tokens=2000)
    assert finished.statistics.stop_reason == "context"
    assert finished.statistics.context_tokens == 0 == len(chat.session.tokens)
    assert answer(engine, QUESTION) == expected


def test_a_file_that_the_library_takes_only_in_part(engine, fresh_answer, monkeypatch, tmp_path):
    """The library then holds tokens that do not belong to the chat."""
    expected = fresh_answer(QUESTION)
    answer(engine, LONG)
    chat = engine._loaded()
    chat.target.save(tmp_path / "kv", chat.session.tokens)
    raw = bytearray((tmp_path / "kv").read_bytes())
    raw[8:12] = (int.from_bytes(raw[8:12], "little") - 1).to_bytes(4, "little")  # the number of tokens, now too small
    del raw[12:16]
    (tmp_path / "kv").write_bytes(raw)
    engine.forget()
    with pytest.raises(Failure, match="does not match"):
        chat.target.load(tmp_path / "kv")
    assert chat.target.size == cached_tokens(chat.target) == 0
    assert answer(engine, QUESTION) == expected


def test_closing_twice_frees_once(loaded):
    engine = Engine()
    engine.load(Load(0, loaded.status(0).model.path, n_ctx=512, threads=1, backend="llama"))
    chat = engine._loaded()
    chat.close()
    chat.close()
    chat.target.close()
    engine.close()
    engine.close()
    assert engine.status(0).model is None


def test_stopped_by_the_window_at_any_time(engine, fresh_answer):
    """The flag is set from another thread, as the engine does it."""
    expected = fresh_answer(QUESTION)
    for delay in (0.0, 0.001, 0.003, 0.01, 0.02):
        timer = threading.Timer(delay, engine.stop.set)
        timer.start()
        with suppress(Stopped):  # before there was a prompt
            ask(engine, LONG, max_tokens=200)
        timer.join()
        assert_all_agree(engine)
        engine.stop.clear()
        assert answer(engine, QUESTION) == expected


def test_two_chats_that_take_turns_read_only_what_is_new(engine):
    assert_turns_read_little(engine)
