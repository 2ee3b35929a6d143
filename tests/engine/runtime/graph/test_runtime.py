"""Our own graph's runtime keeps the promises of `engine.runtime.interface`."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest

from common.failures import Failure
from engine.generation.sampling import Sampler
from engine.protocol.requests import Sampling
from engine.runtime.contexts import ContextOptions
from engine.runtime.graph.exact import ExactKV
from engine.runtime.graph.passes import Processor
from engine.runtime.graph.runtime import GraphRuntime
from engine.runtime.interface import prefill
from engine.stop import StopFlag, Stopped
from tests.engine.runtime.graph.conftest import OPTIONS


def next_row(target, token=300):
    row = target.forward([token]).row().copy()
    target.truncate(target.size - 1)
    return row


@pytest.mark.parametrize("in_file", [False, True])
def test_what_is_set_aside_comes_back(target, tmp_path, monkeypatch, in_file):
    monkeypatch.setattr(target, "folder", tmp_path / "aside")
    expected, size = next_row(target), target.size
    restore = target.snapshot(0 if in_file else 1 << 30)
    for _ in range(1 if in_file else 2):  # a copy in RAM stays
        target.truncate(0)
        list(prefill(target, [7] * 300))
        restore()
        assert target.size == size
        assert (next_row(target) == expected).all()
    assert not in_file or list((tmp_path / "aside").iterdir()) == []


def test_rows_stay_when_tokens_are_dropped(target):
    logits = target.forward([300, 301], 2)
    before = [logits.row(i).copy() for i in range(2)]
    target.truncate(target.size - 2)
    assert all((logits.row(i) == row).all() for i, row in enumerate(before))


def test_rows_of_a_pass_that_is_not_the_last_are_not_given(target):
    logits = target.forward([300, 301], 2)
    target.forward([302])
    with pytest.raises(IndexError):
        logits.row(0)


def test_a_saved_chats_size_is_known(target, prompt, tmp_path):
    target.save(tmp_path / "kv", prompt)
    assert target.state_bytes == pytest.approx((tmp_path / "kv").stat().st_size, rel=0.01)
    if sys.platform != "win32":  # there the user's folder is private, and files have no such modes
        assert (tmp_path / "kv").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: raw[: len(raw) // 2],
        lambda raw: raw[:20],
        lambda raw: b"\xff" + raw[1:],
        lambda raw: raw.replace(b"exact", b"other", 1),
        lambda raw: raw.replace(b'"tokens":', b'"tokens":9', 1),
        lambda raw: b"",
    ],
)
def test_a_file_that_does_not_fit(target, prompt, tmp_path, damage):
    target.save(tmp_path / "kv", prompt)
    (tmp_path / "kv").write_bytes(damage((tmp_path / "kv").read_bytes()))
    with pytest.raises(Failure, match="does not match") as caught:
        target.load(tmp_path / "kv")
    assert caught.value.code == "cache_unusable"
    assert target.size == 0


def test_what_stands_behind_a_saved_chat_does_not_matter(target, prompt, tmp_path):
    expected = next_row(target)
    target.save(tmp_path / "kv", prompt)
    with (tmp_path / "kv").open("ab") as file:
        file.write(b"sealed")
    assert target.load(tmp_path / "kv") == prompt
    assert (next_row(target) == expected).all()


def test_stopped_within_a_pass(target):
    size, expected = target.size, next_row(target)
    for delay in (0.02, 0.06, 0.1):
        timer = threading.Timer(delay, target.stop.set)
        timer.start()
        with pytest.raises(Stopped):  # noqa: PT012
            while True:
                target.truncate(size)
                list(prefill(target, [300] * 900))
        timer.join()
        target.stop.clear()
        assert (target.size - size) % target.max_batch == 0
        target.truncate(size)
        assert (next_row(target) == expected).all()


def test_many_kinds_of_passes(target, monkeypatch):
    """More passes than the cache of graphs holds, and one larger than all before."""
    monkeypatch.setattr("engine.runtime.graph.passes.MAX_CACHED_PASSES", 8)
    size = target.size
    expected = next_row(target)
    for n in range(1, 8 + 3):
        target.forward([300] * n, min(n, 3))
        target.truncate(size)
    assert (next_row(target) == expected).all()


def test_a_small_cache(model, prompt):
    small = GraphRuntime(model, ContextOptions(n_ctx=100, threads=1), StopFlag())
    assert small.n_ctx == 256
    list(prefill(small, prompt))
    list(prefill(small, [300] * (256 - len(prompt))))
    assert small.size == 256
    small.resize(512)
    small.forward([300])
    small.close()


def test_sampling_from_a_row(target):
    logits = target.forward([300])
    best = int(logits.row().argmax())
    assert Sampler(Sampling(temperature=0, repeat_penalty=1)).sample(logits) == best
    assert Sampler(Sampling(temperature=0, repeat_penalty=10), [best]).sample(logits) != best


@pytest.mark.parametrize("part", ["ExactKV", "PassRunner"])
def test_without_memory_nothing_stays_open(model, monkeypatch, part):
    closed: list[str] = []

    def short(*_arguments: object) -> None:
        raise MemoryError

    def noted(close: Callable[[Any], None]) -> Callable[[object], None]:
        def note(self: object) -> None:
            closed.append(type(self).__name__)
            close(self)

        return note

    for kind in (Processor, ExactKV):
        monkeypatch.setattr(kind, "close", noted(kind.close))
    module = {"ExactKV": "modes", "PassRunner": "runtime"}[part]
    monkeypatch.setattr(f"engine.runtime.graph.{module}.{part}", short)
    with pytest.raises((Failure, MemoryError)):
        GraphRuntime(model, OPTIONS, StopFlag())
    assert closed == (["Processor"] if part == "ExactKV" else ["ExactKV", "Processor"])
