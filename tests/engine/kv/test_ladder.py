"""The elastic cache: it holds what it must, grows when it must, and an answer does not notice."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from common.failures import Failure
from engine.generation.decode import decode
from engine.kv.policy import Always, PartialFixed
from engine.kv.session import Session
from engine.runtime.contexts import SMALLEST, STEP, size_class
from tests.engine.fake_runtime import FakeRuntime, greedy


@given(st.integers(0, 200_000), st.integers(64, 131_072))
def test_classes(tokens, limit):
    size = size_class(tokens, limit)
    assert size <= limit
    assert size >= min(tokens, limit)
    assert size == limit or size <= max(tokens * 5 // 4 + STEP, SMALLEST)
    assert size == limit or size % STEP == 0


class Growing(FakeRuntime):
    def __init__(self, **more) -> None:
        super().__init__(n_ctx=512, max_batch=512, **more)
        self.moves: list[int] = []

    def resize(self, n_ctx: int) -> None:
        super().resize(n_ctx)
        self.moves.append(n_ctx)


def test_a_long_prompt_grows_the_cache_once_with_room_to_answer():
    target = Growing()
    session = Session(target, limit=8192)
    list(session.read([1] * 900))
    assert target.moves == [1280]


def test_a_new_chat_shrinks_it_and_the_same_chat_does_not():
    target = Growing()
    session = Session(target, limit=8192)
    list(session.read([1] * 3000))
    list(session.read([1] * 10))
    assert target.moves == [3584]
    list(session.read([2] * 10))
    assert target.moves == [3584, 512]
    assert target.cache == session.tokens == [2] * 10


def test_an_answer_grows_it_step_by_step_up_to_the_limit():
    target = Growing()
    session = Session(target, limit=1500)
    list(session.read([1] * 250))
    steps = list(decode(session, greedy(), PartialFixed(Always(), 64), None))
    assert target.moves == [768, 1024, 1280, 1500]
    assert steps[-1].end == "context"
    assert len(session.tokens) == 1500


def test_where_memory_does_not_suffice_to_grow_the_answer_ends_in_order():
    target = Growing()

    def full(n_ctx: int) -> None:
        raise Failure("out_of_memory.context", n_ctx=1)

    target.resize = full  # type: ignore[method-assign]
    session = Session(target, limit=4096)
    list(session.read([1] * 250))
    steps = list(decode(session, greedy(), PartialFixed(Always(), 64), None))
    assert steps[-1].end == "context"
    assert session.limit == len(session.tokens) == 512
