"""A session: its tokens always equal its target's cache, which grows and shrinks with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.failures import Failure
from engine.generation.decode import decode
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import PromptProgress, Session
from engine.protocol.requests import Picture
from engine.stop import Stopped
from engine.tokenization.pictures import block_tokens
from engine.tokenization.tokens import common_prefix
from tests.engine.fake_runtime import FakeRecurrent, FakeRuntime, greedy

prompts = st.lists(st.lists(st.integers(97, 99), min_size=1, max_size=40), min_size=1, max_size=6)


@given(prompts)
def test_any_series_of_prompts_leaves_the_last_one_in_the_cache(series):
    target = FakeRuntime()
    session = Session(target)
    for prompt in series:
        before = list(target.cache)
        progress = list(session.prefill(prompt))
        assert target.cache == session.tokens == prompt
        assert progress[0].done == progress[0].reused == min(common_prefix(before, prompt), len(prompt) - 1)
        assert progress[-1].done == len(prompt)
        assert session.logits
        assert session.logits.row().argmax() == target.choose(prompt)


def test_a_second_turn_runs_only_what_is_new():
    target = FakeRuntime(max_batch=100)
    session = Session(target)
    list(session.prefill([1, 2, 3]))
    session.run([4])
    session.keep_first([4], 1)
    list(session.prefill([1, 2, 3, 4, 5, 6]))
    assert target.passes == [3, 1, 2]


def test_stopped_while_reading_keeps_what_was_read():
    target = FakeRuntime(max_batch=4)
    session = Session(target)
    reading = session.prefill(list(range(20)))
    next(reading), next(reading)
    target.stop.set()
    with pytest.raises(Stopped):
        next(reading)
    assert session.tokens == target.cache == [0, 1, 2, 3]


def test_a_model_that_cannot_be_cut_reads_all_again():
    target = FakeRuntime(max_batch=100)
    target.can_truncate = False
    session = Session(target)
    list(session.prefill([1, 2, 3]))
    assert [p.reused for p in session.prefill([1, 2, 9])] == [0, 0]
    assert target.cache == session.tokens == [1, 2, 9]


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
    list(session.prefill([1] * 900))
    assert target.moves == [1280]


def test_a_new_chat_shrinks_it_and_the_same_chat_does_not():
    target = Growing()
    session = Session(target, limit=8192)
    list(session.prefill([1] * 3000))
    list(session.prefill([1] * 10))
    assert target.moves == [3584]
    list(session.prefill([2] * 10))
    assert target.moves == [3584, 512]
    assert target.cache == session.tokens == [2] * 10


def test_an_answer_grows_it_step_by_step_up_to_the_limit():
    target = Growing()
    session = Session(target, limit=1500)
    list(session.prefill([1] * 250))
    steps = list(decode(session, greedy(), PartialFixed(AlwaysPolicy(), 64), None))
    assert target.moves == [768, 1024, 1280, 1500]
    assert steps[-1].end == "context"
    assert len(session.tokens) == 1500


def test_where_memory_does_not_suffice_to_grow_the_answer_ends_in_order():
    target = Growing()

    def full(n_ctx: int) -> None:
        raise Failure("out_of_memory.context", n_ctx=1)

    session = Session(target, limit=4096)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(target, "resize", full)
        list(session.prefill([1] * 250))
        steps = list(decode(session, greedy(), PartialFixed(AlwaysPolicy(), 64), None))
    assert steps[-1].end == "context"
    assert len(session.tokens) == 512
    assert list(session.prefill([1] * 600))[-1].done == 600  # other programs have freed memory
    assert session.limit == 4096


def test_a_cache_is_enlarged_for_the_longest_chat_that_may_come_and_no_other_size_is_tried():
    target = Growing()
    session = Session(target, limit=8192)
    session.expected = 3000
    list(session.prefill([1] * 600))
    assert target.moves == [3584]
    assert session.make_room(8192 - 600)
    assert target.moves == [3584, 8192]
    assert not session.make_room(8192 - 600 + 1)
    assert target.moves == [3584, 8192]


def test_rows_of_a_whole_prompt_come_pass_by_pass():
    target = Growing()
    target.max_logits = 250
    session = Session(target, limit=2000)
    list(session.prefill([9] * 5))
    prompt = [97 + i % 5 for i in range(600)]
    read = []
    for part in session.read_rows(prompt):
        read.append(part)
        assert session.logits
        wanted = [target.choose(prompt[: i + 1]) for i in part]
        assert [int(session.logits.row(i).argmax()) for i in range(len(part))] == wanted
    assert read == [range(250), range(250, 500), range(500, 600)]
    assert session.tokens == target.cache == prompt
    target.max_batch = 40
    rows = session.read_rows(prompt)
    assert next(rows) == range(40)
    target.stop.set()
    with pytest.raises(Stopped):
        next(rows)
    assert session.tokens == target.cache == prompt[:40]


class Seeing(FakeRuntime):
    """A runtime of a model that sees: a block of a picture is encoded in two steps, then read in one pass."""

    sees, encoder_work = True, (0.0, 0)

    def release_encoder_if_short(self) -> None:
        raise NotImplementedError

    def picture_tokens(self, pictures: Sequence[Picture], exact: bool = True) -> list[list[int]]:
        raise NotImplementedError

    def encode_block(self, tokens: Sequence[int]) -> Iterator[float]:
        yield from (0.0, 0.5)

    def forward_block(self, tokens: Sequence[int]) -> None:
        self._run(tokens)


class SeeingRecurrent(Seeing, FakeRecurrent):
    pass


BIRD, EGG = block_tokens("a bird", 0, 4, 4), block_tokens("an egg", 0, 5, 5)


def test_pictures_are_read_whole_and_the_progress_tells_how_far_they_are_seen():
    target = Seeing()
    session = Session(target)
    prompt = [1, 2, *BIRD, 3, *EGG, 4]
    expected = [(0, 0), (2, 0), (2, 0.001), (2, 0.25), (6, 0), (7, 0), (7, 0.5), (7, 0.75), (12, 0), (13, 0)]
    assert list(session.prefill(prompt)) == [PromptProgress(done, 0, looking) for done, looking in expected]
    assert target.passes == [2, 4, 1, 5, 1]
    assert target.cache == session.tokens == prompt
    again = [PromptProgress(12, 12), PromptProgress(13, 12)]
    assert list(session.prefill([*prompt[:-1], 5])) == again
    assert next(session.prefill([1, 2, *BIRD, 3, *EGG[:2]])).done == 7  # a part of a picture is none of it


def test_a_cache_that_cannot_be_cut_goes_back_to_the_beginning_of_a_picture():
    session = Session(SeeingRecurrent(n_ctx=512), checkpoints=4)
    text = [1] * 100
    list(session.prefill([*text, *BIRD, *text]))
    assert next(session.prefill([*text, *EGG, *text])).reused == 100
    list(session.prefill([*text, *EGG, *text]))
    assert [place.is_turn for place in session.checkpoints.places if place.size == 100] == [True]
