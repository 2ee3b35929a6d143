"""An answer in the background is paused for another one, and both are what they would have been."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from engine.engine import Engine
from engine.generation.answer import Answer, AnswerOptions
from engine.generation.sampling import Sampler
from engine.generation.urgent import UrgentWork
from engine.kv.chat_cache import ChatCache
from engine.kv.policy import AlwaysPolicy, Decision, PartialFixed
from engine.kv.saved import Guard, SavedChats
from engine.kv.session import Session
from engine.protocol.events import WRITTEN, Finished
from engine.protocol.requests import Constraint, Generate, Message, Sampling
from engine.stop import Stopped
from tests.engine.asking import GREEDY, QUESTION
from tests.engine.fake_runtime import FakeRecurrent, FakeRuntime

PROMPT = list(range(100, 120))
OTHER = [*PROMPT[:8], 7, 7, 7]
RANDOM = Sampling(temperature=1, seed=5, repeat_penalty=1)
LENGTH = 24
LONG = list(range(100, 200))
GUARD = Guard("model", "settings", "build")


class SometimesPolicy(AlwaysPolicy):
    """A policy that leaves some tokens pending, which are not in the cache when the answer is paused."""

    def decide(self, inputs: int, fixed: int) -> Decision:
        return Decision(inputs >= 3, "test")


def answer(session: Session, sampling: Sampling, policy, prompt: list[int], urgent: UrgentWork | None = None) -> str:
    options = AnswerOptions(max_tokens=LENGTH, urgent=urgent or UrgentWork())
    running = Answer(session, Sampler(sampling, prompt), PartialFixed(policy(), 64), options)
    return "".join(event.text for event in running.events(1, prompt) if isinstance(event, WRITTEN))


@pytest.mark.parametrize("sampling", [GREEDY, RANDOM])
@pytest.mark.parametrize(
    ("runtime", "policy"),
    [(FakeRuntime, AlwaysPolicy), (FakeRuntime, SometimesPolicy), (FakeRecurrent, AlwaysPolicy)],
)
@pytest.mark.parametrize("kept_bytes", [0, 1000], ids=["in a file", "in memory"])
def test_both_answers_are_what_they_would_have_been(runtime, sampling, policy, kept_bytes, tmp_path):
    alone, other = (answer(Session(runtime()), sampling, policy, prompt) for prompt in (PROMPT, OTHER))
    session, others = Session(runtime(), checkpoints=2), []
    cache = ChatCache(session, SavedChats(tmp_path), GUARD, kept_bytes)

    def work() -> None:
        with cache.set_aside():
            cache.open_chat("", OTHER)
            others.append(answer(session, sampling, policy, OTHER))

    urgent = UrgentWork(lambda: True, work)
    assert answer(session, sampling, policy, PROMPT, urgent) == alone
    assert others == [other] * (LENGTH - 2)  # not before the first pass, nor after the last one
    assert urgent.seconds > 0


def test_a_cache_that_another_chat_made_smaller_grows_again(tmp_path):
    runtime = FakeRuntime(n_ctx=512)
    session = Session(runtime)
    long = list(range(100, 160)) * 5
    list(session.prefill(long))
    with ChatCache(session, SavedChats(tmp_path), GUARD).set_aside():
        session.clear()
        runtime.resize(64)
        list(session.prefill(OTHER))
    assert session.tokens == runtime.cache == long
    assert runtime.n_ctx >= len(long)


def test_the_chat_that_is_set_aside_is_saved_under_its_own_name_afterwards(tmp_path):
    cache = ChatCache(Session(FakeRuntime()), SavedChats(tmp_path), GUARD)
    cache.open_chat("one", PROMPT)
    list(cache.session.prefill(PROMPT))
    cache.saved_tokens = 5
    with cache.set_aside():
        cache.open_chat("two", OTHER)
        list(cache.session.prefill(OTHER))
        assert (cache.chat, cache.saved_tokens) == ("two", 0)
    assert (cache.chat, cache.saved_tokens, cache.session.tokens) == ("one", 5, PROMPT)


def test_a_paused_chat_that_does_not_go_on_is_kept_like_others(tmp_path):
    cache = ChatCache(Session(FakeRuntime()), SavedChats(tmp_path), GUARD, kept_bytes=len(LONG))
    cache.open_chat("one", LONG)
    list(cache.session.prefill(LONG))
    with suppress(Stopped), cache.set_aside():
        cache.open_chat("two", OTHER)
        list(cache.session.prefill(OTHER))
        raise Stopped
    cache.open_chat("one", [*LONG, 1])
    assert cache.session.tokens == LONG
    cache.session.clear()
    with suppress(Stopped), cache.set_aside():
        raise Stopped
    assert cache.kept.count == 0


def test_an_answer_that_is_stopped_while_it_is_paused_keeps_its_text():
    session = Session(FakeRuntime())

    def stop() -> None:
        raise Stopped

    options = AnswerOptions(max_tokens=LENGTH, urgent=UrgentWork(lambda: True, stop))
    running = Answer(session, Sampler(GREEDY, PROMPT), PartialFixed(AlwaysPolicy(), 64), options)
    *_, end = running.events(1, PROMPT)
    assert isinstance(end, Finished)
    assert (end.statistics.stop_reason, len(end.tokens)) == ("cancelled", 2)


SCHEMA = '{"type": "object", "properties": {"bird": {"type": "string", "maxLength": 40}}, "required": ["bird"]}'
CASES = {
    "greedy": Generate(1, (QUESTION,), GREEDY, 32),
    "seeded": Generate(1, (QUESTION,), RANDOM, 32),
    "in a form": Generate(1, (QUESTION,), RANDOM, 32, constraint=Constraint("json_schema", SCHEMA)),
}


@pytest.mark.parametrize("request_", CASES.values(), ids=CASES)
def test_a_real_model_goes_on_with_exactly_the_same_tokens(engine: Engine, request_: Generate):
    """The sampler's state, the grammar's and the cache are those of the paused answer again."""
    background = replace(request_, draft="off", kv_policy="always", background=True)
    mine = replace(background, messages=(Message("user", "Name three colours."),), max_tokens=8, background=False)
    alone, my_alone = tokens_of(engine, background), tokens_of(engine, mine)
    engine.forget()  # so that all passes are as large as before
    others, paused = paused_three_times(engine, background, lambda: tokens_of(engine, mine))
    assert others == [my_alone] * 3
    assert paused == alone


def paused_three_times(
    engine: Engine, request: Generate, work: Callable[[], tuple[int, ...]]
) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Answer the request, pausing it for `work` three times; return what `work` returned and the answer's tokens."""
    due, others = iter([False, False, True, False, True, True]), list[tuple[int, ...]]()
    engine.give_way_to(lambda: next(due, False), lambda: others.append(work()))
    try:
        return others, tokens_of(engine, request)
    finally:
        engine.give_way_to(lambda: False, lambda: None)


def tokens_of(engine: Engine, request: Generate) -> tuple[int, ...]:
    *_, end = engine.generate(request)
    assert isinstance(end, Finished)
    return end.tokens


def test_an_answer_that_was_stopped_while_paused_leaves_the_other_chat_in_the_cache(engine: Engine):
    background = Generate(1, (QUESTION,), GREEDY, 32, background=True)

    def work() -> tuple[int, ...]:
        tokens = tokens_of(engine, Generate(2, (Message("user", "Name three colours."),), GREEDY, 8))
        engine.stop.set()
        return tokens

    [mine], paused = paused_three_times(engine, background, work)
    assert len(paused) < 32
    assert tuple(engine._loaded().session.tokens[-len(mine) + 1 :]) == mine[:-1]
    engine.stop.clear()
