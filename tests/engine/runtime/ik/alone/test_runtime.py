"""The promises of `engine.runtime.interface.Runtime`, kept by ik_llama.cpp."""

from __future__ import annotations

import threading
from contextlib import closing

import numpy as np
import pytest

from common.failures import Failure
from engine.generation.sampling import Sampler
from engine.protocol.requests import Sampling
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik.runtime import MAX_EXACT_PASS, IkRuntime
from engine.runtime.interface import prefill
from engine.stop import StopFlag, Stopped

NOISE = 1e-2  # share of a row's spread: passes of one token and of several tokens run different kernels
STOPS = (8, 40)  # stops in every run, and in `make test-slow`


def assert_alike(row, expected) -> None:
    assert np.abs(row - expected).max() < NOISE * (expected.max() - expected.min())


def next_row(target, token=300):
    row = target.forward([token]).row().copy()
    target.truncate(target.size - 1)
    return row


def test_a_prompt_in_large_passes_is_read_as_token_by_token(target, prompt):
    target.truncate(0)
    *_, logits = prefill(target, prompt)
    at_once = logits.row().copy()
    target.truncate(0)
    for token in prompt:
        logits = target.forward([token])
    assert_alike(at_once, logits.row())


def test_passes_are_no_longer_than_can_be_trusted(target):
    """The default model's rows have 576 numbers of type Q4_1, of which larger passes would drop some."""
    assert target.max_batch == MAX_EXACT_PASS
    tokens = list(range(300, 300 + MAX_EXACT_PASS))
    target.truncate(0)
    at_once = target.forward(tokens).row().copy()
    target.truncate(0)
    for token in tokens:
        logits = target.forward([token])
    assert_alike(at_once, logits.row())


def test_every_row_of_a_pass(target):
    size, tokens = target.size, [300, 310, 320, 330]
    logits = target.forward(tokens, 3)
    rows = [logits.row(i).copy() for i in range(3)]
    assert (logits.row() == rows[-1]).all()
    target.truncate(size)
    target.forward(tokens[:1])
    for token, row in zip(tokens[1:], rows, strict=True):
        assert_alike(row, target.forward([token]).row())


def test_dropped_tokens_leave_no_trace(target):
    expected = next_row(target)
    size = target.size
    target.forward([500, 501, 502])
    assert target.truncate(size) == target.size == size
    assert (next_row(target) == expected).all()


def test_growing_and_restoring_a_snapshot_keep_the_tokens(target):
    expected, size = next_row(target), target.size
    target.resize(2048)
    assert target.n_ctx == 2048
    assert (next_row(target) == expected).all()
    restore = target.snapshot(1 << 30)
    for _ in range(2):  # a copy in RAM stays
        target.truncate(0)
        target.forward([7, 8, 9], 3)
        restore()
        assert target.size == size
        assert (next_row(target) == expected).all()
    target.resize(1024)


def test_saved_and_restored(target, prompt, tmp_path):
    expected = next_row(target)
    target.save(tmp_path / "kv", prompt)
    assert target.state_bytes == pytest.approx((tmp_path / "kv").stat().st_size, rel=0.01)
    target.truncate(0)
    assert target.load(tmp_path / "kv") == prompt
    assert target.size == len(prompt)
    assert (next_row(target) == expected).all()


def test_a_file_of_another_model(target, prompt, tmp_path):
    target.save(tmp_path / "kv", prompt)
    data = bytearray((tmp_path / "kv").read_bytes())
    data[0] ^= 1
    (tmp_path / "kv").write_bytes(data)
    with pytest.raises(Failure) as caught:
        target.load(tmp_path / "kv")
    assert caught.value.code == "cache_unusable"


@pytest.fixture
def several_threads(model, prompt):
    with closing(IkRuntime(model, ContextOptions(n_ctx=1024, threads=2), StopFlag())) as target:
        list(prefill(target, prompt))
        yield target


@pytest.mark.parametrize("stops", [STOPS[0], pytest.param(STOPS[1], marks=pytest.mark.slow)])
def test_stopped_within_passes(several_threads, stops):
    """A thread that is late at a barrier used to leave the others waiting for ever, in one of many stops."""
    target = several_threads
    size, expected = target.size, next_row(target)
    for i in range(stops):
        threading.Timer(0.02 + 0.028 * i / stops, target.stop.set).start()
        with pytest.raises(Stopped):  # noqa: PT012
            while True:
                list(prefill(target, [300] * 900))
                target.truncate(size)
        target.stop.clear()
        target.truncate(size)
    assert (next_row(target) == expected).all()


def test_keys_and_values_in_eight_bits(model, prompt):
    small = IkRuntime(model, ContextOptions(n_ctx=512, threads=1, kv_type="q8_0"), StopFlag())
    large = IkRuntime(model, ContextOptions(n_ctx=512, threads=1), StopFlag())
    rows = [list(prefill(target, prompt))[-1].row() for target in (small, large)]
    assert small.state_bytes < 0.6 * large.state_bytes
    assert int(rows[0].argmax()) == int(rows[1].argmax())
    small.close()
    large.close()


def test_sampling_from_a_row(target):
    logits = target.forward([300])
    best = int(logits.row().argmax())
    assert Sampler(Sampling(temperature=0, repeat_penalty=1)).sample(logits) == best
    assert Sampler(Sampling(temperature=0, repeat_penalty=10), [best]).sample(logits) != best
