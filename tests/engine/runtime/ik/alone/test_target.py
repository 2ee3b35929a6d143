"""The target's promises, kept by ik_llama.cpp."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from engine.protocol import Sampling
from engine.runtime.capi.context import ContextOptions
from engine.runtime.ik.model import MOST_WITHOUT
from engine.runtime.ik.target import IkTarget
from engine.stop import StopFlag, Stopped
from models.failures import Failure

NOISE = 1e-2  # of a row's spread: passes of one and of several tokens run different kernels
STOPS = 40
MOST_TO_STOP = 5.0  # seconds, on a machine that other programs keep busy


def assert_alike(row, expected) -> None:
    assert np.abs(row - expected).max() < NOISE * (expected.max() - expected.min())


def next_row(target, token=300):
    target.run([token])
    row = target.logits(-1).copy()
    target.drop_after(target.size - 1)
    return row


def test_a_prompt_in_large_passes_is_read_as_token_by_token(target, prompt):
    at_once = target.logits(-1).copy()
    target.drop_after(0)
    for token in prompt:
        target.run([token])
    assert_alike(at_once, target.logits(-1))


def test_passes_are_no_longer_than_can_be_trusted(target):
    """The default model's rows have 576 numbers of type Q4_1: see `engine.runtime.ik.model`."""
    assert target.most_inputs == MOST_WITHOUT
    tokens = list(range(300, 300 + MOST_WITHOUT))
    target.drop_after(0)
    target.run(tokens)
    at_once = target.logits(-1).copy()
    target.drop_after(0)
    for token in tokens:
        target.run([token])
    assert_alike(at_once, target.logits(-1))


def test_every_row_of_a_pass(target):
    size, tokens = target.size, [300, 310, 320, 330]
    target.run(tokens, rows=3)
    rows = [target.logits(i).copy() for i in (1, 2, 3)]
    assert (target.logits(-1) == rows[-1]).all()
    target.drop_after(size)
    target.run(tokens[:1])
    for token, row in zip(tokens[1:], rows, strict=True):
        target.run([token])
        assert_alike(row, target.logits(-1))


def test_dropped_tokens_leave_no_trace(target):
    expected = next_row(target)
    size = target.size
    target.run([500, 501, 502])
    assert target.drop_after(size) == target.size == size
    assert (next_row(target) == expected).all()


def test_growing_and_setting_aside_keep_the_tokens(target):
    expected, size = next_row(target), target.size
    target.grow(2048)
    assert target.n_ctx == 2048
    assert (next_row(target) == expected).all()
    put_back = target.set_aside()
    target.drop_after(0)
    target.run([7, 8, 9], rows=3)
    put_back()
    assert target.size == size
    assert (next_row(target) == expected).all()
    target.grow(1024)


def test_saved_and_restored(target, prompt, tmp_path):
    expected = next_row(target)
    target.save(tmp_path / "kv", prompt)
    assert target.state_bytes == pytest.approx((tmp_path / "kv").stat().st_size, rel=0.01)
    target.drop_after(0)
    assert target.restore(tmp_path / "kv") == prompt
    assert target.size == len(prompt)
    assert (next_row(target) == expected).all()


def test_a_file_of_another_model(target, prompt, tmp_path):
    target.save(tmp_path / "kv", prompt)
    data = bytearray((tmp_path / "kv").read_bytes())
    data[0] ^= 1
    (tmp_path / "kv").write_bytes(data)
    with pytest.raises(Failure) as caught:
        target.restore(tmp_path / "kv")
    assert caught.value.code == "cache_unusable"


def test_stopped_within_passes(target):
    """Often, because a thread that is late at a barrier used to leave the others waiting for ever."""
    size, expected = target.size, next_row(target)
    for i in range(STOPS):
        stopped: list[float] = []

        def stop(stopped: list[float] = stopped) -> None:
            stopped.append(time.monotonic())
            target.stop.set()

        timer = threading.Timer(0.02 + 0.0007 * i, stop)
        timer.start()
        with pytest.raises(Stopped):  # noqa: PT012
            while True:
                list(target.prefill([300] * 900))
                target.drop_after(size)
        assert time.monotonic() - stopped[0] < MOST_TO_STOP
        target.stop.clear()
        target.drop_after(size)
    assert (next_row(target) == expected).all()


def test_keys_and_values_in_eight_bits(model, prompt):
    small = IkTarget(model, ContextOptions(n_ctx=512, threads=2, kv_type="q8_0"), StopFlag())
    large = IkTarget(model, ContextOptions(n_ctx=512, threads=2), StopFlag())
    for target in (small, large):
        list(target.prefill(prompt))
    assert small.state_bytes < 0.6 * large.state_bytes
    assert int(small.logits(-1).argmax()) == int(large.logits(-1).argmax())
    small.close()
    large.close()


def test_sampling_from_a_row(target):
    greedy = target.sampler(Sampling(temperature=0, repeat_penalty=1), [])
    best = int(target.logits(-1).argmax())
    assert greedy.sample(-1) == best
    assert target.sampler(Sampling(temperature=0, repeat_penalty=10), [best]).sample(-1) != best
