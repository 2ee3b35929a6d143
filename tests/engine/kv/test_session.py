"""A session's tokens and its target's cache are the same thing, whatever is read, appended or stopped."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.kv.session import Session
from engine.stop import Stopped
from engine.tokenization.tokens import common_prefix
from tests.engine.fake_runtime import FakeRuntime

prompts = st.lists(st.lists(st.integers(97, 99), min_size=1, max_size=40), min_size=1, max_size=6)


@given(prompts)
def test_any_series_of_prompts_leaves_the_last_one_in_the_cache(series):
    target = FakeRuntime()
    session = Session(target)
    for prompt in series:
        before = list(target.cache)
        progress = list(session.read(prompt))
        assert target.cache == session.tokens == prompt
        assert progress[0].done == progress[0].reused == min(common_prefix(before, prompt), len(prompt) - 1)
        assert progress[-1].done == len(prompt)
        assert session.logits
        assert session.logits.row().argmax() == target.choose(prompt)


def test_a_second_turn_runs_only_what_is_new():
    target = FakeRuntime(max_batch=100)
    session = Session(target)
    list(session.read([1, 2, 3]))
    session.run([4])
    session.keep([4], 1)
    list(session.read([1, 2, 3, 4, 5, 6]))
    assert target.passes == [3, 1, 2]


def test_stopped_while_reading_keeps_what_was_read():
    target = FakeRuntime(max_batch=4)
    session = Session(target)
    reading = session.read(list(range(20)))
    next(reading), next(reading)
    target.stop.set()
    with pytest.raises(Stopped):
        next(reading)
    assert session.tokens == target.cache == [0, 1, 2, 3]


def test_a_model_that_cannot_be_cut_reads_all_again():
    target = FakeRuntime(max_batch=100)
    target.can_truncate = False
    session = Session(target)
    list(session.read([1, 2, 3]))
    assert [p.reused for p in session.read([1, 2, 9])] == [0, 0]
    assert target.cache == session.tokens == [1, 2, 9]


@given(st.lists(st.integers(0, 2)), st.lists(st.integers(0, 2)))
def test_common_prefix(a, b):
    n = common_prefix(a, b)
    assert common_prefix(a, tuple(b)) == n
    assert a[:n] == b[:n]
    assert n in (len(a), len(b)) or a[n] != b[n]
