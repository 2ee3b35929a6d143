"""Head-split KV caches and head rankings, on small models with random weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import msgspec
import numpy as np
import pytest

from common.failures import Failure
from engine.protocol.events import HeadGroup
from engine.runtime.contexts import EXACT, ContextOptions, KVMode, make_kv_mode
from engine.runtime.graph import modes
from engine.runtime.graph.exact import ExactKV
from engine.runtime.graph.head_split import HeadSplitKV
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.modes import DryGraph, Ranking
from engine.runtime.graph.runtime import GraphRuntime
from engine.runtime.graph.slots import MergedSlots, Rotation
from engine.runtime.interface import Logits, Tree, prefill
from engine.stop import StopFlag
from tests.engine.runtime.graph.tiny import write_tiny
from tests.engine.runtime.trees import assert_alike

OPTIONS = ContextOptions(n_ctx=1024, threads=1, n_batch=512)
ALL = [(layer, head) for layer in range(2) for head in range(2)]
SOME = [(0, 1), (1, 0)]
DICE = np.random.default_rng(3)
TOKENS = [int(token) for token in DICE.integers(0, 40, 700)]


class NeverMerged(MergedSlots):
    def tail_start(self, size: int) -> int:
        return 0


@pytest.fixture(scope="module", params=["llama", "qwen2"])
def small(request, tmp_path_factory) -> Iterator[GraphModel]:
    path = tmp_path_factory.mktemp("small") / "small.gguf"
    model = GraphModel(write_tiny(path, request.param, factors=request.param == "llama"))
    yield model
    model.close()


def opened(model: GraphModel, mode: Any, heads) -> GraphRuntime:
    def open_kv(model, n_ctx, _mode):
        if mode == "never":
            return HeadSplitKV(model.dimensions, modes.rotation_of(model), n_ctx, "merged", NeverMerged(512), heads)
        return modes.make_head_split_kv(model, n_ctx, mode, heads) if heads else ExactKV(model.dimensions, n_ctx)

    return GraphRuntime(model, OPTIONS, StopFlag(), open_kv=open_kv)


def rows_of(logits: Logits, count: int) -> np.ndarray:
    return np.array([logits.row(i) for i in range(count)])


@pytest.mark.parametrize("heads", [[], SOME, ALL])
def test_without_merging_logits_are_the_plain_ones(small, heads):
    with closing(opened(small, "exact", [])) as plain, closing(opened(small, "never", heads)) as split:
        for target in (plain, split):
            list(prefill(target, TOKENS[:600]))
        expected, found = (rows_of(target.forward(TOKENS[600:608], 8), 8) for target in (plain, split))
        assert np.abs(expected - found).max() < 1e-3


@pytest.mark.parametrize("mode", ["merged", "window", "published"])
def test_lossy_modes_hold_less_and_say_nearly_the_same(small, mode):
    with closing(opened(small, "exact", [])) as plain, closing(opened(small, mode, SOME)) as split:
        for target in (plain, split):
            list(prefill(target, TOKENS))
        expected, found = (target.forward([5]).row() for target in (plain, split))
        assert isinstance(split.kv, HeadSplitKV)
        assert split.kv.entry_share < 0.95
        assert (expected != found).any()
        assert np.corrcoef(expected, found)[0, 1] > 0.5


def test_keys_turned_are_keys_rotated_for_another_position(small):
    """In a text of one repeated token all keys differ by position alone, so merging them must not change them."""
    with closing(opened(small, "merged", ALL)) as target:
        list(prefill(target, [9] * 400))
        assert isinstance(target.kv, HeadSplitKV)
        cells, slots = target.kv.layers[0], target.kv.slots
        assert isinstance(slots, MergedSlots)
        keys = cells.views(1)[0].astype(np.float32)
        slot, count, last = slots.entries[9]
        assert count > 200
        other, _ = slots.tail[0]
        turned = target.kv.rotation.rotate(keys[[other]], np.array([last - float(slots.settled)]))
        assert np.abs(keys[slot] - turned[0]).max() < 2e-2 * np.abs(turned).max()


@pytest.mark.parametrize("mode", ["merged", "window"])
def test_drafts_leave_no_trace(small, mode):
    tree = Tree.merged([[1, 2, 3], [4, 5], [6]])
    with closing(opened(small, mode, SOME)) as target:
        list(prefill(target, TOKENS[:500]))
        target.forward([5])
        target.truncate(500)
        expected = target.forward([5]).row().copy()
        target.truncate(500)
        target.forward_tree([8], tree)
        target.keep_path(0)
        assert (target.forward([5]).row() == expected).all()
        target.truncate(500)
        target.forward_tree([5], tree)
        target.keep_path(1, tree.path(4))
        branch = target.forward([7]).row().copy()
        target.truncate(500)
        target.forward([5, 4, 5])
        assert_alike(target.forward([7]).row(), branch)


@pytest.mark.parametrize("mode", ["merged", "window", "published"])
def test_saved_set_aside_grown(small, mode, tmp_path):
    with closing(opened(small, mode, SOME)) as target:
        list(prefill(target, TOKENS[:500]))
        target.save(tmp_path / "kv", TOKENS[:500])
        expected = target.forward([5]).row().copy()
        assert target.load(tmp_path / "kv") == TOKENS[:500]
        target.resize(2048)
        restore = target.snapshot()
        target.truncate(0)
        list(prefill(target, [3] * 200))
        restore()
        assert target.size == 500
        assert (target.forward([5]).row() == expected).all()
        with closing(opened(small, "exact", [])) as plain, pytest.raises(Failure, match="does not match"):
            plain.load(tmp_path / "kv")
        with closing(opened(small, mode, ALL)) as other, pytest.raises(Failure, match="does not match"):
            other.load(tmp_path / "kv")


@pytest.mark.parametrize("mode", ["exact", "merged", "window"])
@pytest.mark.parametrize("moved", [0, 1])
def test_memory_ends_when_some_layers_have_moved(small, mode, moved, monkeypatch):
    """A failed move to a larger cache, or to a smaller one when it is empty, leaves all layers with equal sizes."""
    with closing(opened(small, mode, [] if mode == "exact" else SOME)) as target:

        def fails_to_move(n_ctx: int) -> None:
            kv: Any = target.kv
            room, made = kv._cells, 0

            def short(*sizes: object) -> object:
                nonlocal made
                made += 1
                if made > moved:
                    raise MemoryError
                return room(*sizes)

            monkeypatch.setattr(kv, "_cells", short)
            with pytest.raises(Failure, match="not enough free memory"):
                target.resize(n_ctx)
            monkeypatch.undo()

        def answer() -> np.ndarray:
            row = target.forward([5]).row().copy()
            target.truncate(500)
            return row

        list(prefill(target, TOKENS[:500]))
        expected, n_ctx = answer(), target.n_ctx
        fails_to_move(2048)
        assert target.n_ctx == n_ctx
        assert (answer() == expected).all()
        target.resize(2048)
        assert (answer() == expected).all()
        target.truncate(0)
        fails_to_move(768)
        assert 768 <= target.n_ctx <= 2048
        list(prefill(target, TOKENS[:500]))
        assert (answer() == expected).all()


def test_no_memory_for_passes_when_the_cache_has_moved(small, monkeypatch):
    with closing(opened(small, "exact", [])) as target:
        list(prefill(target, TOKENS[:500]))
        expected = target.forward([5]).row().copy()
        target.truncate(500)
        monkeypatch.setattr("engine.runtime.graph.runtime.PassRunner", no_memory_for_passes)
        with pytest.raises(Failure, match="not enough free memory"):
            target.resize(2048)
        with pytest.raises(Failure, match="not enough free memory"):
            target.forward([5])
        monkeypatch.undo()
        assert (target.forward([5]).row() == expected).all()
        target.close()  # twice, by the block's end


def no_memory_for_passes(*_arguments: object) -> None:
    raise MemoryError


@pytest.mark.parametrize("mode", ["merged", "window", "published"])
def test_what_was_merged_cannot_be_brought_back(small, mode):
    with closing(opened(small, mode, SOME)) as target:
        list(prefill(target, TOKENS[:500]))
        target.forward([5])
        assert target.truncate(10) == target.size == 0
        list(prefill(target, TOKENS[:500]))
        assert target.size == 500
        assert target.can_truncate == (mode != "published")


def test_more_slots_than_the_cache_began_with(small):
    with closing(opened(small, "merged", SOME)) as target:
        tokens = [i % 320 for i in range(900)]
        list(prefill(target, tokens))
        assert isinstance(target.kv, HeadSplitKV)
        assert target.kv.slots.capacity >= 512
        full, rest = target.head_groups
        assert full == HeadGroup("exact", 2, 900, 1024, 2 * 1024 * 2 * 32 * 2)
        slots = target.kv.slots
        assert rest == HeadGroup("merged", 2, slots.held, slots.capacity, 2 * slots.capacity * 2 * 32 * 2)


def test_rotation_is_ggmls(small):
    d = dataclasses.replace(small.dimensions)
    rotation = Rotation(d)
    keys = DICE.normal(size=(2, 1, d.head)).astype(np.float32)
    there = rotation.rotate(keys, np.array([5.0, 7.0]))
    assert np.allclose(rotation.rotate(there, np.array([-5.0, -7.0])), keys, atol=1e-5)


# --- wishes and rankings ---


@pytest.mark.parametrize(("name", "share"), [("merged", 0.0), ("window", 1.5), ("published", -0.1), ("exact", 0.5)])
def test_impossible_shares(name, share):
    with pytest.raises(ValueError, match="share"):
        make_kv_mode(name, share)


def test_wishes():
    assert make_kv_mode(None, None) == make_kv_mode("exact", None) == EXACT
    assert make_kv_mode("merged", None) == KVMode("merged", 0.25)


def test_without_a_ranking_the_mode_says_what_to_run(small, tmp_path, monkeypatch):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    options = dataclasses.replace(OPTIONS, kv_mode=KVMode("merged", 0.5))
    with pytest.raises(Failure, match=r"benchmarks.rank_heads --kv merged --model .*small\.gguf"):
        GraphRuntime(small, options, StopFlag())


def test_a_ranking_that_is_not_this_models_is_none(small, tmp_path, monkeypatch):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    identity, mode = modes.identity_of(small), KVMode("merged", 0.25)
    own = Ranking(identity, "merged", 9, tuple(ALL), (0.1,) * 4)
    modes.store_ranking(own)
    assert modes.ranked_heads(small, mode) == (ALL[0],)
    modes.store_ranking(msgspec.structs.replace(own, heads=((7, 0), *ALL[1:])))
    with pytest.raises(Failure, match="not been ranked yet"):
        modes.ranked_heads(small, mode)


def test_a_lossy_cache_is_planned_smaller(small):
    with closing(DryGraph(small.path)) as exact, closing(DryGraph(small.path, kv_mode=KVMode("merged", 0.5))) as merged:
        plain, less = exact.context(8192), merged.context(8192)
        assert plain
        assert less
        assert less.kv == plain.kv / 2
        assert 0.1 * plain.kv < less.kv_compressed < 0.25 * plain.kv
